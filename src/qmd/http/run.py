"""`/run`: searches for the user's own command line. Not part of the public API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from qmd.http.routing import router
from qmd.server import run_handler
from qmd.server.index_host import IndexHost

routes = router()


@routes.post(run_handler.PATH, include_in_schema=False)
async def run(request: Request) -> Response:
    """Answer a search with the same value as `Index.run`. `Access` refuses other clients."""
    index_host: IndexHost = request.app.state.index_host
    handler: run_handler.RunHandler = request.app.state.run_handler
    body = await request.body()
    answer = await index_host.call(
        lambda index, cancelled: handler.answer(index, body, cancelled), models=True
    )
    return Response(answer, media_type="application/json")
