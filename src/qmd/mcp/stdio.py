"""MCP over stdin and stdout: a message a line (M2, M4).

In place of the SDK's own transport, which drops what is still being worked on when stdin ends, and what is no
message without a word.
"""

from __future__ import annotations

import asyncio
import logging
import select
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
    """Answer what `source` asks on `sink`, until it ends and all is answered, or nobody reads `sink`."""
    loop = asyncio.get_running_loop()
    inbox, requests = anyio.create_memory_object_stream[SessionMessage | Exception](float("inf"))
    with anyio.CancelScope() as conversation:

        def in_loop(call: Callable[..., object], *args: object) -> None:
            with suppress(RuntimeError):  # the loop has ended, and nothing is left to tell
                loop.call_soon_threadsafe(call, *args)

        outbox = Outbox(sink, lambda: in_loop(conversation.cancel))
        session = StdioSession(inbox, outbox)
        _in_thread(_read, source, lambda line: in_loop(session.take, line))
        _in_thread(_watch, sink, lambda: in_loop(conversation.cancel))
        await server.run(requests, session, server.create_initialization_options())
    if not conversation.cancelled_caught:
        await asyncio.to_thread(outbox.finish)


class StdioSession:
    """Passes requests in and answers out, and knows which requests wait for theirs.

    It is the stream that the SDK writes to.
    """

    def __init__(self, inbox: MemoryObjectSendStream[SessionMessage | Exception], outbox: Outbox) -> None:
        self._inbox = inbox
        self._outbox = outbox
        self._waiting: Counter[RequestId] = Counter()
        self._ended = False

    def take(self, line: bytes | MessageError | None) -> None:
        """A line that was read, what is wrong with one, or None at the end."""
        match line:
            case None:
                self._ended = True
                self._leave_if_done()
            case MessageError():
                self._outbox.put(line.answer)
            case bytes():
                try:
                    message = read_message(line)
                except MessageError as error:
                    self._outbox.put(error.answer)
                else:
                    self._pass(message)

    async def send(self, item: SessionMessage, /) -> None:
        """An answer, or a notification."""
        self._outbox.put(item.message)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError) and item.message.id is not None:
            self._settle(item.message.id)

    def _pass(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._waiting[coerce_request_id(message.id)] += 1
        self._inbox.send_nowait(SessionMessage(message))
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            # What is cancelled gets no answer.
            request_id = (message.params or {}).get("requestId")
            if isinstance(request_id, int | str):
                self._settle(request_id)

    def _settle(self, request_id: RequestId) -> None:
        # As the SDK does: a client may cancel "1" when it asked 1.
        key = coerce_request_id(request_id)
        self._waiting[key] -= 1
        if self._waiting[key] <= 0:
            del self._waiting[key]
        self._leave_if_done()

    def _leave_if_done(self) -> None:
        if self._ended and not self._waiting:
            self._inbox.close()

    async def aclose(self) -> None:
        """Nothing: what was put in the outbox is still written."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Outbox:
    """Writes messages, a line each, in a thread of its own: a slow reader holds nothing up."""

    def __init__(self, sink: BinaryIO, on_failure: Callable[[], None]) -> None:
        self._sink = sink
        self._on_failure = on_failure
        self._messages: SimpleQueue[JSONRPCMessage | None] = SimpleQueue()
        self._thread = _in_thread(self._write)

    def put(self, message: JSONRPCMessage) -> None:
        """Have a message written after those before it."""
        self._messages.put(message)

    def finish(self) -> None:
        """Wait until all is written."""
        self._messages.put(None)
        self._thread.join()

    def _write(self) -> None:
        try:
            while (message := self._messages.get()) is not None:
                rest = memoryview(_line(message))
                while rest:
                    rest = rest[self._sink.write(rest) :]
        except OSError:
            self._on_failure()


def _line(message: JSONRPCMessage) -> bytes:
    """A message as it is sent; in place of one that cannot be (lone surrogates), an error."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:
        logger.exception("a message cannot be sent")
        fault = ErrorData(code=INTERNAL_ERROR, message="Internal error")
        return _line(JSONRPCError(jsonrpc="2.0", id=getattr(message, "id", None), error=fault))


def _in_thread(work: Callable[..., None], *args: object) -> threading.Thread:
    """Start work that must not keep the process alive: a read may never return."""
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
    """The lines that are not blank; of one that is too long, only that."""
    while line := source.readline(MAX_MESSAGE + 2):
        if len(line) > MAX_MESSAGE + 1:
            while line and not line.endswith(b"\n"):
                line = source.readline(MAX_MESSAGE)
            yield too_large()
        elif line.strip():
            yield line


def _watch(sink: BinaryIO, on_gone: Callable[[], None]) -> None:
    """Tell when a pipe's reader has gone, so that nothing goes on that nobody will read."""
    if not hasattr(select, "poll"):
        return
    poll = select.poll()
    poll.register(sink, 0)
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll()):
        on_gone()
