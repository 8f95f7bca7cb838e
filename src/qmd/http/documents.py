"""`/get` and `/multi_get`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from qmd.api import operations
from qmd.api.arguments import GetArguments, MultiGetArguments
from qmd.api.results import Document, skipped_text
from qmd.engine.documents.library import Page, Skipped
from qmd.engine.index import Index
from qmd.http.dependencies import service
from qmd.http.errors import errors
from qmd.http.routing import example, router
from qmd.models.base import Cancelled

routes = router()


class GetBody(GetArguments):
    """A document: its path, the end of it, a `qmd://` address or a docid; each may end in `:from:count`."""

    model_config = example(file="notes/ops/deploy.md", max_lines=20)


class MultiGetBody(MultiGetArguments):
    """Documents: a glob over paths, or a comma-separated list of references as for `/get`."""

    model_config = example(pattern="notes/**/*.md")


class Note(BaseModel):
    """A text in place of a document that was too large."""

    type: Literal["text"]
    text: str


class GetResult(BaseModel):
    """One document."""

    document: Document
    content: None


class MultiGetResult(BaseModel):
    """Documents in order; `errors` has a line for each reference without a document."""

    results: list[Document | Note]
    errors: list[str]
    content: None


_ERRORS = errors(404, 413)


@routes.post("/get", response_model=GetResult, responses=_ERRORS)
async def get(request: Request, body: GetBody) -> Response:
    """Read a document, or some of its lines."""

    def work(index: Index, cancelled: Cancelled) -> GetResult:
        return GetResult(document=operations.get(index, body), content=None)

    return await service(request).read(work)


@routes.post("/multi_get", response_model=MultiGetResult, responses=_ERRORS)
async def multi_get(request: Request, body: MultiGetBody) -> Response:
    """Read several documents. Documents larger than `max_bytes` are named, not read."""

    def item(page: Page | Skipped) -> Document | Note:
        if isinstance(page, Skipped):
            return Note(type="text", text=skipped_text(page, "qmd get"))
        return Document.of(page, line_numbers=body.line_numbers, truncated="[...truncated {} more lines]")

    def work(index: Index, cancelled: Cancelled) -> MultiGetResult:
        pages = operations.multi_get(index, body, cancelled)
        return MultiGetResult(results=[*map(item, pages.items)], errors=list(pages.errors), content=None)

    return await service(request).read(work)
