"""MCP over Streamable HTTP, at `/mcp`. Requests are stateless and answered with JSON."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic_core import from_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from qmd.api import operations
from qmd.api.arguments import QueryArguments
from qmd.api.results import SearchResults
from qmd.errors import UsageError
from qmd.mcp.messages import MAX_MESSAGE, MessageError, read_message
from qmd.mcp.tool import camel_case
from qmd.mcp.tools import structured
from qmd.server.access import HEALTH, MCP, Gate, index_of
from qmd.server.body_limit import NOT_JSON, is_json, replay
from qmd.server.errors import answer, handlers
from qmd.server.host_check import Allowed
from qmd.server.index_host import IndexHost
from qmd.text.uris import to_uri

_QueryArguments = camel_case(QueryArguments)


class Endpoint:
    """Answers POST requests. `run` is a context manager that must be entered once around all requests.

    GET is not allowed, because this server sends no messages of its own.
    """

    def __init__(self, server: Server[Any]) -> None:
        # `HostCheck` has already checked Host and Origin.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=MAX_MESSAGE,
        )
        self.run = self._manager.run
        self.route = Route(MCP, self, methods=["POST"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if not is_json(request.headers):
            await answer(400, NOT_JSON)(scope, receive, send)
            return
        body = await request.body()
        try:
            read_message(body)
        except MessageError as error:
            response = error.answer.model_dump_json(by_alias=True, exclude_unset=True)
            await Response(response, 400, media_type="application/json")(scope, receive, send)
            return
        await self._manager.handle_request(_with_json_type(scope), replay(body, receive), send)


def app(
    server: Server[Any],
    environ: Mapping[str, str],
    host: str,
    gate: Gate,
    routes: Sequence[Route] = (),
    *,
    beside: AbstractAsyncContextManager[None] | None = None,
) -> ASGIApp:
    """Return the application with `/mcp` and other routes behind the gate.

    It is bound to the host name or address `host`. The environment may allow more hosts and origins. `beside`
    is entered while the application runs.
    """
    endpoint = Endpoint(server)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with endpoint.run(), beside or nullcontext():
            yield

    application = Starlette(
        routes=[endpoint.route, *routes],
        lifespan=lifespan,
        exception_handlers=handlers(f"MCP is at {MCP}"),
    )
    application.router.redirect_slashes = False
    return gate.wrap(application, Allowed.from_environ(environ, host))


def rest_routes(host: IndexHost) -> list[Route]:
    """Return `/health`, `/search` and `/query`, for clients of tobi/qmd's server."""
    started = time.monotonic()

    async def health(request: Request) -> Response:
        uptime = int(time.monotonic() - started)
        return JSONResponse({"status": "ok", "uptime": uptime, "watching": host.watching})

    async def query(request: Request) -> Response:
        arguments = _query_arguments(await request.body())
        response, indexed_at = await host.call(
            lambda index, cancelled: operations.search(
                index_of(request.scope, index), "query", arguments, cancelled
            ),
            models=True,
        )
        content = structured(SearchResults.of(response, indexed_at))
        hits = [hit | {"file": to_uri(hit["file"])} for hit in content["results"]]
        return JSONResponse({**content, "results": hits})

    return [
        Route(HEALTH, health, methods=["GET"]),
        *(Route(path, query, methods=["POST"]) for path in ("/search", "/query")),
    ]


def _query_arguments(body: bytes) -> QueryArguments:
    try:
        fields = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise UsageError(f"the body is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise UsageError("the body must be a JSON object")
    return _QueryArguments.read(fields)


def _with_json_type(scope: Scope) -> Scope:
    """Return the scope with the content type in lower case and without parameters, as the SDK compares it."""
    others = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*others, (b"content-type", b"application/json")]}
