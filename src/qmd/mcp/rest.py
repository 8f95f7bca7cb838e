"""`/health`, `/search` and `/query` beside `/mcp`, as tobi/qmd's server answers them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from qmd.api import results
from qmd.api.arguments import QueryArguments
from qmd.errors import UsageError
from qmd.server.access import HEALTH, index_of
from qmd.server.index_host import IndexHost
from qmd.text.uris import to_uri


def routes(resident: IndexHost, clock: Callable[[], float] = time.monotonic) -> list[Route]:
    """Return the routes over an index."""
    started = clock()

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "uptime": int(clock() - started)})

    async def query(request: Request) -> Response:
        asked = _arguments(await request.body()).request()
        response = await resident.call(
            lambda index, cancelled: index_of(request.scope, index).run("query", asked, cancelled=cancelled),
            models=True,
        )
        hits = [results.hit(each) | {"file": to_uri(each.file)} for each in response.hits]
        return JSONResponse({"results": hits, "stages": [results.stage(each) for each in response.stages]})

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
    values: dict[str, Any] = fields
    return QueryArguments.read(values)
