"""Documents, found and read: `/search`, `/vsearch`, `/query`, `/get`, `/multi_get` and `/documents`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from fastapi import Path, Query
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from qmd import types
from qmd.api import operations, results
from qmd.api.arguments import (
    AnySearchArguments,
    ContextLines,
    GetArguments,
    ListArguments,
    MultiGetArguments,
    Name,
    Passages,
    QueryArguments,
    SearchArguments,
    VectorSearchArguments,
)
from qmd.api.results import Document, LinkLists, ValueCount, skipped_text
from qmd.engine.documents.library import Page, Skipped
from qmd.engine.index import Index
from qmd.engine.requests import MAX_FACETS, SearchRequest
from qmd.http.routing import Router, example
from qmd.models.base import Cancelled
from qmd.server import run_handler
from qmd.server.index_host import IndexHost
from qmd.text.dates import MAX_DAYS
from qmd.text.snippet import numbered
from qmd.types import Snippet, SortOrder

routes = Router()


class Faceted(AnySearchArguments):
    """Fields whose values are counted, the order of the results, and the passages of each.

    `recent` ranks newer documents higher by a half-life in days. `fold` shows documents with the same text
    once. With more than one of the `passages`, results list them, with `in_order` as in the document.
    """

    facets: list[Name] = Field(default=[], max_length=MAX_FACETS)
    recent: bool | None = None
    half_life: Annotated[float, Field(ge=0.01, le=MAX_DAYS)] | None = None
    sort: SortOrder = "relevance"
    fold: bool | None = None
    marks: bool = True
    passages: Passages = 1
    in_order: bool = False
    context_lines: ContextLines | None = None


class SearchBody(Faceted, SearchArguments):
    """A search by keywords."""

    model_config = example(query="deploy", limit=5)


class VectorSearchBody(Faceted, VectorSearchArguments):
    """A search by meaning."""

    model_config = example(query="how do I ship a release")


class QueryBody(Faceted, QueryArguments):
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
        return replace(super().request(), explain=self.explain)


class GetBody(GetArguments):
    """A document: its path, the end of it, a `qmd://` address or a docid.

    Each may end in `:from:count` for some lines, or in `#heading` for a section.
    """

    model_config = example(file="notes/ops/deploy.md", max_lines=20)


class MultiGetBody(MultiGetArguments):
    """Documents: a glob over paths, or a comma-separated list of references as for `/get`."""

    model_config = example(pattern="notes/**/*.md")


class Passage(BaseModel):
    """A passage of a document; `score` compares it with the other passages of the same document."""

    line: int
    section: str
    score: float
    text: str

    @classmethod
    def of(cls, snippet: Snippet) -> Self:
        """Return the passage with the numbers of its lines."""
        text = numbered(snippet.text, snippet.first_line)
        return cls(line=snippet.line, section=snippet.section, score=snippet.score, text=text)


class Hit(results.Hit):
    """One document, best first. `explain` has the scores of each step if the request asks for them.

    `anchor` is the place in a source file that has places, such as page 12 of a PDF. `pinned` is true if the
    user pinned it to the query. `also` names folded documents with the same text.
    """

    anchor: results.Anchor | None = None
    pinned: bool = False
    also: list[str] = Field([])
    passages: list[Passage] = Field([])
    explain: dict[str, Any] = Field({})


class SearchResults(results.SearchResults):
    """The results of a search.

    `indexed_at` is the time of the index: later changes on disk are not in it. `facets` has the most frequent
    values of the fields that the request asks for.
    """

    results: Sequence[Hit]
    content: str
    facets: dict[str, list[ValueCount]] = Field({})


class Note(BaseModel):
    """A text in place of a document that was too large."""

    type: Literal["text"]
    text: str


class GetResult(BaseModel):
    """One document, and the time of the index."""

    document: Document
    indexed_at: str | None
    content: None


class MultiGetResult(BaseModel):
    """Documents in order; `errors` has a line for each reference without a document."""

    results: list[Document | Note]
    errors: list[str]
    indexed_at: str | None
    content: None


@routes.endpoint("POST", "/search", 404, 413)
def search(index: Index, cancelled: Cancelled, body: SearchBody) -> SearchResults:
    """Search by keywords (BM25); fast."""
    return _search(index, "search", body, cancelled)


@routes.endpoint("POST", "/vsearch", 404, 413, models=True)
def vsearch(index: Index, cancelled: Cancelled, body: VectorSearchBody) -> SearchResults:
    """Search by meaning; needs vectors."""
    return _search(index, "vsearch", body, cancelled)


@routes.endpoint("POST", "/query", 404, 413, models=True)
def query(index: Index, cancelled: Cancelled, body: QueryBody) -> SearchResults:
    """Search by keywords and meaning, and rerank; the best results. `stages` says which steps did not run."""
    return _search(index, "query", body, cancelled)


@routes.endpoint("POST", "/get", 404, 413, slow=True)
def get(index: Index, cancelled: Cancelled, body: GetBody) -> GetResult:
    """Read a document, or some of its lines."""
    indexed_at = index.indexed_at()
    return GetResult(document=operations.get(index, body), indexed_at=indexed_at, content=None)


@routes.endpoint("POST", "/multi_get", 404, 413, slow=True)
def multi_get(index: Index, cancelled: Cancelled, body: MultiGetBody) -> MultiGetResult:
    """Read several documents. Documents larger than `max_bytes` are named, not read."""

    def item(page: Page | Skipped) -> Document | Note:
        if isinstance(page, Skipped):
            return Note(type="text", text=skipped_text(page, "qmd get"))
        return Document.of(page, line_numbers=body.line_numbers, truncated="[...truncated {} more lines]")

    indexed_at = index.indexed_at()
    pages = operations.multi_get(index, body, cancelled)
    results = [*map(item, pages.items)]
    return MultiGetResult(results=results, errors=list(pages.errors), indexed_at=indexed_at, content=None)


class Section(BaseModel):
    """A heading, its level from 1, and the lines of its section."""

    heading: str
    level: int
    first_line: int
    last_line: int


class Outline(BaseModel):
    """The sections of a document, in order."""

    file: str
    sections: list[Section]


DocumentPath = Annotated[str, Path(description="A reference as for `/get`, without lines and sections.")]


@routes.endpoint("GET", "/documents/{path:path}/links", 404)
def links(
    index: Index, cancelled: Cancelled, path: DocumentPath, asked: Annotated[ListArguments, Query()]
) -> LinkLists:
    """List the links of a document, and the links of other documents to it."""
    return operations.links(index, path, asked.limit)


@routes.endpoint("GET", "/documents/{path:path}/outline", 404, slow=True)
def outline(index: Index, cancelled: Cancelled, path: DocumentPath) -> Outline:
    """List the sections of a document."""
    document, sections = index.outline(path)
    listed = [Section.model_validate(section, from_attributes=True) for section in sections]
    return Outline(file=document.file, sections=listed)


@routes.post(run_handler.PATH, include_in_schema=False)
async def run(request: Request) -> Response:
    """Answer a search of the user's own command line. `Access` refuses other clients."""
    index_host: IndexHost = request.app.state.index_host
    handler: run_handler.RunHandler = request.app.state.run_handler
    body = await request.body()
    answer = await index_host.call(
        lambda index, cancelled: handler.answer(index, body, cancelled), models=True
    )
    return Response(answer, media_type="application/json")


def _hit(hit: types.Hit, body: SearchBody | VectorSearchBody | QueryBody) -> Hit:
    """Return the result for a hit, with what the request asks for."""
    more: dict[str, Any] = {}
    if body.passages > 1:
        more["passages"] = [*map(Passage.of, hit.passages)]
    if isinstance(body, QueryBody) and body.explain:
        more["explain"] = hit.explain
    return Hit.of(hit).model_copy(update=more)


def _search(
    index: Index,
    kind: operations.SearchKind,
    body: SearchBody | VectorSearchBody | QueryBody,
    cancelled: Cancelled,
) -> SearchResults:
    response, indexed_at = operations.search(index, kind, body, cancelled)
    hits = [_hit(hit, body) for hit in response.hits]
    facets = {name: [ValueCount.of(count) for count in counts] for name, counts in response.facets.items()}
    return SearchResults(
        results=hits,
        content="\n\n".join([results.heading(response), *map(results.hit_line, response.hits)]),
        stages=[results.Stage.of(stage) for stage in response.stages],
        indexed_at=indexed_at,
        **({"facets": facets} if body.facets else {}),
    )
