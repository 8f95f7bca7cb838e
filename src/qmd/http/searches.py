"""`/search`, `/vsearch` and `/query` (H20-H22)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from qmd import types
from qmd.api import results
from qmd.api.arguments import QueryArguments, SearchArguments, VectorSearchArguments
from qmd.engine.index import Index
from qmd.engine.requests import SearchRequest
from qmd.http.dependencies import service
from qmd.http.errors import errors
from qmd.http.routing import Body, example, router
from qmd.models.base import Cancelled
from qmd.types import StageStatus

routes = router()


class SearchBody(SearchArguments, Body):
    """What to search for."""

    model_config = example(query="deploy", limit=5)


class VectorSearchBody(VectorSearchArguments, Body):
    """What to search for, by its meaning."""

    model_config = example(query="how do I ship a release")


class QueryBody(QueryArguments, Body):
    """What to search for; `searches` in place of `query` names the lists to be searched one by one."""

    # One of both, as the arguments check.
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "how do I ship a release", "collection": "notes"}],
            "oneOf": [
                {"properties": {"query": {"type": "string"}}, "required": ["query"]},
                {"properties": {"searches": {"type": "array"}}, "required": ["searches"]},
            ],
        }
    )

    explain: bool = False

    def request(self) -> SearchRequest:
        """What the engine is asked."""
        return replace(super().request(), explain=self.explain)


class Hit(BaseModel):
    """One document, best first."""

    docid: str
    file: str
    title: str
    score: float = Field(ge=0, le=1)
    context: str | None
    line: int
    snippet: str
    explain: dict[str, Any] = {}


class Stage(BaseModel):
    """What became of a step of the search."""

    stage: str
    status: StageStatus
    reason: str = ""


class Found(BaseModel):
    """What was found. `indexed_at` says how old the index is: changes on disk since then are not in it."""

    results: list[Hit]
    content: str
    stages: list[Stage]
    indexed_at: str | None


_ERRORS = errors(404, 413)


@routes.post("/search", response_model=Found, responses=_ERRORS)
async def search(request: Request, body: SearchBody) -> Response:
    """Search by words (BM25); fast."""
    asked = body.request()
    return await service(request).read(lambda index, cancelled: _found(index, "search", asked, cancelled))


@routes.post("/vsearch", response_model=Found, responses=_ERRORS)
async def vsearch(request: Request, body: VectorSearchBody) -> Response:
    """Search by meaning; needs vectors."""
    asked = body.request()
    return await service(request).read(
        lambda index, cancelled: _found(index, "vsearch", asked, cancelled), models=True
    )


@routes.post("/query", response_model=Found, responses=_ERRORS)
async def query(request: Request, body: QueryBody) -> Response:
    """Search by words and meaning together, reranked; the best results. `stages` says what could not run."""
    asked = body.request()
    return await service(request).read(
        lambda index, cancelled: _found(index, "query", asked, cancelled), models=True
    )


def _found(index: Index, kind: str, asked: SearchRequest, cancelled: Cancelled) -> Found:
    response = index.run(kind, asked, cancelled=cancelled)
    return Found(
        results=[_hit(each, explain=asked.explain) for each in response.hits],
        content="\n\n".join([results.heading(response), *map(results.line, response.hits)]),
        stages=[Stage.model_validate(results.stage(each)) for each in response.stages],
        indexed_at=index.indexed_at(asked.collections),
    )


def _hit(found: types.Hit, *, explain: bool) -> Hit:
    shown = Hit(**results.hit(found))
    return shown.model_copy(update={"explain": found.explain}) if explain else shown
