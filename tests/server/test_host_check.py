"""The check of the headers Host and Origin."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st
from starlette.types import Message, Receive, Scope, Send

from qmd.server.host_check import Allowed, HostCheck, is_loopback

HERE = Allowed.from_environ({}, "127.0.0.1")


def scope(**headers: str) -> Scope:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http", "method": "POST", "path": "/", "headers": raw}


def test_host_check_passes_other_scope_types() -> None:
    passed: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        raise AssertionError

    anyio.run(HostCheck(app, HERE), {"type": "lifespan"}, nothing, nothing)
    assert passed == ["lifespan"]


async def unreached(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError


def test_host_check_refuses_a_repeated_host_header() -> None:
    raw = [(b"host", b"localhost"), (b"Host", b"evil.example")]

    async def run() -> list[Message]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        await HostCheck(unreached, HERE)({"type": "http", "headers": raw}, receive, send)
        return sent

    assert anyio.run(run)[0]["status"] == 403


FOREIGN = (
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "192.168.1.1",
    "169.254.169.254",
)
FOREIGN_HOSTS = (
    *FOREIGN,
    *("evil.example:18765", "127.0.0.1@evil.example", "user@localhost", "[2001:db8::1]:80", "10.0.0.1:8181"),
    *("0.0.0.0", "localhost:port", "localhost/", "local host", "[::1", ""),
)
OUR_HOSTS = ("localhost", "LOCALHOST:1", "127.0.0.1:99", "127.1.2.3", "[::1]", "[::1]:18765")
FOREIGN_ORIGINS = (
    *map("http://{}:18765".format, FOREIGN),
    "null",
    "file://",
    "chrome-extension://abc",
    "localhost",
)
OUR_ORIGINS = ("http://localhost", "https://127.0.0.1:6274", "http://[::1]:3000")


def test_only_loopback_hosts_and_origins_are_allowed() -> None:
    assert [host for host in (*OUR_HOSTS, *FOREIGN_HOSTS) if HERE.allows_host(host)] == [*OUR_HOSTS]
    origins = (*OUR_ORIGINS, *FOREIGN_ORIGINS)
    assert [origin for origin in origins if HERE.allows_origin(origin, "localhost")] == [*OUR_ORIGINS]


def test_environment_allows_additional_hosts_and_origins() -> None:
    environ = {"QMD_ALLOWED_HOSTS": "box.lan, other:81", "QMD_ALLOWED_ORIGINS": "https://app.example/"}
    allowed = Allowed.from_environ(environ, "127.0.0.1")
    hosts = ("box.lan:8181", "BOX.LAN", "other:81", "other:82")
    assert [host for host in hosts if allowed.allows_host(host)] == [*hosts[:3]]
    assert allowed.allows_origin("https://app.example", "localhost")
    assert not allowed.allows_origin("https://app.example:444", "localhost")
    # The server's own page is allowed.
    assert allowed.allows_origin("http://box.lan:8181", "box.lan:8181")


@given(st.text(max_size=40))
def test_allows_host_accepts_only_configured_names_and_loopback(name: str) -> None:
    allowed = Allowed.from_environ({"QMD_ALLOWED_HOSTS": "box.lan"}, "127.0.0.1")
    if allowed.allows_host(name):
        host = name.lower().rpartition(":")[0] or name.lower()
        bare = host.removeprefix("[").removesuffix("]")
        assert bare == "box.lan" or is_loopback(bare) or is_loopback(name)


@given(st.text(max_size=40))
def test_host_check_raises_no_exception_for_any_header_text(text: str) -> None:
    for allowed in (HERE, Allowed.from_environ({}, "0.0.0.0")):
        assert allowed.allows_host(text) in (True, False)
        assert allowed.allows_origin(text, "localhost") in (True, False)


@pytest.mark.parametrize("bound", ["0.0.0.0", "192.168.1.5", "::"])
def test_server_beyond_loopback_allows_ip_addresses_as_host(bound: str) -> None:
    allowed = Allowed.from_environ({}, bound)
    assert allowed.allows_host("192.168.1.5:8181")
    assert allowed.allows_host("[2001:db8::1]:8181")
    assert not allowed.allows_host("box.lan:8181")
    assert not HERE.allows_host("192.168.1.5:8181")
