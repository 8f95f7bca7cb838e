"""HTTP connections: how many may be open, and how long one may make no progress."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, Self, TypeAlias

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from qmd.config.settings import DEFAULT_KEEP_ALIVE, DEFAULT_REQUEST_TIMEOUT, keep_alive, request_timeout

MAX_CONNECTIONS = 1000
#: Open files that are enough for `MAX_CONNECTIONS` and everything else that a server opens.
WANTED_FILES = 4096
#: Open files kept back for the index, the models and connections that are accepted before they are counted.
_OTHER_FILES = 384
#: A body makes progress if this many bytes of it arrive within the time limit.
_LEAST = 1000

#: `new`: nothing has arrived yet. `head`, `body`: a part of a request is missing. `idle`: between two
#: requests. `busy`: a request is being answered.
_Phase: TypeAlias = Literal["new", "head", "body", "idle", "busy"]
_INCOMPLETE: frozenset[_Phase] = frozenset({"new", "head", "body"})

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on connections.

    `progress` is how long a request may arrive, or an answer leave, without progress; `idle` how long a
    connection stays open between two requests; both in seconds. `count` is how many connections may be open.
    """

    progress: float = DEFAULT_REQUEST_TIMEOUT
    idle: int = DEFAULT_KEEP_ALIVE
    count: int = MAX_CONNECTIONS

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Return the limits in force, and raise this process's limit of open files if they need it.

        Raises:
            ConfigError: If a variable holds a bad value.
        """
        files = _raise_file_limit()
        count = min(MAX_CONNECTIONS, max(files // 2, files - _OTHER_FILES))
        return cls(request_timeout(environ), keep_alive(environ), count)


class Connection(H11Protocol):
    """One connection to the server. Its methods are called in the event loop."""

    def __init__(self, limits: Limits, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._limits = limits
        now = self.loop.time()
        #: When the phase began, or its last progress was made.
        self._since = now
        #: Bytes of the body since then.
        self._arrived = 0
        #: Bytes of answers that the client has not taken, and when it last took some.
        self._unsent = 0
        self._taken_at = now

    @property
    def phase(self) -> _Phase:
        """The phase that the connection is in."""
        theirs = self.conn.their_state
        if theirs is h11.SEND_BODY:
            return "body"
        if theirs is not h11.IDLE:
            return "busy"
        if self.conn.trailing_data[0]:
            return "head"
        return "new" if self.cycle is None else "idle"

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start, if there may be one connection more."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.count:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Pass data on, and note the progress that it makes."""
        before = self.phase
        super().data_received(data)
        self._arrived += len(data)
        if (phase := self.phase) is not before or (phase == "body" and self._arrived >= _LEAST):
            self._progressed()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._progressed()

    def check(self, now: float) -> None:
        """End the connection if nothing has moved for too long. To be called every second or so."""
        unsent = self.transport.get_write_buffer_size()
        if unsent < self._unsent or not unsent:
            self._taken_at = now
        self._unsent = unsent
        if now - self._taken_at > self._limits.progress:
            logger.warning("ended a connection: its client takes no answer")
            self.transport.abort()
        elif now - self._since > self._limits.progress and not self.transport.is_closing():
            phase = self.phase
            if phase in _INCOMPLETE:
                logger.warning("ended a connection: its request did not arrive")
                self._end(phase)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, in the form of all errors."""
        self._refuse(HTTPStatus.BAD_REQUEST, msg.rstrip("."))

    def _progressed(self) -> None:
        self._since = self.loop.time()
        self._arrived = 0

    def _end(self, phase: _Phase) -> None:
        if (phase == "body" and self.cycle.response_started) or phase == "new":
            self.transport.close()
            return
        if phase == "body":
            # What has arrived is no request: nothing may be done with it.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._refuse(
            HTTPStatus.REQUEST_TIMEOUT, f"The request did not arrive within {self._limits.progress:g} s"
        )

    def _make_room(self) -> None:
        """End the connection that has waited longest for its client; if all are at work, refuse this one."""
        others = {each for each in self.connections if isinstance(each, Connection) and each is not self}
        unfinished = [each for each in others if not each.transport.is_closing()]
        if len(unfinished) < self._limits.count:
            return
        logger.warning("more than %d connections are open", self._limits.count)
        waiting = [each for each in unfinished if each.phase != "busy"]
        if waiting:
            min(waiting, key=lambda each: each._since).transport.abort()
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections are open")

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer with an error and close the connection."""
        body = json.dumps({"detail": detail, "status_code": status}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
        answer = h11.Response(
            status_code=status, headers=[*headers, ("connection", "close")], reason=status.phrase.encode()
        )
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _raise_file_limit() -> int:
    """Raise the soft limit of open files towards `WANTED_FILES`; returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return WANTED_FILES
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_FILES)
    if soft < wanted:
        with suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return soft
