"""A limit on the size of request bodies, and cancellation of requests whose client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import anyio
from msgspec import Struct, field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qmd.server.host_check import headers_of, refuse

#: The error for a request whose content type is not JSON.
NOT_JSON = "the body must be JSON, and the header content-type: application/json must say so"
#: Maximum size of a request body, and of all large bodies that are held at the same time, in bytes.
MAX_BODY = 10_000_000
MAX_BODIES = 64_000_000
#: Smaller bodies are always read. There are no more of them than connections.
_SMALL = 65_536
_BUSY = "The server holds too many large requests; try again"
_ENDING = "The server is shutting down"


class BodyLimit:
    """Reads a request's body first. Refuses large bodies, and cancels the request if its client leaves.

    If the bodies of all requests are too large together, those that have been arriving longest are refused.
    """

    def __init__(self, app: ASGIApp, max_size: int = MAX_BODY, max_total: int = MAX_BODIES) -> None:
        self._app = app
        self._max_size = max_size
        self._max_total = max_total
        #: In the order in which they began to arrive.
        self._bodies: list[_Body] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        declared = headers_of(scope).get("content-length", "0")
        try:
            with self._new_body() as body:
                if declared.isdigit() and int(declared[:20]) > self._max_size:
                    raise self._too_large(receive)
                if await self._read(body, receive):
                    await self._while_connected(scope, body.take(), receive, send)
        except _RefusedError as error:
            await refuse(scope, error.rest, send, error.status, error.detail, (b"connection", b"close"))
        except asyncio.CancelledError:
            # The server is shutting down. An answer that has begun cannot be replaced by an error.
            with suppress(RuntimeError):
                await refuse(scope, _disconnect, send, 503, _ENDING)

    @contextmanager
    def _new_body(self) -> Iterator[_Body]:
        body = _Body()
        self._bodies.append(body)
        try:
            yield body
        finally:
            self._bodies.remove(body)

    async def _read(self, body: _Body, receive: Receive) -> bool:
        """Read a body. Return whether it is complete; False if the client left before."""
        while not body.complete:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            body.add(message)
            rest = _disconnect if body.complete else receive
            if body.size > self._max_size:
                raise self._too_large(rest)
            self._make_room()
            if body.dropped:
                raise _RefusedError(503, _BUSY, rest)
        return True

    def _make_room(self) -> None:
        """Drop incomplete bodies until all have room."""
        large = [body for body in self._bodies if body.size > _SMALL]
        excess = sum(body.size for body in large) - self._max_total
        for body in large:
            if excess > 0 and not body.complete:
                excess -= body.size
                body.drop()

    def _too_large(self, rest: Receive) -> _RefusedError:
        return _RefusedError(413, f"The body is larger than {self._max_size:,} bytes", rest)

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


class _Body(Struct, eq=False):
    """The body of a request, as far as it has arrived. One that was dropped keeps nothing."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    complete: bool = False
    dropped: bool = False

    def add(self, message: Message) -> None:
        part = message.get("body", b"")
        self.complete = not message.get("more_body")
        if not self.dropped:
            self.parts.append(part)
            self.size += len(part)

    def take(self) -> bytes:
        whole = b"".join(self.parts)
        self.parts.clear()
        return whole

    def drop(self) -> None:
        self.parts.clear()
        self.size = 0
        self.dropped = True


class _RefusedError(Exception):
    """A request is refused; `rest` receives the remaining bytes of its body."""

    def __init__(self, status: int, detail: str, rest: Receive) -> None:
        super().__init__(detail)
        self.status, self.detail, self.rest = status, detail, rest


async def _disconnect() -> Message:
    return {"type": "http.disconnect"}


def is_json(headers: Mapping[str, str]) -> bool:
    """Return whether the content type is JSON, with any parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
