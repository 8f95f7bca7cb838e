"""The limit on request bodies, and cancellation if the client disconnects."""

from __future__ import annotations

import json
from collections.abc import Iterable

import anyio
from starlette.types import Message, Receive, Scope, Send

from qmd.server.body_limit import BodyLimit


def scope(**headers: str) -> Scope:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http", "method": "POST", "path": "/", "headers": raw}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body of the request."""
    message = await receive()
    assert message["more_body"] is False
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


def answer(bodies: BodyLimit, parts: Iterable[bytes], **headers: str) -> tuple[int, bytes]:
    """Return the answer to a client that sends its body in parts and stays connected."""
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

        await bodies(scope(**headers), receive, send)

    anyio.run(run)
    return sent[0]["status"], sent[1]["body"]


def test_body_limit_passes_a_complete_body() -> None:
    assert answer(BodyLimit(echo), [b"one ", b"", b"two"]) == (200, b"one two")


def test_body_limit_refuses_a_larger_body() -> None:
    bodies = BodyLimit(echo, max_size=8)
    assert answer(bodies, [b"1234", b"5678"]) == (200, b"12345678")
    status, body = answer(bodies, [b"1234", b"5678", b"9"])
    assert (status, json.loads(body)) == (
        413,
        {"detail": "The body is larger than 8 bytes", "status_code": 413},
    )
    assert answer(bodies, [b"x"], **{"content-length": "9"})[0] == 413
    assert answer(bodies, [b"x"], **{"content-length": "9" * 5000})[0] == 413


def test_work_is_cancelled_if_the_client_disconnects() -> None:
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

        await BodyLimit(slow)(scope(), receive, send)

    anyio.run(run)
    assert ended == ["cancelled"]
