"""The guard before the server: what it lets through, and whom it works for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from qmd.server.guard import Allowed, Guard, is_loopback

HERE = Allowed.from_environ({}, "127.0.0.1")


def scope(**headers: str) -> Scope:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http", "method": "POST", "path": "/", "headers": raw}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the body it was sent."""
    message = await receive()
    assert message["more_body"] is False
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


def answer(guard: Guard, parts: Iterable[bytes], **headers: str) -> tuple[int, bytes]:
    """What a client is answered that sends its body in parts and stays."""
    sent: list[Message] = []

    async def run() -> None:
        chunks = [*parts]
        messages = [
            {"type": "http.request", "body": part, "more_body": at < len(chunks)}
            for at, part in enumerate(chunks, 1)
        ]

        async def receive() -> Message:
            if messages:
                return messages.pop(0)
            await anyio.sleep_forever()
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        await guard(scope(**headers), receive, send)

    anyio.run(run)
    return sent[0]["status"], sent[1]["body"]


def test_a_body_arrives_whole() -> None:
    assert answer(Guard(echo, HERE), [b"one ", b"", b"two"], host="localhost") == (200, b"one two")


def test_a_body_may_be_as_large_as_allowed_and_no_larger() -> None:
    guard = Guard(echo, HERE, max_body=8)
    assert answer(guard, [b"1234", b"5678"]) == (200, b"12345678")
    status, body = answer(guard, [b"1234", b"5678", b"9"])
    assert (status, json.loads(body)) == (
        413,
        {"detail": "The body is larger than 8 bytes", "status_code": 413},
    )
    assert answer(guard, [b"x"], **{"content-length": "9"})[0] == 413
    assert answer(guard, [b"x"], **{"content-length": "9" * 5000})[0] == 413


def test_work_for_a_client_that_left_is_cancelled() -> None:
    ended: list[str] = []

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")

    async def run() -> None:
        messages: list[Message] = [
            {"type": "http.request", "body": b"", "more_body": False},
            {"type": "http.disconnect"},
        ]

        async def receive() -> Message:
            return messages.pop(0)

        async def send(message: Message) -> None:
            raise AssertionError

        await Guard(slow, HERE)(scope(), receive, send)

    anyio.run(run)
    assert ended == ["cancelled"]


def test_what_is_no_request_passes() -> None:
    passed: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        raise AssertionError

    anyio.run(Guard(app, HERE), {"type": "lifespan"}, nothing, nothing)
    assert passed == ["lifespan"]


def test_two_hosts_are_none() -> None:
    raw = [(b"host", b"localhost"), (b"Host", b"evil.example")]

    async def run() -> list[Message]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            raise AssertionError

        await Guard(echo, HERE)({"type": "http", "headers": raw}, receive, send)
        return sent

    assert anyio.run(run)[0]["status"] == 403


@given(st.text(max_size=40))
def test_only_names_that_were_given_are_hosts(name: str) -> None:
    allowed = Allowed.from_environ({"QMD_ALLOWED_HOSTS": "box.lan"}, "127.0.0.1")
    if allowed.host(name):
        host = name.lower().rpartition(":")[0] or name.lower()
        bare = host.removeprefix("[").removesuffix("]")
        assert bare == "box.lan" or is_loopback(bare) or is_loopback(name)


@given(st.text(max_size=40))
def test_no_text_is_an_error(text: str) -> None:
    for allowed in (HERE, Allowed.from_environ({}, "0.0.0.0")):
        assert allowed.host(text) in (True, False)
        assert allowed.origin(text, "localhost") in (True, False)


@pytest.mark.parametrize("bound", ["0.0.0.0", "192.168.1.5", "::"])
def test_a_server_beyond_loopback_is_called_by_its_numbers(bound: str) -> None:
    allowed = Allowed.from_environ({}, bound)
    assert allowed.host("192.168.1.5:8181")
    assert allowed.host("[2001:db8::1]:8181")
    assert not allowed.host("box.lan:8181")
    assert not HERE.host("192.168.1.5:8181")
