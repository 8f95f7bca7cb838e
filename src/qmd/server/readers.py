"""Processes that read the index beside a server, for more searches a second than one interpreter can run.

The server keeps everything else: connections, keys, limits, logs, writes, models and the watcher. It sends a
reader the arguments of a quick operation with the key of the request, and gets the answer.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Struct, json
from starlette.responses import Response

from qmd.api.operation import Operation
from qmd.api.table import TABLE
from qmd.api.texts import error_text
from qmd.config.locations import Locations
from qmd.engine.index import Index
from qmd.engine.workspace import opened_in_child
from qmd.errors import QmdError
from qmd.processes import call
from qmd.server.errors import answer
from qmd.server.keys import Key
from qmd.server.logs import client_logger, configure

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Bytes of the length before each message of `multiprocessing`, and of the status before an answer.
_LENGTH, _STATUS = 4, 3
#: Seconds that a reader may take to start, and to answer. One that takes longer is replaced.
_START, _PATIENCE = 60.0, 10.0
#: Seconds before a reader that could not start is started again, which double, and the most of them.
_PAUSE, _LONGEST_PAUSE = 0.5, 60.0

logger = client_logger(__name__)


class ReaderAnswer(Struct, frozen=True):
    """The answer of a reader: JSON if the status is 200, and otherwise the text of an error."""

    status: int
    body: bytes

    def response(self) -> Response:
        if self.status != HTTPStatus.OK:
            return answer(self.status, self.body.decode())
        return Response(self.body, media_type="application/json")


class ReaderProcesses:
    """A number of processes that read an index. Use it in an event loop, inside `run`.

    One that takes longer for an answer than `patience` seconds is replaced, and the server answers.
    """

    def __init__(
        self, count: int, locations: Locations, environ: Mapping[str, str], *, patience: float = _PATIENCE
    ) -> None:
        self._count = count
        self._patience = patience
        self._arguments = locations, dict(environ)
        #: The readers that wait for a request or answer one.
        self._ready = 0
        self._requests: asyncio.Queue[tuple[bytes, asyncio.Future[bytes | None]]] = asyncio.Queue()

    async def ask(self, route: str, key: Key | None, arguments: Any) -> ReaderAnswer | None:
        """Return the answer to an operation, as the holder of a key gets it; None if no reader is there."""
        if not self._ready:
            return None
        answered: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._requests.put_nowait((pickle.dumps((route, key, arguments)), answered))
        data = await answered
        return None if data is None else ReaderAnswer(int(data[:_STATUS]), data[_STATUS:])

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Keep the readers inside the context. Until the first is ready, nothing is answered by one."""
        async with anyio.create_task_group() as tasks:
            for _ in range(self._count):
                tasks.start_soon(self._keep)
            yield
            tasks.cancel_scope.cancel()

    async def _keep(self) -> None:
        """Start a reader, and again if it has died; after a pause if it has not even started."""
        pause = 0.0
        while True:
            await asyncio.sleep(pause)
            try:
                pause = 0.0 if await self._serve() else max(_PAUSE, min(2 * pause, _LONGEST_PAUSE))
            except OSError:  # no other process can be started now
                pause = _LONGEST_PAUSE
            logger.error("a process for searches has ended; another starts in %g s", pause)

    async def _serve(self) -> bool:
        """Give requests to a new reader until it dies. Return whether it was ready."""
        process, messages = call(_answer_requests, *self._arguments)
        with messages:
            ours = socket.socket(fileno=os.dup(messages.fileno()))
        reader, writer = await asyncio.open_connection(sock=ours)
        was_ready = False
        try:
            with suppress(EOFError, OSError):
                async with asyncio.timeout(_START):
                    await _receive(reader)
                was_ready = True
                self._ready += 1
                while True:
                    await self._pass_on(reader, writer)
            return was_ready
        finally:
            self._ready -= was_ready
            while not (self._ready or self._requests.empty()):
                _settle(self._requests.get_nowait()[1], None)
            writer.close()
            process.kill()  # it may hang, and has nothing to save
            process.wait()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Give the next request to a reader. If its client leaves, the answer is dropped when it comes."""
        request, answered = await self._requests.get()
        if answered.done():
            return
        try:
            writer.write(len(request).to_bytes(_LENGTH, "big") + request)
            async with asyncio.timeout(self._patience):
                _settle(answered, await _receive(reader))
        finally:
            _settle(answered, None)


def _settle(answered: asyncio.Future[bytes | None], data: bytes | None) -> None:
    if not answered.done():
        answered.set_result(data)


async def _receive(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(_LENGTH), "big"))


def _answer_requests(locations: Locations, environ: Mapping[str, str], messages: Connection) -> None:
    """Answer requests in the process of a reader until the server ends."""
    configure()
    operations = {row.route: row for row in TABLE}
    with suppress(EOFError, OSError), opened_in_child(locations, environ, 0) as workspace:
        index = Index(workspace, owns_store=False)
        messages.send_bytes(b"")
        while True:
            route, key, arguments = messages.recv()
            seen = index if key is None else key.index_of(index)
            status, body = _answer(operations[route], seen, arguments)
            messages.send_bytes(b"%d%b" % (status, body))


def _answer(operation: Operation, index: Index, arguments: Any) -> tuple[int, bytes]:
    try:
        return HTTPStatus.OK, json.encode(operation.run(index, arguments, lambda: False))
    except QmdError as error:
        return error.http_status, error_text(error).encode("utf-8", "replace")
    except Exception:
        logger.exception("an error in a process for searches")
        return HTTPStatus.INTERNAL_SERVER_ERROR, b"Internal error"
