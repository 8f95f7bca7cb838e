"""MCP over stdin and stdout, one message per line.

This replaces the SDK's transport. That one drops the requests in progress when stdin ends, and ignores
invalid messages.
"""

from __future__ import annotations

import asyncio
import logging
import select
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO, Self

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from qmd.mcp.messages import MAX_MESSAGE, MessageError, read_message, too_large

logger = logging.getLogger(__name__)


async def serve(server: Server[Any], source: BinaryIO, sink: BinaryIO) -> None:
    """Answer the requests from `source` on `sink`.

    Return when `source` has ended and all requests are answered, or when the reader of `sink` is gone.
    """
    loop = asyncio.get_running_loop()
    inbox, requests = anyio.create_memory_object_stream[SessionMessage | Exception](float("inf"))
    with anyio.CancelScope() as conversation:

        def in_loop(call: Callable[..., object], *args: object) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(call, *args)

        session = _Session(inbox)
        writer = _in_thread(_write, session.answers, sink, lambda: in_loop(conversation.cancel))
        _in_thread(_read, source, lambda line: in_loop(session.receive, line))
        _in_thread(_wait_until_closed, sink, lambda: in_loop(conversation.cancel))
        await server.run(requests, session, server.create_initialization_options())
    if not conversation.cancelled_caught:
        session.answers.put(None)
        await asyncio.to_thread(writer.join)


class _Session:
    """The stream that the SDK writes to. It passes requests in and answers out, and counts open requests."""

    def __init__(self, inbox: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        #: Written by a thread, so that a slow reader does not block the event loop. None is the end.
        self.answers: SimpleQueue[JSONRPCMessage | None] = SimpleQueue()
        self._inbox = inbox
        self._open_requests: Counter[RequestId] = Counter()
        self._ended = False

    def receive(self, line: bytes | MessageError | None) -> None:
        """Handle a line of input, an error in place of a line, or None at the end of input."""
        if line is None:
            self._ended = True
            self._close_if_done()
            return
        try:
            if isinstance(line, MessageError):
                raise line
            self._forward(read_message(line))
        except MessageError as error:
            self.answers.put(error.answer)

    async def send(self, item: SessionMessage, /) -> None:
        self.answers.put(item.message)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError) and item.message.id is not None:
            self._complete(item.message.id)

    def _forward(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._open_requests[coerce_request_id(message.id)] += 1
        self._inbox.send_nowait(SessionMessage(message))
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            # A cancelled request gets no answer.
            request_id = (message.params or {}).get("requestId")
            if isinstance(request_id, int | str):
                self._complete(request_id)

    def _complete(self, request_id: RequestId) -> None:
        # The SDK also treats the ids 1 and "1" as equal, so a client may cancel either.
        key = coerce_request_id(request_id)
        self._open_requests[key] -= 1
        if self._open_requests[key] <= 0:
            del self._open_requests[key]
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self._ended and not self._open_requests:
            self._inbox.close()

    async def aclose(self) -> None:
        """Do nothing: the answers in the queue are still written."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _write(
    answers: SimpleQueue[JSONRPCMessage | None], sink: BinaryIO, on_failure: Callable[[], None]
) -> None:
    try:
        while (message := answers.get()) is not None:
            unwritten = memoryview(_line(message))
            while unwritten:
                unwritten = unwritten[sink.write(unwritten) :]
    except OSError:
        on_failure()


def _line(message: JSONRPCMessage) -> bytes:
    """Return a message as a line, or an error if it cannot be encoded because of lone surrogates."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:
        logger.exception("cannot encode a message")
        error = ErrorData(code=INTERNAL_ERROR, message="Internal error")
        return _line(JSONRPCError(jsonrpc="2.0", id=getattr(message, "id", None), error=error))


def _in_thread(work: Callable[..., None], *args: object) -> threading.Thread:
    """Start a daemon thread, because a blocked read must not keep the process alive."""
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread


def _read(source: BinaryIO, deliver: Callable[[bytes | MessageError | None], None]) -> None:
    try:
        for line in _lines(source):
            deliver(line)
    finally:
        deliver(None)


def _lines(source: BinaryIO) -> Iterator[bytes | MessageError]:
    """Yield each line that is not blank, or an error for a line that is too long."""
    while line := source.readline(MAX_MESSAGE + 2):
        if len(line) > MAX_MESSAGE + 1:
            while line and not line.endswith(b"\n"):
                line = source.readline(MAX_MESSAGE)
            yield too_large()
        elif line.strip():
            yield line


def _wait_until_closed(sink: BinaryIO, on_closed: Callable[[], None]) -> None:
    """Call `on_closed` when the reader of a pipe is gone, because answers are then useless."""
    if sys.platform == "win32":  # which has no poll
        return
    poll = select.poll()
    poll.register(sink, 0)
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll()):
        on_closed()
