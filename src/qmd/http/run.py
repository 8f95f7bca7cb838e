"""`/run`: searches for the user's own command line, told without any loss. No part of the API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from qmd.http.routing import router
from qmd.server import run_handler
from qmd.server.index_host import IndexHost

routes = router()


@routes.post(run_handler.PATH, include_in_schema=False)
async def run(request: Request) -> Response:
    """Answer a search as `Index.run` does. `Access` lets nobody else in."""
    resident: IndexHost = request.app.state.resident
    handler: run_handler.RunHandler = request.app.state.run_handler
    body = await request.body()
    told = await resident.call(lambda index, cancelled: handler.answer(index, body, cancelled), models=True)
    return Response(told, media_type="application/json")
