"""What was changed and what was refused over HTTP, a line of JSON each (H9)."""

from __future__ import annotations

import json
import logging
import os
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
#: A text is written down as far as this, in characters.
_LONG = 1_000


class Audit:
    """Writes lines to a file that only its user may read, and in the end throws old ones away.

    A line has `time`, `key` (its name, null without one), `action`, `target`, `outcome` and `status`. No text
    of a document or a query is in it. With `log_queries` searches have a line too, with their `query`.

    Raises `StoreError` where the file's folder cannot be made.
    """

    def __init__(self, path: str, *, log_queries: bool = False, size: int = SIZE) -> None:
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the folder of {path}: {error.strerror}") from error
        self._log_queries = log_queries
        self._file = _PrivateLog(path, maxBytes=size, backupCount=KEPT, encoding="utf-8", delay=True)

    def watch(self, app: ASGIApp) -> ASGIApp:
        """An application whose requests are written down."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            request = _Request(scope, receive, send, self._tell)
            try:
                await app(scope, request.receive, request.send)
            finally:
                if request.status is None:
                    self._tell(request)

        return watched

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _tell(self, request: _Request) -> None:
        target = request.target()
        query = request.query() if self._log_queries else None
        if target is None and query is None and request.status not in _REFUSED:
            return
        key = key_of(request.scope)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "key": None if key is None else key.name,
            "action": request.action,
            "target": target,
            "outcome": request.outcome(),
            "status": request.status,
        }
        if query is not None:
            line["query"] = query
        self._file.emit(logging.makeLogRecord({"msg": json.dumps(line)}))


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


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:_LONG]
