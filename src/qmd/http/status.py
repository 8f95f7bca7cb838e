"""`/status` and `/health`."""

from __future__ import annotations

import logging
from typing import Literal

import anyio
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from qmd.api import operations
from qmd.api.results import IndexState
from qmd.engine.index import Index
from qmd.errors import QmdError
from qmd.http.dependencies import service
from qmd.http.routing import router
from qmd.models.base import Cancelled
from qmd.server.index_host import IndexHost

routes = router()
logger = logging.getLogger(__name__)


class State(IndexState):
    """The state of the index; `needs_embedding` is the number of texts without vectors."""

    content: str


class Health(BaseModel):
    """Whether the index can be used, and whether the embedding model is in memory."""

    status: Literal["healthy", "unhealthy"]
    model_loaded: bool


class Unhealthy(Health):
    """The state of a server that is not ready, which is also an error."""

    detail: str
    status_code: int


@routes.get("/status", response_model=State)
async def status(request: Request) -> Response:
    """Return the state of the index."""

    def work(index: Index, cancelled: Cancelled) -> State:
        state = operations.status(index)
        return State(**dict(state), content=state.text())

    return await service(request).read(work)


@routes.get("/health", response_model=Health, responses={503: {"model": Unhealthy}})
async def health(request: Request) -> Response:
    """Return whether the server is ready. Needs no key."""
    index_host: IndexHost = request.app.state.index_host
    # Not in a thread of the index, so that it also answers if all of them are busy.
    return await anyio.to_thread.run_sync(_check, index_host)


def _check(index_host: IndexHost) -> Response:
    try:
        index = index_host.index
        _ = index.config  # raises an error if the file has become invalid
    except QmdError as error:
        logger.warning("not ready: %s", error.in_one_line())
        answer = Unhealthy(
            status="unhealthy", model_loaded=False, detail="The index is not ready", status_code=503
        )
        return JSONResponse(answer.model_dump(), 503)
    return JSONResponse(Health(status="healthy", model_loaded=index.model_loaded).model_dump())
