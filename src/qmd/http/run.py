"""`/run`: searches for the user's own command line, told without any loss. No part of the API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from qmd.http.routing import router
from qmd.server import attach
from qmd.server.resident import Resident

routes = router()


@routes.post(attach.PATH, include_in_schema=False)
async def run(request: Request) -> Response:
    """Answer a search as `Index.run` does. `Access` lets nobody else in."""
    resident: Resident = request.app.state.resident
    desk: attach.Desk = request.app.state.desk
    body = await request.body()
    told = await resident.call(lambda index, cancelled: desk.answer(index, body, cancelled), models=True)
    return Response(told, media_type="application/json")
