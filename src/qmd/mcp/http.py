"""MCP over Streamable HTTP, at `/mcp`. Requests are stateless and answered with JSON.

Those that ask for progress are answered with a stream of events.
"""

from __future__ import annotations

import time
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from qmd.api import operations
from qmd.api.arguments import QueryBody
from qmd.api.reading import decode_object, in_camel_case, read
from qmd.api.results import SearchResults
from qmd.engine.documents.fitting import Limit, fit_response
from qmd.engine.index import Index
from qmd.mcp.tools import structured
from qmd.models.base import Cancelled
from qmd.server.access import HEALTH, MCP, Gate, index_of
from qmd.server.body_limit import MAX_BODY, NOT_JSON, is_json, replay
from qmd.server.errors import answer, handlers
from qmd.server.host_check import Allowed
from qmd.server.index_host import IndexHost
from qmd.text.uris import to_uri
from qmd.types import SearchResponse

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_QueryArguments = in_camel_case(QueryBody)
#: The media type of a stream of events.
EVENTS = "text/event-stream"


class Endpoint:
    """Answers POST requests. `run` is a context manager that must be entered once around all requests.

    GET is not allowed, because this server sends no messages of its own. The SDK is loaded, and the server
    built, by the first request: that takes longer than all the rest of the start.
    """

    def __init__(self, build: Callable[[], Server[Any]]) -> None:
        self._build = build
        self._asked, self._ready = anyio.Event(), anyio.Event()
        self._answering: StreamableHTTPSessionManager
        self._streaming: StreamableHTTPSessionManager
        self.route = Route(MCP, self, methods=["POST"])

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._serve)
            yield
            tasks.cancel_scope.cancel()

    async def _serve(self) -> None:
        await self._asked.wait()
        self._answering, self._streaming = await anyio.to_thread.run_sync(self._load)
        async with self._answering.run(), self._streaming.run():
            self._ready.set()
            await anyio.sleep_forever()

    def _load(self) -> tuple[StreamableHTTPSessionManager, StreamableHTTPSessionManager]:
        """Return the managers that answer with JSON and with a stream of events."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        server = self._build()

        def manager(*, json: bool) -> StreamableHTTPSessionManager:
            return StreamableHTTPSessionManager(
                server,
                json_response=json,
                stateless=True,
                # `HostCheck` has already checked Host and Origin.
                security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                max_request_body_size=MAX_BODY,
            )

        return manager(json=True), manager(json=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if not is_json(request.headers):
            await answer(400, NOT_JSON)(scope, receive, send)
            return
        body = (await request.body()).removeprefix(BOM_UTF8)
        self._asked.set()
        await self._ready.wait()
        from qmd.mcp.messages import MessageError, asks_for_progress, read_message

        try:
            message = read_message(body)
        except MessageError as error:
            response = error.answer.model_dump_json(by_alias=True, exclude_unset=True)
            await Response(response, 400, media_type="application/json")(scope, receive, send)
            return
        streams = asks_for_progress(message) and EVENTS in request.headers.get("accept", "")
        manager = self._streaming if streams else self._answering
        await manager.handle_request(_with_json_type(scope), replay(body, receive), send)


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
    endpoint = Endpoint(lambda: server)

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
        arguments = read(_QueryArguments, decode_object(await request.body()), nulls=True)

        def answer(index: Index, cancelled: Cancelled) -> JSONResponse:
            wanted = arguments.request()
            response, indexed_at = operations.run(
                index_of(request.scope, index).limited(agent=True), "query", wanted, cancelled
            )

            def made(response: SearchResponse) -> JSONResponse:
                content = structured(SearchResults.of(response, wanted, indexed_at))
                hits = [hit | {"file": to_uri(hit["file"])} for hit in content["results"]]
                return JSONResponse({**content, "results": hits})

            limit = Limit(wanted.tokens, "maxTokens")
            return fit_response(response, limit, made, lambda made: bytes(made.body).decode())

        return await host.call(answer, models=True)

    return [
        Route(HEALTH, health, methods=["GET"]),
        *(Route(path, query, methods=["POST"]) for path in ("/search", "/query")),
    ]


def _with_json_type(scope: Scope) -> Scope:
    """Return the scope with the content type in lower case and without parameters, as the SDK compares it."""
    others = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*others, (b"content-type", b"application/json")]}
