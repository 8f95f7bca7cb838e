"""The endpoints: strict parsing of requests, and calls of the index in threads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from msgspec import json
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from qmd.api.operation import Operation
from qmd.api.reading import decode_object, fields_of, read
from qmd.api.texts import error_text
from qmd.engine.index import Index
from qmd.errors import QmdError, UsageError
from qmd.models.base import Cancelled
from qmd.server.access import index_of
from qmd.server.body_limit import NOT_JSON, is_json
from qmd.server.errors import Error
from qmd.server.index_host import AnswerParts, IndexHost
from qmd.server.keys import key_of

#: The type of answers in parts, each of which is a line of JSON.
LINES = "application/x-ndjson"


def route(operation: Operation, host: IndexHost) -> Route:
    """Return the route of an operation."""
    endpoint = RoutedEndpoint(operation, host)
    return Route(operation.template, endpoint, methods=[operation.method], name=operation.name)


class RoutedEndpoint:
    """Answers requests with the result of an operation."""

    def __init__(self, operation: Operation, host: IndexHost) -> None:
        self._operation = operation
        self._arguments = operation.arguments
        self._needs_body = operation.needs_body
        self._takes_parameters = not operation.takes_body and bool(
            {item.name for item in fields_of(self._arguments)} - {*operation.in_path}
        )
        self._readers = host.readers if operation.quick and not operation.of_process else None
        queued = operation.writes or operation.queued
        read = partial(host.call, slow=operation.slow, page=operation.apart, whole=operation.whole)
        self._call = host.write if queued else read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arguments = await self._read(scope, receive)
        if self._readers is not None:
            read = await self._readers.ask(self._operation.route, key_of(scope), arguments)
            if read is not None:
                await read.response()(scope, receive, send)
                return

        if self._operation.in_parts and LINES in Headers(scope=scope).get("accept", ""):
            await self._answer_in_lines(scope, send, arguments)
            return

        def work(index: Index, cancelled: Cancelled) -> bytes:
            return json.encode(self._operation.run(index_of(scope, index), arguments, cancelled))

        answer = await self._call(work, models=self._operation.models)
        await Response(answer, media_type="application/json")(scope, receive, send)

    async def _answer_in_lines(self, scope: Scope, send: Send, arguments: Any) -> None:
        """Send each part of an answer when it is there, and then the answer.

        What fails before the first part is answered as any error, and later by an error in the last line.
        """

        def start(tell: Callable[[Any], None]) -> Awaitable[Any]:
            return self._call(
                lambda index, cancelled: self._operation.run(
                    index_of(scope, index), arguments, cancelled, tell
                ),
                models=self._operation.models,
            )

        async def say(line: Any, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": json.encode(line) + b"\n", "more_body": more})

        parts, started = AnswerParts(start), False
        head = [(b"content-type", LINES.encode()), (b"x-accel-buffering", b"no")]
        try:
            async for part in parts:
                if not started:
                    await send({"type": "http.response.start", "status": 200, "headers": head})
                started = True
                await say(part)
            try:
                last = await parts.answer
            except QmdError as error:
                if not started:
                    raise
                last = Error(error_text(error), error.http_status)
            if not started:
                await send({"type": "http.response.start", "status": 200, "headers": head})
            await say(last, more=False)
        finally:
            parts.answer.cancel()

    async def _read(self, scope: Scope, receive: Receive) -> Any:
        in_path: dict[str, Any] = scope["path_params"]
        parameters = _parameters(scope["query_string"], accepted=self._takes_parameters)
        if not self._operation.takes_body:
            return read(self._arguments, parameters, "parameter", texts=True, **in_path)
        body = await Request(scope, receive).body()
        return read(self._arguments, self._fields(body, Headers(scope=scope)), **in_path)

    def _fields(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        if not body and not self._needs_body:
            return {}
        if not body:
            raise UsageError("the body is missing")
        if not is_json(headers):
            raise UsageError(NOT_JSON)
        return decode_object(body)


def _parameters(query: bytes, *, accepted: bool) -> dict[str, str]:
    """Return the parameters in the address of a request.

    Raises `UsageError` if it takes none, and for repeated ones.
    """
    if not query:
        return {}
    pairs = QueryParams(query).multi_items()
    names = [name for name, _ in pairs]
    if names and not accepted:
        listed = ", ".join(sorted(set(names)))
        raise UsageError(f"{listed}: unknown parameter", "put fields into the body, as JSON")
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name}: given more than once")
    return dict(pairs)
