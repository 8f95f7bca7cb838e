"""`/search`, `/vsearch` and `/query`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from qmd.api import operations, results
from qmd.api.arguments import QueryArguments, SearchArguments, VectorSearchArguments
from qmd.engine.index import Index
from qmd.engine.requests import SearchRequest
from qmd.http.dependencies import service
from qmd.http.errors import errors
from qmd.http.routing import example, router
from qmd.models.base import Cancelled

routes = router()


class SearchBody(SearchArguments):
    """A search by keywords."""

    model_config = example(query="deploy", limit=5)


class VectorSearchBody(VectorSearchArguments):
    """A search by meaning."""

    model_config = example(query="how do I ship a release")


class QueryBody(QueryArguments):
    """A hybrid search; `searches` in place of `query` gives the subqueries one by one."""

    # The arguments check that exactly one of the two is given.
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
        """Return the request for the engine."""
        return replace(super().request(), explain=self.explain)


class Hit(results.Hit):
    """One document, best first. `explain` has the scores of each step if the request asks for them."""

    explain: dict[str, Any] = Field({})


class SearchResults(results.SearchResults):
    """The results of a search. `indexed_at` is the time of the index: later changes on disk are not in it."""

    results: Sequence[Hit]
    content: str


_ERRORS = errors(404, 413)


@routes.post("/search", response_model=SearchResults, responses=_ERRORS)
async def search(request: Request, body: SearchBody) -> Response:
    """Search by keywords (BM25); fast."""
    return await service(request).read(lambda index, cancelled: _search(index, "search", body, cancelled))


@routes.post("/vsearch", response_model=SearchResults, responses=_ERRORS)
async def vsearch(request: Request, body: VectorSearchBody) -> Response:
    """Search by meaning; needs vectors."""
    return await service(request).read(
        lambda index, cancelled: _search(index, "vsearch", body, cancelled), models=True
    )


@routes.post("/query", response_model=SearchResults, responses=_ERRORS)
async def query(request: Request, body: QueryBody) -> Response:
    """Search by keywords and meaning, and rerank; the best results. `stages` says which steps did not run."""
    return await service(request).read(
        lambda index, cancelled: _search(index, "query", body, cancelled), models=True
    )


def _search(
    index: Index,
    kind: operations.SearchKind,
    body: SearchBody | VectorSearchBody | QueryBody,
    cancelled: Cancelled,
) -> SearchResults:
    response, indexed_at = operations.search(index, kind, body, cancelled)
    hits = [Hit.of(hit) for hit in response.hits]
    if isinstance(body, QueryBody) and body.explain:
        hits = [
            hit.model_copy(update={"explain": source.explain})
            for hit, source in zip(hits, response.hits, strict=True)
        ]
    return SearchResults(
        results=hits,
        content="\n\n".join([results.heading(response), *map(results.hit_line, response.hits)]),
        stages=[results.Stage.of(stage) for stage in response.stages],
        indexed_at=indexed_at,
    )
