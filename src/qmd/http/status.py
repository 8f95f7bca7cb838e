"""The state of the index and of the server: `/status`, `/health` and `/metrics`."""

from __future__ import annotations

import logging
from typing import Any, Literal

import anyio
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from qmd.api import operations
from qmd.api.results import IndexState
from qmd.engine.index import Index
from qmd.errors import QmdError
from qmd.http.routing import Router
from qmd.models.base import Cancelled
from qmd.server.access import index_of
from qmd.server.errors import answer, errors
from qmd.server.index_host import IndexHost
from qmd.server.metrics import MEDIA_TYPE, MISSING, metrics_of

routes = Router()
#: Apart, because it is the last endpoint in the documentation.
metrics_routes = Router()
logger = logging.getLogger(__name__)

_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The metrics"}
}


class State(IndexState):
    """The state of the index; `needs_embedding` is the number of texts without vectors.

    `watching` is how changes of files are noticed: `events`, `polling`, or `off` if nothing watches.
    `indexed_at` is the time of the index: later changes on disk are not in it.
    """

    content: str


class Health(BaseModel):
    """Whether the index can be used, whether the embedding model is in memory, and how changes are noticed.

    `watching` is `events`, `polling`, `standby` while another process may watch the folders, or `off`.
    """

    status: Literal["healthy", "unhealthy"]
    model_loaded: bool
    watching: Literal["events", "polling", "standby", "off"]


class Unhealthy(Health):
    """The state of a server that is not ready, which is also an error."""

    detail: str
    status_code: int


@routes.endpoint("GET", "/status")
def status(index: Index, cancelled: Cancelled) -> State:
    """Return the state of the index."""
    state = operations.status(index)
    return State(**dict(state), content=state.text())


@routes.get("/health", response_model=Health, responses={503: {"model": Unhealthy}})
async def health(request: Request) -> Response:
    """Return whether the server is ready. Needs no key."""
    # Not in a thread of the index, so that it also answers if all of them are busy.
    return await anyio.to_thread.run_sync(_check, request.app.state.index_host)


@metrics_routes.get("/metrics", response_class=Response, responses=_TEXT | errors(501))
async def metrics(request: Request) -> Response:
    """Return metrics of requests, their times, the index, the models and the queue of writes."""
    server_metrics = metrics_of(request.scope)
    if server_metrics is None:
        return answer(501, MISSING)
    index_host: IndexHost = request.app.state.index_host
    waiting = index_host.writes
    page = await index_host.call(
        lambda index, cancelled: server_metrics.page(
            index_of(request.scope, index).status(), models_loaded=index.model_loaded, waiting=waiting
        )
    )
    return Response(page, media_type=MEDIA_TYPE)


def _check(index_host: IndexHost) -> Response:
    try:
        index = index_host.index
        _ = index.config  # raises an error if the file has become invalid
    except QmdError as error:
        logger.warning("not ready: %s", error.in_one_line())
        unhealthy = Unhealthy(
            status="unhealthy",
            model_loaded=False,
            watching=index_host.watching,
            detail="The index is not ready",
            status_code=503,
        )
        return JSONResponse(unhealthy.model_dump(), 503)
    health = Health(status="healthy", model_loaded=index.model_loaded, watching=index_host.watching)
    return JSONResponse(health.model_dump())
