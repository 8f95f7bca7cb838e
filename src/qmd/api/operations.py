"""The operations that HTTP and MCP have in common: each calls the index with validated arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qmd.api.arguments import GetArguments, MultiGetArguments, QueryArguments, SearchArguments
from qmd.api.results import (
    OVERVIEW_FIELDS,
    OVERVIEW_TAGS,
    OVERVIEW_VALUES,
    Document,
    IndexOverview,
    IndexState,
    LinkedDocument,
    LinkLists,
)
from qmd.engine.requests import SearchKind as SearchKind
from qmd.text.predicates import TAG

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
    # Before the search, which does not show changes that are indexed meanwhile.
    indexed_at = index.indexed_at(request.collections)
    return index.run(kind, request, cancelled=cancelled), indexed_at


def get(index: Index, arguments: GetArguments) -> Document:
    """Return a document, or some of its lines."""
    page = index.get(arguments.file, from_line=arguments.from_line, max_lines=arguments.max_lines)
    return Document.of(page, line_numbers=arguments.line_numbers)


def get_linked(index: Index, arguments: GetArguments, limit: int) -> LinkedDocument:
    """Return a document, or some of its lines, with up to `limit` of its links and of those to it."""
    document = get(index, arguments)
    return LinkedDocument.of(*index.link_lists(document.name), limit, document=document)


def links(index: Index, reference: str, limit: int) -> LinkLists:
    """Return up to `limit` links of a document, and of those to it."""
    return LinkLists.of(*index.link_lists(reference), limit)


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


def overview(index: Index) -> IndexOverview:
    """Return the state of the index with its most frequent fields and tags."""
    fields = index.fields(values=OVERVIEW_VALUES, detailed=OVERVIEW_FIELDS)
    tagged = any(field.summary.name == TAG for field in fields)
    tags = index.field_values(TAG, limit=OVERVIEW_TAGS).values if tagged else ()
    return IndexOverview.of(status(index), fields[:OVERVIEW_FIELDS], tags)
