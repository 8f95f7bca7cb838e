"""`/status` and `/health` (H25, H37)."""

from __future__ import annotations

import logging
from typing import Literal

import anyio
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from qmd.api import results
from qmd.engine.index import Index
from qmd.errors import QmdError
from qmd.http.dependencies import service
from qmd.http.routing import router
from qmd.models.base import Cancelled
from qmd.server.index_host import IndexHost

routes = router()
logger = logging.getLogger(__name__)


class CollectionState(BaseModel):
    """A collection; `last_updated` is when it was last scanned, ISO 8601 in UTC."""

    name: str
    path: str
    pattern: str
    documents: int
    last_updated: str | None


class State(BaseModel):
    """What is indexed; `needs_embedding` counts texts without vectors."""

    total_documents: int
    needs_embedding: int
    has_vector_index: bool
    collections: list[CollectionState]
    content: str


class Health(BaseModel):
    """Whether the index can be asked, and whether the embedding model is in memory."""

    status: Literal["healthy", "unhealthy"]
    model_loaded: bool


class Illness(Health):
    """What is wrong, in the form of an error too."""

    detail: str
    status_code: int


@routes.get("/status", response_model=State)
async def status(request: Request) -> Response:
    """What is indexed."""

    def work(index: Index, cancelled: Cancelled) -> State:
        found = index.status()
        return State(
            total_documents=found.total_documents,
            needs_embedding=found.needs_embedding,
            has_vector_index=found.has_vector_index,
            collections=[
                CollectionState(
                    name=each.name,
                    path=each.path,
                    pattern=each.pattern,
                    documents=each.documents,
                    last_updated=each.last_updated,
                )
                for each in found.collections
            ],
            content=results.status_text(found),
        )

    return await service(request).read(work)


@routes.get("/health", response_model=Health, responses={503: {"model": Illness}})
async def health(request: Request) -> Response:
    """Whether the server is ready. Asks for no key."""
    resident: IndexHost = request.app.state.resident
    # In no thread of those that search: it is answered while all of them are busy.
    return await anyio.to_thread.run_sync(_examine, resident)


def _examine(resident: IndexHost) -> Response:
    try:
        index = resident.index
        _ = index.config  # raises where the file is broken by now
    except QmdError as error:
        logger.warning("not ready: %s", error.in_one_line())
        ill = Illness(
            status="unhealthy", model_loaded=False, detail="The index is not ready", status_code=503
        )
        return JSONResponse(ill.model_dump(), 503)
    return JSONResponse(Health(status="healthy", model_loaded=index.model_loaded).model_dump())
