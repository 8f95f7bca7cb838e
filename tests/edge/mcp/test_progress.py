"""Notifications of progress, for clients that ask for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents import Agent, Message, Site
from tests.users import User

CALL = {"name": "search", "arguments": {"query": "kestrel"}}


def reports(messages: list[Message]) -> list[Message]:
    assert all(each["method"] == "notifications/progress" for each in messages)
    return [each["params"] for each in messages]


@pytest.mark.parametrize("token", ["abc", 7, 0])
def test_call_with_a_token_reports_progress_before_its_answer(agent: Agent, token: Any) -> None:
    agent.send(
        {
            "jsonrpc": "2.0",
            "id": "long",
            "method": "tools/call",
            "params": CALL | {"_meta": {"progressToken": token}},
        }
    )
    messages = [agent.receive()]
    while "id" not in messages[-1]:
        messages.append(agent.receive())
    *progress, answer = messages
    told = reports(progress)
    assert answer["result"] == agent.result("tools/call", **CALL)
    assert all(each["progressToken"] == token for each in told)
    assert told[0]["message"] == "search: 0 s"
    numbers = [each["progress"] for each in told]
    assert numbers == sorted(set(numbers))
    # Nothing more is said of it after the answer.
    assert agent.result("ping") == {}


def test_call_without_a_token_reports_nothing(agent: Agent) -> None:
    assert "content" in agent.call("search", query="kestrel")  # fails if another message comes first


def test_call_over_http_streams_progress_to_clients_that_take_events(site: Site) -> None:
    params = CALL | {"_meta": {"progressToken": "abc"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    accept = "application/json, text/event-stream"
    status, headers, answer = site.request(body=body, accept=accept)
    assert (status, headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    sent = [json.loads(line[6:]) for line in answer.decode().splitlines() if line.startswith("data: {")]
    *progress, last = sent
    assert reports(progress)[0] == {"progressToken": "abc", "progress": 0, "message": "search: 0 s"}
    assert last["result"] == site.ask("tools/call", **CALL)["result"]
    # Others get one JSON, also with a token.
    _, headers, answer = site.request(body=body, accept="application/json")
    assert (headers["content-type"], json.loads(answer)["result"]) == ("application/json", last["result"])


@pytest.mark.slow
def test_sdk_client_is_told_the_progress_of_a_call(reader: User) -> None:
    import os
    import sys

    import anyio
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters

    place = StdioServerParameters(
        command=sys.executable, args=["-m", "qmd", "mcp"], env=reader.environ, cwd=os.fspath(reader.home)
    )
    told: list[tuple[float, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def talk() -> None:
        async with Client(place) as client:
            found = await client.call_tool("search", {"query": "kestrel"}, progress_callback=listen)
            assert not found.is_error

    anyio.run(talk)
    assert told[0] == (0, "search: 0 s")
