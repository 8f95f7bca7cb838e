"""The application: the endpoints, and MCP beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

import anyio
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from qmd._version import __version__
from qmd.http import api_docs, collections, contexts, documents, fields, indexing, status
from qmd.server.access import MCP, Gate
from qmd.server.errors import answer, handlers, not_allowed
from qmd.server.host_check import Allowed
from qmd.server.index_host import IndexHost
from qmd.server.run_handler import RunHandler
from qmd.server.watcher import watching
from qmd.web import MISSING
from qmd.web import available as pages_available

if TYPE_CHECKING:
    from qmd.mcp.http import Endpoint
    from qmd.web.app import Web

#: Seconds for calls of the index that are in progress when the server shuts down.
_GRACE = 5

_ABOUT = """\
Local search for folders of Markdown: by words, by meaning, or both.

Every error is `{"detail": "...", "status_code": N}`. Unknown fields and fields of a wrong type are refused.
"""


async def _answer_without_pages(request: Request) -> Response:
    return answer(501, MISSING)


_no_pages = Route("/", _answer_without_pages, methods=["GET"])


def app(
    index_host: IndexHost, environ: Mapping[str, str], host: str, gate: Gate, *, watch: bool = False
) -> ASGIApp:
    """Return the application behind the gate, for a server bound to a host name or address.

    With `watch` it also watches the folders of the index.
    """
    web = _web(index_host, gate)
    allowed = Allowed.from_environ(environ, host)
    return gate.wrap(_answer_head(api(index_host, environ, web, watch=watch)), allowed, web)


def _web(index_host: IndexHost, gate: Gate) -> Web | None:
    """Return the pages; None if the packages that they need are not installed."""
    if not pages_available():
        return None
    from qmd.web.app import Web

    return Web(index_host, gate.keys)


class _Mcp:
    """MCP for a server. Its packages are loaded by the first request: that takes longer than all the rest.

    `run` is a context manager that must be entered once around all requests.
    """

    def __init__(self, index_host: IndexHost, environ: Mapping[str, str]) -> None:
        self._index_host = index_host
        self._environ = environ
        self._asked, self._ready = anyio.Event(), anyio.Event()
        self._endpoint: Endpoint | None = None
        self.route = Route(MCP, self, methods=["POST"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._asked.set()
        await self._ready.wait()
        assert self._endpoint is not None
        await self._endpoint(scope, receive, send)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._serve)
            yield
            tasks.cancel_scope.cancel()

    async def _serve(self) -> None:
        await self._asked.wait()
        self._endpoint = await anyio.to_thread.run_sync(self._load)
        async with self._endpoint.run():
            self._ready.set()
            await anyio.sleep_forever()

    def _load(self) -> Endpoint:
        from qmd.mcp.http import Endpoint
        from qmd.mcp.server import build

        return Endpoint(build(self._index_host, self._environ))


def _answer_head(app: ASGIApp) -> ASGIApp:
    """Answer HEAD as GET. The server leaves out the body when it sends the answer."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("method") == "HEAD":
            scope = {**scope, "method": "GET"}
        await app(scope, receive, send)

    return answer


def api(
    index_host: IndexHost, environ: Mapping[str, str], web: Web | None = None, *, watch: bool = False
) -> FastAPI:
    """Return the application without access control, with the pages if they are given."""
    mcp = _Mcp(index_host, environ)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        pages = web.run() if web is not None else nullcontext()
        watcher = watching(index_host, "qmd server" if watch else None)
        async with mcp.run(), pages, watcher, index_host.releasing_models():
            yield
        with anyio.move_on_after(_GRACE):
            await anyio.to_thread.run_sync(index_host.finish, abandon_on_cancel=True)

    application = FastAPI(
        title="qmd",
        version=__version__,
        description=_ABOUT,
        openapi_url=None,  # `api_docs` adds a more exact one
        redirect_slashes=False,
        lifespan=lifespan,
        exception_handlers={**handlers("see /docs"), 405: not_allowed},
    )
    application.state.index_host = index_host
    application.state.run_handler = RunHandler()
    modules = (documents, fields, status, indexing, collections, contexts)
    for router in (*(module.routes for module in modules), status.metrics_routes):
        application.router.routes.extend(router.routes)
    application.router.routes.append(mcp.route)
    application.router.routes.extend([_no_pages] if web is None else web.routes)
    api_docs.install(application)
    return application
