"""MCP over HTTP: the same answers as over stdio, and access control."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import Any

import pytest

from tests.agents import INITIALIZE, Agent, Site
from tests.users import User
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def detail(body: bytes, status: int) -> str:
    """Return the detail of an error. The test fails if it has another status or form."""
    told = json.loads(body)
    assert set(told) == {"detail", "status_code"}
    assert told["status_code"] == status
    text: str = told["detail"]
    return text


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "search", "arguments": {"query": "kestrel"}}),
    ("tools/call", {"name": "search", "arguments": {"query": "kestrel", "limit": 0}}),
    ("tools/call", {"name": "get", "arguments": {"file": "plan.md"}}),
    ("tools/call", {"name": "multi_get", "arguments": {"pattern": "notes/*, gone.md"}}),
    ("tools/call", {"name": "status", "arguments": {}}),
    ("tools/call", {"name": "delete"}),
    ("resources/list", {}),
    ("resources/read", {"uri": "qmd://notes/meeting.md"}),
    ("resources/read", {"uri": "qmd://../../etc/passwd"}),
    ("prompts/get", {"name": "query"}),
    ("ping", {}),
    ("tools/nothing", {}),
]


@pytest.mark.parametrize(("method", "params"), CALLS, ids=str)
def test_http_transport_answers_like_stdio(
    site: Site, agent: Agent, method: str, params: dict[str, Any]
) -> None:
    over_http, over_stdio = site.ask(method, **params), agent.ask(method, params)
    assert {**over_http, "id": None} == {**over_stdio, "id": None}


def test_initialize_describes_the_index(site: Site) -> None:
    told = site.ask("initialize", **INITIALIZE)["result"]
    assert told["protocolVersion"] == "2025-06-18"
    assert "37 documents in 3 collections" in told["instructions"]


def test_newest_protocol_revision_is_supported(site: Site) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "get", "arguments": {"file": "plan.md"}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    status, _, answer = site.request(
        body=json.dumps(body).encode(),
        mcp_protocol_version="2026-07-28",
        mcp_method="tools/call",
        mcp_name="get",
    )
    assert status == 200
    result = json.loads(answer)["result"]
    assert result["resultType"] == "complete"
    assert result["content"][0]["resource"]["title"] == "Plan"


def test_notification_is_accepted_without_an_answer(site: Site) -> None:
    status, _, body = site.request(body=b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert (status, body) == (202, b"")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"garbage", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}', -32700),
        (b"\xff\xfe", -32700),
        (b"[" + PING + b"]", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    ],
)
def test_invalid_message_is_a_bad_request(site: Site, body: bytes, code: int) -> None:
    status, headers, answer = site.request(body=body)
    assert (status, headers["content-type"]) == (400, "application/json")
    assert json.loads(answer)["error"]["code"] == code
    assert site.ask("ping")["result"] == {}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
def test_invalid_content_type_is_refused_in_the_common_form(site: Site, kind: str) -> None:
    status, _, body = site.request(body=PING, content_type=kind)
    assert status == 400
    assert "content-type: application/json" in detail(body, 400)


def test_content_type_may_have_parameters(site: Site) -> None:
    assert site.request(body=PING, content_type="Application/JSON; charset=utf-8")[0] == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_only_post_is_allowed(site: Site, method: str) -> None:
    status, headers, body = site.request(method)
    assert (status, headers["allow"]) == (405, "POST")
    detail(body, 405)


@pytest.mark.parametrize("path", ["/", "/mcp/", "/mcp/x", "/vsearch", "/docs", "/mcp%00"])
def test_unknown_path_is_not_found(site: Site, path: str) -> None:
    status, _, body = site.request(path=path, body=PING)
    assert status == 404
    assert detail(body, 404).endswith("MCP is at /mcp")


def test_foreign_host_and_origin_are_refused(site: Site) -> None:
    for header, told in (("host", "Host is not allowed"), ("origin", "Origin is not allowed")):
        status, _, body = site.request(body=PING, **{header: "http://evil.example"})
        assert detail(body, status).startswith(told)
        assert status == 403


def test_request_without_a_host_is_accepted(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.port), PATIENCE) as connection:
        connection.sendall(
            b"POST /mcp HTTP/1.0\r\ncontent-type: application/json\r\naccept: application/json\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(PING), PING)
        )
        assert connection.makefile("rb").readline().split()[1] == b"200"


def test_large_body_is_refused(site: Site) -> None:
    status, _, body = site.request(body=b" " * 10_000_001)
    assert status == 413
    assert detail(body, 413) == "The body is larger than 10,000,000 bytes"


def test_client_that_accepts_no_json_is_refused(site: Site) -> None:
    assert site.request(body=PING, accept="text/html")[0] == 406


def run(user: User, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "qmd", "mcp", *args],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=user.environ,
        check=False,
        timeout=PATIENCE,
    )


def test_port_in_use_is_reported(reader: User, site: Site) -> None:
    found = run(reader, "--http", "--port", str(site.port))
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith(f"Error: port {site.port} is in use\nHint: choose another with --port")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_server_beyond_loopback_needs_keys_or_insecure(reader: User, host: str) -> None:
    found = run(reader, "--http", "--port", "0", "--host", host)
    assert (found.returncode, found.stdout) == (2, "")
    assert "without a key they could read all documents" in found.stderr
    assert "--insecure" in found.stderr


def test_unknown_host_is_reported(reader: User) -> None:
    found = run(reader, "--http", "--host", "no.such.host.invalid")
    assert (found.returncode, found.stderr.splitlines()[0]) == (
        2,
        "Error: no such host: no.such.host.invalid",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--port 9000", "--port needs --http"),
        ("--daemon", "--daemon needs --http"),
        ("--host ::1", "--host needs --http"),
        ("--http --port 65536", "--port must be a whole number from 0 to 65535, not '65536'"),
        ("sotp", "no such command 'sotp'. Did you mean 'stop'?"),
    ],
)
def test_invalid_options_are_refused(reader: User, line: str, message: str) -> None:
    found = run(reader, *line.split())
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith(f"Error: {message}\n")
