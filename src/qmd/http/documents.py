"""`/get` and `/multi_get` (H23, H24)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from qmd.api import results
from qmd.api.arguments import GetArguments, MultiGetArguments
from qmd.engine.documents.library import Page, Pages, Skipped
from qmd.engine.index import Index
from qmd.http.dependencies import service
from qmd.http.errors import errors
from qmd.http.routing import Body, example, router
from qmd.models.base import Cancelled

routes = router()


class GetBody(GetArguments, Body):
    """Which document: a path, the end of one, a `qmd://` address, a docid; each may end in `:from:count`."""

    model_config = example(file="notes/ops/deploy.md", max_lines=20)


class MultiGetBody(MultiGetArguments, Body):
    """Which documents: a glob over paths, or a comma-separated list of what `/get` takes."""

    model_config = example(pattern="notes/**/*.md")


class Document(BaseModel):
    """A document, as MCP has it."""

    uri: str
    name: str
    title: str
    mimeType: str  # noqa: N815 - as the clients of both expect
    text: str


class Note(BaseModel):
    """What stands in the place of a document that was too large."""

    type: Literal["text"]
    text: str


class Got(BaseModel):
    """One document."""

    document: Document
    content: None


class GotMany(BaseModel):
    """Documents in order; `errors` are the names that could not be had, a line each."""

    results: list[Document | Note]
    errors: list[str]
    content: None


_ERRORS = errors(404, 413)


@routes.post("/get", response_model=Got, responses=_ERRORS)
async def get(request: Request, body: GetBody) -> Response:
    """Read a document, or some of its lines."""

    def work(index: Index, cancelled: Cancelled) -> Got:
        page = index.get(body.file, from_line=body.from_line, max_lines=body.max_lines)
        shown = results.page_text(page, line_numbers=body.line_numbers)
        return Got(document=_document(page, shown), content=None)

    return await service(request).read(work)


@routes.post("/multi_get", response_model=GotMany, responses=_ERRORS)
async def multi_get(request: Request, body: MultiGetBody) -> Response:
    """Read several documents. Those above `max_bytes` are named, not read."""

    def work(index: Index, cancelled: Cancelled) -> GotMany:
        pages = index.multi_get(
            body.pattern, max_lines=body.max_lines, max_bytes=body.max_bytes, cancelled=cancelled
        )
        return _documents(pages, line_numbers=body.line_numbers)

    return await service(request).read(work)


def _documents(pages: Pages, *, line_numbers: bool) -> GotMany:
    shown: list[Document | Note] = []
    for item in pages.items:
        if isinstance(item, Skipped):
            shown.append(Note(type="text", text=results.skipped(item, "qmd get")))
        else:
            text = results.page_text(item, line_numbers=line_numbers)
            cut = f"\n\n[...truncated {item.more} more lines]" if item.more else ""
            shown.append(_document(item, text + cut))
    return GotMany(results=shown, errors=list(pages.errors), content=None)


def _document(page: Page, text: str) -> Document:
    return Document(**results.resource(page, text))
