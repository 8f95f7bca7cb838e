"""States of documents over MCP, without arguments of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents import Agent, agents
from tests.users import MakeUser


@pytest.fixture(scope="module")
def agent(make_user: MakeUser) -> Iterator[Agent]:
    user = make_user("mcp-states")
    folder = user.home / "vault"
    folder.mkdir()
    (folder / "old.md").write_text("---\nsuperseded_by: new.md\n---\n# Old\n\nThe heron script.\n")
    (folder / "new.md").write_text("# New\n\nThe heron reads it.\n")
    user.ok("collection", "add", str(folder), "--name", "vault")
    with agents() as start:
        started = start(user)
        started.greet()
        yield started


def test_hits_say_the_state_as_text_and_in_structured_content(agent: Agent) -> None:
    found = agent.call("search", query="heron script")
    new, old = found["structuredContent"]["results"]
    assert (new["file"], old["file"]) == ("vault/new.md", "vault/old.md")
    assert old["state"] == {"name": "superseded", "by": "vault/new.md"} and "state" not in new
    assert "vault/old.md - Old [superseded by vault/new.md]" in found["content"][0]["text"]


def test_queries_filter_by_state(agent: Agent) -> None:
    current = agent.call("query", query="heron state:current")["structuredContent"]["results"]
    assert [hit["file"] for hit in current] == ["vault/new.md"]
    old = agent.call("search", query="[state:superseded]")["structuredContent"]["results"]
    assert [hit["file"] for hit in old] == ["vault/old.md"]


def test_get_begins_with_the_state_of_an_old_document(agent: Agent) -> None:
    (block,) = agent.call("get", file="vault/old.md")["content"]
    assert block["resource"]["text"].startswith("<!-- State: superseded by vault/new.md -->\n\n---\n")
    (block,) = agent.call("get", file="vault/new.md")["content"]
    assert block["resource"]["text"].startswith("# New")


def test_packs_carry_the_state(agent: Agent) -> None:
    found = agent.call("query", query="heron script", pack=True, maxTokens=500)
    states = {each["file"]: each.get("state") for each in found["structuredContent"]["results"]}
    assert states["vault/old.md"] == {"name": "superseded", "by": "vault/new.md"}
    assert "[superseded by vault/new.md]" in found["content"][0]["text"]
