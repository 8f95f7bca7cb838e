"""HTTP connections: how many may be open, and how long one may make no progress."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Literal, Self, TypeAlias

import h11
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

from qmd.config.settings import DEFAULT_KEEP_ALIVE, DEFAULT_REQUEST_TIMEOUT, keep_alive, request_timeout
from qmd.server.logs import client_logger
from qmd.server.peers import PEER, Peer, address_of
from qmd.system import raise_file_limit, trim_memory

MAX_CONNECTIONS = 1000
#: Enough open files for `MAX_CONNECTIONS`, the index and the models.
REQUIRED_FILES = 4096
#: Open files reserved for the index, the models and connections that are accepted before they are counted.
_RESERVED_FILES = 384
#: A body makes progress if this many bytes of it arrive within the time limit.
_MIN_PROGRESS = 1000
#: A client reads its answer if it takes this many bytes of it, or the rest, within the time limit.
_MIN_READ = 64_000
#: Bytes of answers that may wait for their clients, in all connections together.
MAX_UNREAD = 64_000_000

#: `new`: no bytes have arrived. `head`, `body`: a part of a request is missing. `idle`: between two requests.
#: `busy`: a request is being answered.
_Phase: TypeAlias = Literal["new", "head", "body", "idle", "busy"]
_INCOMPLETE: frozenset[_Phase] = frozenset({"new", "head", "body"})

logger = client_logger(__name__)


class Limits(Struct, frozen=True):
    #: Seconds that a request or answer may take without progress.
    progress: float = DEFAULT_REQUEST_TIMEOUT
    #: Seconds that a connection stays open between two requests.
    idle: int = DEFAULT_KEEP_ALIVE
    count: int = MAX_CONNECTIONS

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Return the limits, and raise the limit of open files of this process if necessary."""
        files = raise_file_limit(REQUIRED_FILES)
        count = min(MAX_CONNECTIONS, max(files // 2, files - _RESERVED_FILES))
        return cls(request_timeout(environ), keep_alive(environ), count)


class Connection(H11Protocol):
    """A connection to the server. Its methods are called in the event loop."""

    def __init__(self, limits: Limits, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._limits = limits
        now = self.loop.time()
        #: Time of the last progress, or of the start of the phase.
        self._since = now
        #: Bytes of the body that arrived since then.
        self._arrived = 0
        #: Bytes of answers that the client has not read, and the time when it last read some.
        self._unsent = 0
        self._last_read = now
        #: Whether an answer is complete, but so much of it is unread that the next request must wait.
        self._waits = False

    @property
    def phase(self) -> _Phase:
        client_state = self.conn.their_state
        if client_state is h11.SEND_BODY:
            return "body"
        if client_state is not h11.IDLE:
            return "busy"
        if self.conn.trailing_data[0]:
            return "head"
        return "new" if self.cycle is None else "idle"

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start, and close another connection or this one if too many are open."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, PEER: Peer(*map(address_of, (self.client, self.server)))}
        if len(self.connections) > self._limits.count:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        before = self.phase
        super().data_received(data)
        self._arrived += len(data)
        if (phase := self.phase) is not before or (phase == "body" and self._arrived >= _MIN_PROGRESS):
            self._record_progress()

    def on_response_complete(self) -> None:
        """Go on with the next request, as soon as the client has read enough of the answer."""
        self._waits = self.flow.write_paused
        if not self._waits:
            super().on_response_complete()
            self._record_progress()

    def pause_writing(self) -> None:
        """Stop the answer until the client has read some of it, and bound the memory of all answers."""
        super().pause_writing()
        self._record_progress()
        self._limit_unread()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._last_read = self.loop.time()
        if self._waits:
            self.on_response_complete()

    def check(self, now: float) -> None:
        """Close the connection if it made no progress for too long. Call this about every second."""
        unsent = self.transport.get_write_buffer_size()
        if not unsent or not self._unsent - _MIN_READ < unsent <= self._unsent:
            self._last_read, self._unsent = now, unsent
        if now - self._last_read > self._limits.progress:
            logger.warning("closed a connection: the client does not read its answer")
            self.transport.abort()
        elif now - self._since > self._limits.progress and not self.transport.is_closing():
            phase = self.phase
            if phase in _INCOMPLETE:
                logger.warning("closed a connection: the request did not arrive in time")
                self._time_out(phase)

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP, in the common form of errors."""
        self._refuse(HTTPStatus.BAD_REQUEST, msg.rstrip("."))

    def _record_progress(self) -> None:
        self._since = self.loop.time()
        self._arrived = 0

    def _time_out(self, phase: _Phase) -> None:
        if (phase == "body" and self.cycle.response_started) or phase == "new":
            self.transport.close()
            return
        if phase == "body":
            # The request is incomplete and must not be handled.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._refuse(
            HTTPStatus.REQUEST_TIMEOUT, f"The request did not arrive within {self._limits.progress:g} s"
        )

    def _make_room(self) -> None:
        """Close the connection that has waited longest for its client, or this one if all are busy."""
        others = {other for other in self.connections if isinstance(other, Connection) and other is not self}
        unfinished = [other for other in others if not other.transport.is_closing()]
        if len(unfinished) < self._limits.count:
            return
        logger.warning("more than %d connections are open", self._limits.count)
        waiting = [other for other in unfinished if other.phase != "busy" or other.flow.write_paused]
        if waiting:
            min(waiting, key=lambda other: other._since).transport.abort()
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections are open")

    def _limit_unread(self) -> None:
        """Close connections if too much is unread, first those whose answers have waited longest."""
        unread = [
            other for other in self.connections if isinstance(other, Connection) and other.flow.write_paused
        ]
        excess = sum(other.transport.get_write_buffer_size() for other in unread) - MAX_UNREAD
        for other in sorted(unread, key=lambda other: other._since):
            if excess <= 0:
                return
            if other is not self:
                excess -= other.transport.get_write_buffer_size()
                logger.warning("closed a connection: too many clients do not read their answers")
                other.transport.abort()
                # Otherwise the answers that were dropped would still take as much memory as all together.
                trim_memory()

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        body = json.dumps({"detail": detail, "status_code": status}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
        answer = h11.Response(
            status_code=status, headers=[*headers, ("connection", "close")], reason=status.phrase.encode()
        )
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
