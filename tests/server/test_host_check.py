"""The check of the headers Host and Origin."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
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
