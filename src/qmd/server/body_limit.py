"""A limit on the size of request bodies, and cancellation of requests whose client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qmd.server.host_check import headers_of, refuse

#: The error for a request whose content type is not JSON.
NOT_JSON = "the body must be JSON, and the header content-type: application/json must say so"
#: Maximum size of a request body, in bytes.
MAX_BODY = 10_000_000


class BodyLimit:
    """Reads a request's body first. Refuses large bodies, and cancels the request if its client leaves."""

    def __init__(self, app: ASGIApp, max_size: int = MAX_BODY) -> None:
        self._app = app
        self._max_size = max_size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        declared = headers_of(scope).get("content-length", "0")
        try:
            if declared.isdigit() and int(declared[:20]) > self._max_size:
                raise _TooLargeError(receive)
            body = await self._body(receive)
        except _TooLargeError as error:
            detail = f"The body is larger than {self._max_size:,} bytes"
            await refuse(scope, error.rest, send, 413, detail, (b"connection", b"close"))
            return
        if body is None:
            return
        try:
            await self._while_connected(scope, body, receive, send)
        except asyncio.CancelledError:
            # The server is shutting down. An answer that has begun cannot be replaced by an error.
            with suppress(RuntimeError):
                await refuse(scope, _disconnect, send, 503, "The server is shutting down")

    async def _body(self, receive: Receive) -> bytes | None:
        """Return the request's body, or None if the client left before all of it had arrived."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_size:
                raise _TooLargeError(receive if message.get("more_body") else _disconnect)
            if not message.get("more_body"):
                return b"".join(parts)

    async def _while_connected(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Run the application; cancel it if the client disconnects first."""

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await self._app(scope, replay(body, receive), send)
            tasks.cancel_scope.cancel()


def replay(body: bytes, receive: Receive) -> Receive:
    """Receive a body again that was already read."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive_again() -> Message:
        return next(messages, None) or await receive()

    return receive_again


class _TooLargeError(Exception):
    """The body of a request is larger than allowed; `rest` receives the remaining bytes."""

    def __init__(self, rest: Receive) -> None:
        super().__init__()
        self.rest = rest


async def _disconnect() -> Message:
    return {"type": "http.disconnect"}


def is_json(headers: Mapping[str, str]) -> bool:
    """Return whether the content type is JSON, with any parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
