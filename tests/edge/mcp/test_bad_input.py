"""Invalid messages and unknown methods get the right error, and the server continues."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents import INITIALIZE, Agent, StartAgent
from tests.users import User

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, NO_RESOURCE = -32700, -32600, -32601, -32602, -32002

COMPLETION = {"ref": {"type": "ref/prompt", "name": "query"}, "argument": {"name": "a", "value": ""}}
ARGUED = {"name": "query", "arguments": {"a": "b"}}

LINES: dict[bytes, tuple[int, int | str | None]] = {
    b"garbage": (PARSE_ERROR, None),
    b"{": (PARSE_ERROR, None),
    b'{"jsonrpc":"2.0","id":1,"method":"ping"': (PARSE_ERROR, None),
    b'\xff\xfe{"jsonrpc":"2.0"}': (PARSE_ERROR, None),
    b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\xff"}}': (PARSE_ERROR, 7),
    b'{"jsonrpc":"2.0","id":8,"method":"ping","params":{"a":"\\ud800"}}': (PARSE_ERROR, 8),
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}': (PARSE_ERROR, None),
    b'{"jsonrpc":"2.0","id":13,"method":"ping","params":{"a":NaN}}': (PARSE_ERROR, 13),
    b'{"jsonrpc":"2.0","id":14,"method":"ping","params":{"a":-Infinity}}': (PARSE_ERROR, 14),
    b"[" * 100_000: (PARSE_ERROR, None),
    b"[]": (INVALID_REQUEST, None),
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]': (
        INVALID_REQUEST,
        None,
    ),
    b"5": (INVALID_REQUEST, None),
    b"null": (INVALID_REQUEST, None),
    b'"ping"': (INVALID_REQUEST, None),
    b"{}": (INVALID_REQUEST, None),
    b'{"id":9,"method":"ping"}': (INVALID_REQUEST, 9),
    b'{"jsonrpc":"1.0","id":"a","method":"ping"}': (INVALID_REQUEST, "a"),
    b'{"jsonrpc":"2.0","id":10,"method":5}': (INVALID_REQUEST, 10),
    b'{"jsonrpc":"2.0","id":11,"method":"ping","params":[1]}': (INVALID_REQUEST, 11),
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}': (INVALID_REQUEST, None),
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}': (INVALID_REQUEST, None),
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}': (INVALID_REQUEST, None),
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}': (INVALID_REQUEST, None),
    b'{"jsonrpc":"2.0","id":12,"method":"ping","params":{"a":"' + b"x" * 10_000_000 + b'"}}': (
        INVALID_REQUEST,
        None,
    ),
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:60].decode("latin-1"))
def test_invalid_line_is_refused_and_the_next_one_answered(agent: Agent, line: bytes) -> None:
    agent.write(line + b"\n")
    answer = agent.receive()
    assert (answer["error"]["code"], answer["id"]) == LINES[line]
    assert "\n" not in answer["error"]["message"]
    assert len(answer["error"]["message"]) < 200
    assert agent.result("ping") == {}


def test_blank_lines_are_ignored(agent: Agent) -> None:
    agent.write(b"\n  \n\r\n")
    assert agent.result("ping") == {}


def test_line_may_end_with_crlf(agent: Agent) -> None:
    agent.write(b'{"jsonrpc":"2.0","id":"crlf","method":"ping"}\r\n')
    assert agent.receive() == {"jsonrpc": "2.0", "id": "crlf", "result": {}}


def test_unexpected_answers_and_notifications_are_ignored(agent: Agent) -> None:
    agent.send({"jsonrpc": "2.0", "id": 99, "result": {}})
    agent.send({"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "no"}})
    agent.send({"jsonrpc": "2.0", "method": "notifications/nothing"})
    agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}})
    agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}})
    assert agent.result("ping") == {}


def test_only_ping_is_answered_before_initialize(start: StartAgent, reader: User) -> None:
    agent = start(reader)
    assert agent.result("ping") == {}
    for method in ("tools/list", "tools/call", "resources/list", "prompts/list"):
        assert agent.error(method, name="status")["code"] == INVALID_PARAMS
    assert agent.greet()["serverInfo"]["name"] == "qmd"
    assert len(agent.result("tools/list")["tools"]) == 6


@pytest.mark.slow
def test_initialize_without_its_fields_is_refused(start: StartAgent, reader: User) -> None:
    agent = start(reader)
    assert agent.error("initialize")["code"] == INVALID_PARAMS
    assert agent.error("initialize", **INITIALIZE | {"protocolVersion": 5})["code"] == INVALID_PARAMS
    assert agent.greet()["protocolVersion"] == "2025-06-18"


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("tools/nothing", {}, NO_METHOD, "Method not found"),
        ("logging/setLevel", {"level": "info"}, NO_METHOD, "Method not found"),
        ("completion/complete", COMPLETION, NO_METHOD, "Method not found"),
        ("tools/call", {"name": "delete"}, INVALID_PARAMS, "Unknown tool: delete"),
        ("tools/call", {"name": "SEARCH"}, INVALID_PARAMS, "Unknown tool: SEARCH"),
        ("tools/call", {"name": "search", "arguments": "x"}, INVALID_PARAMS, "Invalid request parameters"),
        ("tools/call", {}, INVALID_PARAMS, "Invalid request parameters"),
        ("tools/list", {"cursor": "next"}, INVALID_PARAMS, "Unknown cursor"),
        ("resources/list", {"cursor": "next"}, INVALID_PARAMS, "Unknown cursor"),
        ("prompts/get", {"name": "write"}, INVALID_PARAMS, "Unknown prompt: write"),
        ("prompts/get", ARGUED, INVALID_PARAMS, "The prompt query takes no arguments"),
        ("resources/read", {}, INVALID_PARAMS, "Invalid request parameters"),
        ("resources/read", {"uri": 5}, INVALID_PARAMS, "Invalid request parameters"),
    ],
    ids=str,
)  # fmt: skip
def test_unknown_method_tool_or_prompt_is_a_protocol_error(
    agent: Agent, method: str, params: dict[str, Any], code: int, message: str
) -> None:
    error = agent.error(method, **params)
    assert (error["code"], error["message"]) == (code, message)


OUTSIDE = [
    "qmd://../../etc/passwd",
    "qmd://notes/../../../etc/passwd",
    "qmd://notes/..%2F..%2Fetc%2Fpasswd",
    "qmd:///etc/passwd",
    "qmd:////etc/passwd",
    "qmd://%2Fetc%2Fpasswd",
    "qmd://notes/meeting.md%00",
    "qmd://notes/%00",
    "qmd://",
    "qmd:///",
    "qmd://.",
    "file:///etc/passwd",
    "/etc/passwd",
    "https://example.org/",
    "qmd:notes/meeting.md",
    "",
    "qmd://" + "a/" * 100_000,
    "qmd://%ff%fe",
]


@pytest.mark.parametrize("uri", OUTSIDE, ids=lambda uri: uri[:40])
def test_resources_read_returns_nothing_outside_the_collections(agent: Agent, uri: str) -> None:
    error = agent.error("resources/read", uri=uri)
    assert error["code"] == NO_RESOURCE
    assert "root:" not in json.dumps(error)


@pytest.mark.parametrize(
    "file",
    [*OUTSIDE, "~/.bashrc", "../secret.md", "notes/../../secret.md", "a\0b", "\0", "..", ".", "/", " "],
)
def test_get_returns_nothing_outside_the_collections(agent: Agent, reader: User, file: str) -> None:
    (reader.home / "library" / "secret.md").write_text("top secret", encoding="utf-8")
    for tool, name in (("get", "file"), ("multi_get", "pattern")):
        assert "secret\n" not in agent.failure(tool, **{name: file})
        assert "root:" not in agent.failure(tool, **{name: file})


def test_get_refuses_a_file_that_is_not_indexed(agent: Agent, reader: User) -> None:
    secret = reader.home / "library" / "notes" / "later.md"
    secret.write_text("written after the scan", encoding="utf-8")
    try:
        assert agent.failure("get", file=str(secret)).startswith(f"Document not found: {secret}")
    finally:
        secret.unlink()


def test_search_accepts_or_refuses_huge_and_unusual_texts(agent: Agent) -> None:
    assert agent.failure("search", query="x" * 10_001) == "query: string should have at most 10000 characters"
    assert agent.text("search", query="y" * 10_000).startswith("No results found for")
    for odd in ("\0", "a\0zebra", "'; DROP TABLE documents;--", '"unbalanced', "NEAR(", "*", "\x1b[2J", "%s"):
        agent.text("search", query=odd)
    assert agent.failure("search", query="").startswith("the query is empty")
    assert agent.failure("search", query=" \n ").startswith("the query is empty")


@pytest.mark.parametrize(
    "pattern", ["[", "{a,b", "{" * 50 + "}" * 50, "*" * 5_000, "a" * 100_001, "{1..9999999}", "\\"]
)
def test_multi_get_refuses_unusual_globs_or_matches_nothing(agent: Agent, pattern: str) -> None:
    agent.failure("multi_get", pattern=pattern)
    assert agent.result("ping") == {}
