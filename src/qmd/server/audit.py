"""What was changed and what was refused over HTTP, in lines of JSON."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qmd.errors import StoreError
from qmd.server.keys import key_of

#: A log larger than this is begun anew, in bytes; so many old ones are kept.
SIZE = 5_000_000
KEPT = 5

#: Who asks may not, or not so.
_REFUSED = (401, 403, 413)
#: So much of a body is kept until its request is answered, in bytes.
_BODY = 100_000
#: A text is written down as far as this, in characters; that of a refused request, as far as that.
_LONG = 1_000
_LONG_REFUSED = 100
#: So many sources of refused requests are told apart in a minute; the rest is counted together.
_SOURCES = 100
_MINUTE = 60.0


class Audit:
    """Writes lines to files that only their user may read, and in the end throws old ones away.

    A line has `time`, `key` (its name, null without one), `action`, `target`, `outcome` and `status`. No text
    of a document or a query is in it. With `log_queries` searches have a line too, with their `query`.

    Refused requests are in a file of their own, `refused` in place of `audit` in its name: anyone can cause
    them, and must not push out what was changed. The first of a source, key and status in a minute is a line
    at once; if more follow, another line has their `count`. See `_Refusals`.

    Raises `StoreError` where the file's folder cannot be made.
    """

    def __init__(
        self,
        path: str,
        *,
        log_queries: bool = False,
        size: int = SIZE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        folder, name = os.path.split(path)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the folder of {path}: {error.strerror}") from error
        self._log_queries = log_queries
        self._file = _log(path, size)
        refused = os.path.join(folder, name.replace("audit", "refused"))
        self._refusals = _Refusals(_log(refused, size), clock)

    def watch(self, app: ASGIApp) -> ASGIApp:
        """An application whose requests are written down."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            self._refusals.turn()
            request = _Request(scope, receive, send, self._tell)
            try:
                await app(scope, request.receive, request.send)
            finally:
                if request.status is None:
                    self._tell(request)

        return watched

    def close(self) -> None:
        """Write down what is left, and let go of the files."""
        self._refusals.close()
        self._file.close()

    def _tell(self, request: _Request) -> None:
        target = request.target()
        query = request.query() if self._log_queries else None
        refused = request.status in _REFUSED
        if target is None and query is None and not refused:
            return
        key = key_of(request.scope)
        line = {
            "time": _now(),
            "key": None if key is None else key.name,
            "action": request.action,
            "target": target,
            "outcome": request.outcome(),
            "status": request.status,
        }
        if refused:
            self._refusals.add(request.source, line)
            return
        if query is not None:
            line["query"] = query
        _write(self._file, line)


class _Refusals:
    """Refused requests, counted for each source, key and status in each minute."""

    def __init__(self, file: RotatingFileHandler, clock: Callable[[], float]) -> None:
        self._file = file
        self._clock = clock
        self._began = clock()
        #: By source, key and status: the first line, and how many requests there were.
        self._counted: dict[tuple[Any, ...], tuple[dict[str, Any], int]] = {}

    def add(self, source: str | None, line: dict[str, Any]) -> None:
        """Count a refused request."""
        self.turn()
        of = (source, line["key"], line["status"])
        if of not in self._counted and len(self._counted) >= _SOURCES:
            source, of = "others", ("others", None, None)
        first, count = self._counted.get(of, (None, 0))
        if first is None:
            cut = {name: each[:_LONG_REFUSED] for name, each in line.items() if isinstance(each, str)}
            first = {**line, **cut, "source": source}
            _write(self._file, first | {"count": 1})
        self._counted[of] = (first, count + 1)

    def turn(self) -> None:
        """Write down the counts of the last minute, if it has passed."""
        if self._clock() - self._began >= _MINUTE:
            self._flush()

    def close(self) -> None:
        """Write down the counts, and let go of the file."""
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        for first, count in self._counted.values():
            if count > 1:
                _write(self._file, first | {"time": _now(), "count": count - 1})
        self._counted.clear()
        self._began = self._clock()


class _Request:
    """A request while it is answered: what it asks for, and what became of it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, tell: Callable[[_Request], None]) -> None:
        self.scope = scope
        self._tell = tell
        #: None where there was no answer: the client left, or the server ended.
        self.status: int | None = None
        self._receive = receive
        self._send = send
        self._body = b""

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request" and len(self._body) < _BODY:
            self._body += message.get("body", b"")[:_BODY]
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            # Written down before whoever asked can know of it.
            self._tell(self)
        await self._send(message)

    @property
    def source(self) -> str | None:
        """The address that the request came from."""
        client = self.scope.get("client")
        return client[0] if client else None

    @property
    def action(self) -> str:
        return f"{self.scope['method']} {self.scope['path']}"[:_LONG]

    def outcome(self) -> str:
        match self.status:
            case None:
                return "unanswered"
            case status if status < 400:
                return "done"
            case status if status in _REFUSED:
                return "refused"
        return "failed"

    def target(self) -> str | None:
        """What the request would change; None for one that changes nothing."""
        match self.scope["method"], self.scope["path"].strip("/").split("/"):
            case "POST", ["collections", "add"]:
                return _shown(self._field("name"))
            case "POST", ["contexts", "add"]:
                return _shown(self._field("path"))
            case "POST", ["index" | "update"]:
                return "all collections"
            case "PUT", ["collections", name]:
                return f"{name[:_LONG]} -> {_shown(self._field('new_name'))}"
            case "DELETE", ["collections" | "contexts", *rest] if rest:
                return "/".join(rest)[:_LONG]
        return None

    def query(self) -> str | None:
        """The text of a search, over MCP too; None for what is no search."""
        if self.scope["method"] == "POST" and self.scope["path"] in ("/search", "/vsearch", "/query"):
            return _shown(self._field("query") or self._field("searches"))
        if self.scope["path"] == "/mcp" and self._field("method") == "tools/call":
            match self._field("params"):
                case {"arguments": {"query": query}} | {"arguments": {"searches": query}}:
                    return _shown(query)
        return None

    def _field(self, name: str) -> Any:
        try:
            body = json.loads(self._body)
        except (ValueError, RecursionError):
            return None
        return body.get(name) if isinstance(body, dict) else None


class _PrivateLog(RotatingFileHandler):
    """A log that only its user may read."""

    def _open(self) -> TextIOWrapper:
        file = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return open(file, "a", encoding=self.encoding)


def _log(path: str, size: int) -> RotatingFileHandler:
    return _PrivateLog(path, maxBytes=size, backupCount=KEPT, encoding="utf-8", delay=True)


def _write(file: RotatingFileHandler, line: dict[str, Any]) -> None:
    file.emit(logging.makeLogRecord({"msg": json.dumps(line)}))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:_LONG]
