"""What each kind of client is sent, and that both parts of a result are complete."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from qmd.text import budget
from tests.agents import Agent, Site, agents, site_of
from tests.users import MakeUser, User

pytestmark = pytest.mark.slow

FACTS = {
    "ferry": "The ferry leaves pier nine at 06:40 in winter.",
    "boiler": "The boiler of the lighthouse holds 412 litres.",
    "archive": "The archive key hangs behind the blue barometer.",
    "bakery": "The bakery closes on Thursdays for sourdough.",
    "harbour": "The harbour dues are 17 crowns a metre.",
}
#: What surrounds a fact in its note, so that not all notes fit into an answer.
FILLER = "\n\n".join(
    f"Other remark {number}: the weather of that day was mild and nobody wrote more of it."
    for number in range(12)
)


@pytest.fixture(scope="module")
def islander(make_user: MakeUser) -> User:
    user = make_user("mcp-islander")
    folder = user.home / "island"
    folder.mkdir()
    for name, fact in FACTS.items():
        text = f"# The {name}\n\n{FILLER}\n\n## Details\n\n{fact}\n\n{FILLER}\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(folder), "--name", "island")
    return user


Greeted = Callable[[str], Agent]


@pytest.fixture(scope="module")
def greeted(islander: User) -> Iterator[Greeted]:
    """Return an agent whose client gives itself a name."""
    with agents() as start:

        @cache
        def greet(name: str) -> Agent:
            agent = start(islander)
            agent.greet(clientInfo={"name": name, "version": "1"})
            return agent

        yield greet


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


def structure_of(result: dict[str, Any]) -> str:
    return json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))


FACES = {"text": text_of, "structure": structure_of}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("tool", "more"), [("search", {}), ("query", {"rerank": False}), ("query", {"pack": True, "again": True})]
)
def test_each_part_of_a_result_has_the_passages(
    greeted: Greeted, face: str, tool: str, more: dict[str, Any]
) -> None:
    agent = greeted("somebody")
    for name, fact in FACTS.items():
        words = " ".join(fact.rstrip(".").split()[-3:])
        shown = FACES[face](agent.call(tool, query=words, maxTokens=1_500, **more))
        assert fact in shown, words
        assert f"island/{name}.md:" in shown


@pytest.mark.parametrize("tokens", [400, 800])
@pytest.mark.parametrize("more", [{}, {"pack": True, "again": True}], ids=str)
@pytest.mark.parametrize(
    ("client", "shows"),
    [
        ("claude-code", "structure"),
        ("codex-mcp-client", "structure"),
        ("Visual Studio Code", "structure"),
        ("gemini-cli-mcp-client", "text"),
        ("somebody", "either"),
    ],
)
def test_max_tokens_count_the_part_that_the_model_reads(
    greeted: Greeted, client: str, shows: str, more: dict[str, Any], tokens: int
) -> None:
    asked = {"query": "weather remark nobody", "rerank": False, "limit": 40}
    result = greeted(client).call("query", **asked, **more, maxTokens=tokens)
    costs = {face: budget.count(shown(result)) for face, shown in FACES.items()}
    cost = max(costs.values()) if shows == "either" else costs[shows]
    assert 0.6 * tokens <= cost <= tokens
    assert max(costs.values()) > cost or shows != "text"


@pytest.mark.parametrize(
    ("client", "kind"),
    [("Visual Studio Code", "text"), ("Zed", "text"), ("claude-code", "resource"), ("mcp", "resource")],
)
def test_documents_are_text_for_clients_that_show_no_resources(
    greeted: Greeted, client: str, kind: str
) -> None:
    agent = greeted(client)
    for tool, argument in (("get", "file"), ("multi_get", "pattern")):
        (block,) = agent.call(tool, **{argument: "island/ferry.md"})["content"]
        assert block["type"] == kind


def test_client_over_http_is_known_by_its_user_agent(islander: User) -> None:
    def kinds(site: Site, agent: str) -> list[str]:
        call = {"name": "get", "arguments": {"file": "island/ferry.md"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
        _, _, answer = site.request(body=body, user_agent=agent)
        return [block["type"] for block in json.loads(answer)["result"]["content"]]

    with site_of(islander) as site:
        assert kinds(site, "Zed/1.2") == ["text"]
        assert kinds(site, "python-httpx/0.28") == ["resource"]
