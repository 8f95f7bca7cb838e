"""The application: the endpoints, and MCP beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from qmd._version import __version__
from qmd.http import (
    api_docs,
    collections,
    contexts,
    documents,
    errors,
    indexing,
    metrics,
    run,
    searches,
    status,
)
from qmd.mcp.http import Endpoint
from qmd.mcp.server import build
from qmd.server.access import Gate
from qmd.server.host_check import Allowed
from qmd.server.index_host import IndexHost
from qmd.server.jobs import Jobs
from qmd.server.run_handler import RunHandler

#: What is still asked of the index when the server ends has this many seconds to end too.
_GRACE = 5

_ABOUT = """\
Local search for folders of Markdown: by words, by meaning, or both.

Every error is `{"detail": "...", "status_code": N}`. A field that there is not is refused, and a text in the
place of a number.
"""


def app(resident: IndexHost, environ: Mapping[str, str], bound: str, gate: Gate) -> ASGIApp:
    """The application over an index, behind guard and gate, for a server bound to a host."""
    return gate.before(_answering_head(api(resident, environ)), Allowed.from_environ(environ, bound))


def _answering_head(inside: ASGIApp) -> ASGIApp:
    """Answer HEAD as GET; the server that sends the answer leaves its body out."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await inside(scope, receive, send)

    return answer


def api(resident: IndexHost, environ: Mapping[str, str]) -> FastAPI:
    """The application as it is inside: it lets everyone in."""
    jobs = Jobs(resident)
    mcp = Endpoint(build(resident, environ, jobs))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.run():
            yield
        with anyio.move_on_after(_GRACE):
            await anyio.to_thread.run_sync(resident.finish, abandon_on_cancel=True)

    inside = FastAPI(
        title="qmd",
        version=__version__,
        description=_ABOUT,
        openapi_url=None,  # `pages` has a truer one
        redirect_slashes=False,
        lifespan=lifespan,
    )
    inside.state.resident = resident
    inside.state.jobs = jobs
    inside.state.run_handler = RunHandler()
    for module in (searches, documents, status, indexing, collections, contexts, metrics, run):
        inside.router.routes.extend(module.routes.routes)
    inside.router.routes.append(mcp.route)
    api_docs.install(inside)
    errors.install(inside)
    return inside
