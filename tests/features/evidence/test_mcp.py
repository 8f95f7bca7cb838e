"""Packs as answers of the tool `query`."""

from __future__ import annotations

import json

import pytest

from qmd.text import budget
from tests.agents import Agent


def test_query_with_pack_gives_passages_once_in_a_session(agent: Agent) -> None:
    first = agent.call("query", query="travel plan", pack=True, maxTokens=900)
    assert budget.count(json.dumps(first, ensure_ascii=False, separators=(",", ":"))) <= 900
    passages = first["structuredContent"]["results"]
    assert passages and all(each["snippet"] and each["address"].startswith(each["file"]) for each in passages)
    assert all(each["address"] in first["content"][0]["text"] for each in passages)
    second = agent.call("query", query="travel plan", pack=True, maxTokens=900)
    assert second["content"][0]["text"].startswith(f"[1] again: {passages[0]['file']}")
    again = agent.call("query", query="travel plan", pack=True, maxTokens=900, again=True)
    assert again["structuredContent"]["results"][0]["snippet"] == passages[0]["snippet"]


@pytest.mark.slow
def test_sdk_client_accepts_the_structured_content_of_a_pack(librarian: object) -> None:
    import os
    import sys

    import anyio
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters

    from tests.users import User

    assert isinstance(librarian, User)
    place = StdioServerParameters(
        command=sys.executable,
        args=["-m", "qmd", "mcp"],
        env=librarian.environ,
        cwd=os.fspath(librarian.home),
    )

    async def talk() -> None:
        async with Client(place) as client:
            await client.list_tools()
            found = await client.call_tool("query", {"query": "travel plan", "pack": True, "maxTokens": 1500})
            assert not found.is_error
            assert found.structured_content["results"][0]["snippet"]

    anyio.run(talk)


def test_query_with_pack_names_its_own_argument_for_the_tokens(agent: Agent) -> None:
    told = agent.failure("query", query="travel plan", pack=True, maxTokens=20)
    assert told.startswith("maxTokens 20 is too little for this answer (raise it to ")
    least = int(told.rstrip(")").split()[-1])
    made = agent.call("query", query="travel plan budget meeting", pack=True, again=True, maxTokens=least)
    assert "raise the tokens" not in json.dumps(made)
