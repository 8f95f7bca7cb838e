"""The operations that HTTP and MCP have in common: each calls the index with validated arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qmd.api.arguments import GetArguments, MultiGetArguments, QueryArguments, SearchArguments
from qmd.api.results import Document, IndexState
from qmd.engine.requests import SearchKind as SearchKind

if TYPE_CHECKING:
    from qmd.engine.documents.library import Pages
    from qmd.engine.index import Index
    from qmd.models.base import Cancelled
    from qmd.types import SearchResponse


def search(
    index: Index, kind: SearchKind, arguments: SearchArguments | QueryArguments, cancelled: Cancelled
) -> tuple[SearchResponse, str | None]:
    """Run a search. Return the response and the time of the index, None if it was never scanned."""
    request = arguments.request()
    response = index.run(kind, request, cancelled=cancelled)
    return response, index.indexed_at(request.collections)


def get(index: Index, arguments: GetArguments) -> Document:
    """Return a document, or some of its lines."""
    page = index.get(arguments.file, from_line=arguments.from_line, max_lines=arguments.max_lines)
    return Document.of(page, line_numbers=arguments.line_numbers)


def multi_get(
    index: Index, arguments: MultiGetArguments, cancelled: Cancelled, *, max_total: int | None = None
) -> Pages:
    """Return the documents that match a pattern or are in a list, up to `max_total` bytes together."""
    return index.multi_get(
        arguments.pattern,
        max_lines=arguments.max_lines,
        max_bytes=arguments.max_bytes,
        cancelled=cancelled,
        max_total=max_total,
    )


def status(index: Index) -> IndexState:
    """Return the state of the index."""
    return IndexState.model_validate(index.status(), from_attributes=True)
