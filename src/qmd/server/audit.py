"""Logs of the changes and refused requests over HTTP, in lines of JSON."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import Any

from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qmd.api.operation import Operation
from qmd.api.table import TABLE
from qmd.errors import StoreError
from qmd.server.keys import key_of

#: Maximum size of a log in bytes, and the number of older logs that are kept.
MAX_SIZE = 5_000_000
BACKUPS = 5
#: Statuses of refused requests.
_REFUSED = (401, 403, 413)
#: Maximum number of bytes of a body that are read for the log.
_MAX_BODY = 100_000
#: Maximum number of characters of a text in the log, and of a text of a refused request.
_MAX_TEXT = 1_000
_MAX_REFUSED_TEXT = 100
#: Maximum number of sources of refused requests per minute; requests from others are counted together.
_MAX_SOURCES = 100
_MINUTE = 60.0

Clock = Callable[[], float]

#: Returns the change that a request to the pages asks for, by its method, path and body; None if none.
Target = Callable[[str, str, bytes], str | None]

#: Operations that change something or have a query, with the patterns of their paths; and by tool of MCP.
_LOGGED = [(row, compile_path(row.template)[0]) for row in TABLE if row.writes or row.query]
_TOOLS = {row.name: row.query for row in TABLE if row.tool is not None}


class Audit:
    """Writes lines to rotating files that only the user can read.

    A line has `time`, `key` (its name, null without one), `action`, `target`, `outcome` and `status`. It has
    no text of a document or a query. With `log_queries` operations with a query have a line too, with it.

    Refused requests go to a separate file, with `refused` in place of `audit` in its name. Anyone can cause
    them, so they must not push changes out of the log. The first request of a source, key and status in a
    minute is written at once. If more follow, a second line has their `count`.
    """

    def __init__(
        self, path: str, *, log_queries: bool = False, size: int = MAX_SIZE, clock: Clock = time.monotonic
    ) -> None:
        folder, name = os.path.split(path)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot create the folder of {path}: {error.strerror}") from error
        self._log_queries = log_queries
        self._file = _open_log(path, size)
        refused = os.path.join(folder, name.replace("audit", "refused"))
        self._refusals = _Refusals(_open_log(refused, size), clock)

    def wrap(self, app: ASGIApp, pages: Target | None = None) -> ASGIApp:
        """Return an application whose requests are logged when their answers begin."""

        async def logged(scope: Scope, receive: Receive, send: Send) -> None:
            self._refusals.flush_if_due()
            request = _Request(scope, pages)
            answered = False

            async def receive_and_keep() -> Message:
                message = await receive()
                if message["type"] == "http.request" and len(request.body) < _MAX_BODY:
                    request.body += message.get("body", b"")[:_MAX_BODY]
                return message

            async def log_and_send(message: Message) -> None:
                nonlocal answered
                if message["type"] == "http.response.start":
                    answered = True
                    # Log a change before its client can know of it.
                    self._log(request, message["status"])
                await send(message)

            try:
                await app(scope, receive_and_keep, log_and_send)
            finally:
                if not answered:
                    self._log(request, None)  # the client left or the server ended before

        return logged

    def close(self) -> None:
        self._refusals.close()
        self._file.close()

    def _log(self, request: _Request, status: int | None) -> None:
        target = request.target()
        query = request.query() if self._log_queries else None
        refused = status in _REFUSED
        if target is None and query is None and not refused:
            return
        key, client = key_of(request.scope), request.scope.get("client")
        line = {
            "time": _now(),
            "key": None if key is None else key.name,
            "action": f"{request.method} {request.path}"[:_MAX_TEXT],
            "target": target,
            "outcome": _outcome(status),
            "status": status,
        }
        if refused:
            self._refusals.add(client[0] if client else None, line)
        else:
            _write(self._file, line if query is None else {**line, "query": query})


class _Refusals:
    """Refused requests, counted for each source, key and status in each minute."""

    def __init__(self, file: RotatingFileHandler, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._minute_began = clock()
        #: The first line and the number of requests, by source, key and status.
        self._counts: dict[tuple[Any, ...], tuple[dict[str, Any], int]] = {}

    def add(self, source: str | None, line: dict[str, Any]) -> None:
        self.flush_if_due()
        group = (source, line["key"], line["status"])
        if group not in self._counts and len(self._counts) >= _MAX_SOURCES:
            source, group = "others", ("others", None, None)
        first, count = self._counts.get(group, (None, 0))
        if first is None:
            texts = {
                name: value[:_MAX_REFUSED_TEXT] for name, value in line.items() if isinstance(value, str)
            }
            first = {**line, **texts, "source": source}
            _write(self._file, first | {"count": 1})
        self._counts[group] = (first, count + 1)

    def flush_if_due(self) -> None:
        """Write the counts of the last minute if it has passed."""
        if self._clock() - self._minute_began >= _MINUTE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        for first, count in self._counts.values():
            if count > 1:
                _write(self._file, first | {"time": _now(), "count": count - 1})
        self._counts.clear()
        self._minute_began = self._clock()


class _Request:
    def __init__(self, scope: Scope, pages: Target | None) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.body = b""
        self._pages = pages

    def target(self) -> str | None:
        """Return the change that the request asks for; None for a request that only reads."""
        row, in_path = self._operation
        if row is not None and row.audit is not None:
            return row.audit.format_map(_Texts(in_path, self._field))
        target = None if self._pages is None else self._pages(self.method, self.path, self.body)
        return None if target is None else _text(target)

    def query(self) -> str | None:
        """Return the text of a query, also of one over MCP; None for requests without one."""
        row, in_path = self._operation
        if row is not None:
            found = (in_path.get(name) or self._field(name) for name in row.query)
            return _text(next(filter(None, found), None)) if row.query else None
        if self._field("method") == "tools/call":
            match self._field("params"):
                case {"name": str(name), "arguments": {**given}}:
                    found = (given.get(each) for each in _TOOLS.get(name, ()))
                    return next(map(_text, filter(None, found)), None)
        return None

    @cached_property
    def _operation(self) -> tuple[Operation | None, dict[str, str]]:
        """The row of the operation, unless there is nothing to log of it, and the arguments in its path."""
        for row, pattern in _LOGGED:
            if row.method == self.method and (match := pattern.match(self.path)):
                return row, match.groupdict()
        return None, {}

    def _field(self, name: str) -> Any:
        try:
            body = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return body.get(name) if isinstance(body, dict) else None


class _Texts(dict[str, Any]):
    """The arguments of a request as short texts, from its path or by a function from its body."""

    def __init__(self, in_path: dict[str, str], in_body: Callable[[str], Any]) -> None:
        super().__init__({name: _text(value) for name, value in in_path.items()})
        self._in_body = in_body

    def __missing__(self, name: str) -> str:
        return _text(self._in_body(name))


class _PrivateLog(RotatingFileHandler):
    """A rotating log that only the user can read."""

    def _open(self) -> TextIOWrapper:
        file = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return open(file, "a", encoding=self.encoding)


def _open_log(path: str, size: int) -> RotatingFileHandler:
    return _PrivateLog(path, maxBytes=size, backupCount=BACKUPS, encoding="utf-8", delay=True)


def _write(file: RotatingFileHandler, line: dict[str, Any]) -> None:
    file.emit(logging.makeLogRecord({"msg": json.dumps(line)}))


def _outcome(status: int | None) -> str:
    if status is None:
        return "unanswered"
    if status < 400:
        return "done"
    return "refused" if status in _REFUSED else "failed"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:_MAX_TEXT]
