"""The application: the endpoints, and MCP beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, TypeAlias

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from qmd.api.table import OPERATIONS, TABLE
from qmd.errors import QmdError
from qmd.http import api_docs, status
from qmd.http.routing import route
from qmd.mcp.http import Endpoint
from qmd.server.access import Gate
from qmd.server.discovery import RUN
from qmd.server.errors import answer, handlers, not_allowed
from qmd.server.host_check import Allowed
from qmd.server.index_host import IndexHost
from qmd.server.pages import PageSource, page_maker
from qmd.server.watcher import watching

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from qmd.engine.index import Index
    from qmd.types.cancelling import Cancelled


#: Returns the output of a command of another process, and its exit code, as `qmd.cli.client` reads it.
CommandRunner: TypeAlias = "Callable[[Index, bytes, Cancelled], bytes]"
#: Seconds for calls of the index that are in progress when the server shuts down.
_GRACE = 5


def app(
    index_host: IndexHost,
    environ: Mapping[str, str],
    host: str,
    gate: Gate,
    *,
    watch: bool = False,
    commands: CommandRunner | None = None,
) -> ASGIApp:
    """Return the application behind the gate, for a server bound to a host name or address.

    With `watch` it also watches the folders of the index. `commands` answers those of the command line.
    """
    pages: PageSource | None = None
    missing = ""
    try:
        pages = page_maker().open_pages(index_host, gate.keys)
    except QmdError as error:
        missing = error.message
    allowed = Allowed.from_environ(environ, host)
    application = api(index_host, environ, pages, missing, watch=watch, commands=commands)
    return gate.wrap(_answer_head(application), allowed, pages)


def _answer_head(app: ASGIApp) -> ASGIApp:
    """Answer HEAD as GET. The server leaves out the body when it sends the answer."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("method") == "HEAD":
            scope = {**scope, "method": "GET"}
        await app(scope, receive, send)

    return answer


def api(
    index_host: IndexHost,
    environ: Mapping[str, str],
    pages: PageSource | None = None,
    missing: str = "",
    *,
    watch: bool = False,
    commands: CommandRunner | None = None,
) -> Starlette:
    """Return the application without access control, with the pages, or with an error that says why not."""

    def server() -> Server[None]:
        from qmd.mcp.server import build

        return build(index_host, environ)

    mcp = Endpoint(server)

    async def run(request: Request) -> Response:
        """Run a command of the user's own command line. `Access` refuses other clients."""
        body = await request.body()
        assert commands is not None
        answer = await index_host.call(lambda index, cancelled: commands(index, body, cancelled), models=True)
        return Response(answer, media_type="application/octet-stream")

    def without(operation: str) -> Route:
        """Return the route of an operation of a feature that is not here."""

        async def refuse(request: Request) -> Response:
            OPERATIONS.load(operation)
            raise AssertionError

        method, path = operation.split()
        return Route(path, refuse, methods=[method])

    async def answer_without_pages(request: Request) -> Response:
        return answer(501, missing)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        of_pages = pages.run() if pages is not None else nullcontext()
        watcher = watching(index_host, "qmd server" if watch else None)
        readers = nullcontext() if index_host.readers is None else index_host.readers.run()
        async with mcp.run(), of_pages, watcher, index_host.releasing_models(), readers:
            yield
        with anyio.move_on_after(_GRACE):
            await anyio.to_thread.run_sync(index_host.finish, abandon_on_cancel=True)

    routes = [
        *(route(operation, index_host) for operation in TABLE),
        *map(without, OPERATIONS.missing),
        *(Route(each.path, each.run, methods=[each.method]) for each in status.OPERATIONS),
        *([] if commands is None else [Route(RUN, run, methods=["POST"])]),
        mcp.route,
        *([Route("/", answer_without_pages, methods=["GET"])] if pages is None else pages.routes),
        *api_docs.ROUTES,
    ]
    errors = {**handlers("see /docs"), 405: not_allowed}
    http_error = errors[HTTPException]

    async def nothing_there(request: Request, error: Exception) -> Response:
        if pages is not None and "text/html" in request.headers.get("accept", ""):
            return pages.missing(request)
        return await http_error(request, error)

    errors[404] = nothing_there
    application = Starlette(routes=routes, lifespan=lifespan, exception_handlers=errors)
    application.router.redirect_slashes = False
    application.state.index_host = index_host
    return application
