"""`/health`, `/search` and `/query` beside `/mcp`, for clients of tobi/qmd's server."""

from __future__ import annotations

import time
from collections.abc import Callable

from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from qmd.api import operations
from qmd.api.arguments import QueryArguments
from qmd.api.results import SearchResults
from qmd.errors import UsageError
from qmd.mcp.tool import camel_case
from qmd.mcp.tools import structured
from qmd.server.access import HEALTH, index_of
from qmd.server.index_host import IndexHost
from qmd.text.uris import to_uri

_Arguments = camel_case(QueryArguments)


def routes(host: IndexHost, clock: Callable[[], float] = time.monotonic) -> list[Route]:
    """Return the routes for an index. `clock` returns seconds."""
    started = clock()

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "uptime": int(clock() - started)})

    async def query(request: Request) -> Response:
        arguments = _arguments(await request.body())
        response, indexed_at = await host.call(
            lambda index, cancelled: operations.search(
                index_of(request.scope, index), "query", arguments, cancelled
            ),
            models=True,
        )
        content = structured(SearchResults.of(response, indexed_at))
        hits = [hit | {"file": to_uri(hit["file"])} for hit in content["results"]]
        return JSONResponse({"results": hits, "stages": content["stages"]})

    return [
        Route(HEALTH, health, methods=["GET"]),
        *(Route(path, query, methods=["POST"]) for path in ("/search", "/query")),
    ]


def _arguments(body: bytes) -> QueryArguments:
    try:
        fields = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise UsageError(f"the body is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise UsageError("the body must be a JSON object")
    return _Arguments.read(fields)
