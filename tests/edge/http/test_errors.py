"""Errors over HTTP have one form, and no input makes the server fail."""

from __future__ import annotations

import json
import socket

import pytest

from tests.clients import Answer, Client, server_of
from tests.users import User
from tests.waiting import PATIENCE

POSTS = [
    "/search",
    "/vsearch",
    "/query",
    "/get",
    "/multi_get",
    "/embed",
    "/collections/add",
    "/contexts/add",
    "/index",
    "/update",
]


def raw(client: Client, sent: bytes) -> Answer:
    """Send bytes as they are; return the response."""
    with socket.create_connection(("127.0.0.1", client.port), PATIENCE) as connection:
        connection.sendall(sent)
        with connection.makefile("rb") as stream:
            status = int(stream.readline().split()[1])
            headers = {}
            while line := stream.readline().strip():
                name, _, value = line.decode().partition(":")
                headers[name.lower()] = value.strip()
            return Answer(status, headers, stream.read(int(headers["content-length"])))


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "body",
    [
        b"garbage",
        b'{"query": ',
        b"[" * 100_000,
        b"\xff\xfe{}",
        b'{"query": "\xff"}',
        b'{"query": "\\ud800"}',
        b'{"\\udfff": 1}',
        b'{"query": NaN}',
        b'{"query": "a", "min_score": Infinity}',
        b'{"query": "a", "limit": -Infinity}',
        b'{"query": "a"} {}',
    ],
    ids=lambda body: body[:20].decode("latin-1"),
)
def test_invalid_json_is_refused(client: Client, path: str, body: bytes) -> None:
    assert client.ask("POST", path, body=body).detail(400).startswith("the body is not JSON: ")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("body", [b"null", b"[]", b"5", b'"query"', b"true", b'[{"query": "a"}]'])
def test_body_must_be_an_object(client: Client, path: str, body: bytes) -> None:
    assert client.ask("POST", path, body=body).detail(400) == "the body must be a JSON object"


def test_missing_body_is_refused(client: Client) -> None:
    assert client.ask("POST", "/search").detail(400) == "the body is missing"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "json", "\xe9"])
def test_content_type_must_be_json(client: Client, kind: str) -> None:
    answer = client.ask("POST", "/search", {"query": "zebra"}, content_type=kind)
    assert answer.detail(400).startswith("the body must be JSON, and the header content-type")


def test_content_type_may_have_a_charset(client: Client) -> None:
    answer = client.ask("POST", "/search", {"query": "zebra"}, content_type="Application/JSON; charset=utf-8")
    assert answer.status == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"query": "a", "limit": 1' + b"0" * 5000 + b"}",
        b'{"query": "a", "limit": 1e400}',
        b'{"query": "a", "' + b"x" * 100_000 + b'": 1}',
        b'{"query": "a", "\\u0000\\u202e\\n": 1}',
        b'{"query": ' + b'["a",' * 50 + b"1" + b"]" * 50 + b"}",
    ],
    ids=["long number", "huge number", "long name", "odd name", "deep"],
)
def test_error_for_hostile_fields_is_one_short_line(client: Client, body: bytes) -> None:
    detail = client.ask("POST", "/search", body=body).detail(400)
    assert len(detail) < 400
    assert "\n" not in detail


def test_several_wrong_fields_are_reported_at_once(client: Client) -> None:
    told = client.refused(400, "/search", limit="x", a=1, b=2, c=3)
    assert told.startswith("query is missing; limit: ")
    assert told.endswith("; and 2 more")


@pytest.mark.parametrize(
    "path", ["/nothing", "/readme", "/search/", "/health/x", "/collections/", "/%00", "/%FF", "//"]
)
def test_unknown_path_is_not_found(client: Client, path: str) -> None:
    told = client.ask("GET", path).detail(404)
    assert told.startswith("There is nothing at /")
    assert told.endswith("; see /docs")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/search", "POST"),
        ("POST", "/status", "GET, HEAD"),
        ("OPTIONS", "/query", "POST"),
        ("PATCH", "/collections/n", "DELETE, GET, HEAD, PUT"),
        ("POST", "/collections", "GET, HEAD"),
        ("GET", "/contexts/n", "DELETE"),
        ("GET", "/mcp", "POST"),
        ("BREW", "/get", "POST"),
    ],
)
def test_wrong_method_lists_the_allowed_methods(client: Client, method: str, path: str, allowed: str) -> None:
    answer = client.ask(method, path)
    assert answer.detail(405) == f"{method} is not allowed at {path}, only {allowed}"
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(("method", "path"), [("GET", "/status?all=1"), ("POST", "/index?x&force=1")])
def test_query_parameters_are_refused_by_name(client: Client, method: str, path: str) -> None:
    told = client.ask(method, path).detail(400)
    assert told.endswith(": unknown parameter (put fields into the body, as JSON)")


@pytest.mark.parametrize(
    "sent",
    [
        b"garbage\r\n\r\n",
        b"GET /health HTTP/9\r\n\r\n",
        b"GET /health HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n",
        b"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n",
        b"POST /search HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
    ids=["garbage", "version", "header", "length", "chunk", "tls"],
)
def test_invalid_http_is_refused_in_the_common_form(client: Client, sent: bytes) -> None:
    raw(client, sent).detail(400)
    client.ok("GET", "/health")


@pytest.mark.slow
def test_invalid_configuration_is_reported_until_it_is_repaired(owner: User) -> None:
    with server_of(owner) as server:
        server.post("/collections/add", name="n", path="~/folder")
        config = owner.home / "config" / "qmd" / "index.yml"
        good = config.read_bytes()
        config.write_bytes(b"collections: [")
        assert "index.yml" in server.refused(503, "/search", query="words")
        assert server.ask("GET", "/health").status == 503
        assert json.loads(server.ask("GET", "/health").body)["status"] == "unhealthy"
        config.write_bytes(good)
        assert len(server.post("/search", query="words")["results"]) == 3
        assert server.ok("GET", "/health")["status"] == "healthy"
