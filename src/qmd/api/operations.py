"""The operations that HTTP, MCP and the page have in common: each calls the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from qmd.api.arguments import GetArguments, MultiGetArguments, QueryArguments, SearchArguments
from qmd.api.results import (
    OVERVIEW_FIELDS,
    OVERVIEW_TAGS,
    OVERVIEW_VALUES,
    CollectionState,
    Document,
    IndexOverview,
    IndexState,
    LinkLists,
)
from qmd.engine.deadline import Deadline as Deadline
from qmd.engine.documents.library import Page as Page
from qmd.engine.requests import SearchKind as SearchKind
from qmd.engine.requests import SearchRequest
from qmd.errors import UsageError
from qmd.text.predicates import TAG

if TYPE_CHECKING:
    from qmd import types
    from qmd.engine.documents.library import Pages
    from qmd.engine.index import Index
    from qmd.engine.indexing.scan import OnProgress
    from qmd.engine.indexing.scan import ScanReport as ScanReport
    from qmd.engine.models.usage import ModelUse as ModelUse
    from qmd.models.base import Cancelled
    from qmd.types import ResolvedLink, SearchResponse


def search(
    index: Index,
    kind: SearchKind,
    arguments: SearchArguments | QueryArguments | SearchRequest,
    cancelled: Cancelled,
) -> tuple[SearchResponse, str | None]:
    """Run a search. Return the response and the time of the index, None if it was never scanned."""
    request = arguments if isinstance(arguments, SearchRequest) else arguments.request()
    # Before the search, which does not show changes that are indexed meanwhile.
    indexed_at = index.indexed_at(request.collections)
    return index.run(kind, request, cancelled=cancelled), indexed_at


class Reading(Struct, frozen=True):
    """A whole document with everything that is shown beside it.

    Attributes:
        page: The document and its text.
        links: Its links.
        backlinks: The links of other documents to it.
        fields: Its fields.
        indexed_at: The time of the index.
    """

    page: Page
    links: Sequence[ResolvedLink]
    backlinks: Sequence[ResolvedLink]
    fields: Mapping[str, tuple[str | float | bool, ...]]
    indexed_at: str | None


class Overview(Struct, frozen=True):
    """What there is to search: the collections with their documents, recent documents, and tags."""

    collections: Mapping[str, int]
    recent: Sequence[types.Document]
    tags: Sequence[types.ValueCount]
    indexed_at: str | None


def read(index: Index, reference: str) -> Reading:
    """Return a whole document with its links and fields. Raises as `Index.get`."""
    indexed_at = index.indexed_at()
    page = index.get(reference)
    file = page.document.file
    return Reading(page, *index.link_lists(file), index.fields_of([file]).get(file, {}), indexed_at)


def browse(index: Index, *, recent: int, tags: int) -> Overview:
    """Return the collections, the documents that changed last, and the first tags of the highest level."""
    state = status(index)
    collections = {each.name: each.documents for each in state.collections}
    top = [tag for tag in index.tags([*collections]) if "/" not in str(tag.value)] if collections else []
    return Overview(collections, index.recent(recent), top[:tags], state.indexed_at)


def require_absolute(path: str) -> None:
    """Raise `UsageError` if a path is relative, because clients do not know the folder of the server."""
    if not path.startswith(("/", "~")):
        raise UsageError(f"path: {path} is relative", "give an absolute path on the server's machine")


def add_collection(
    index: Index,
    path: str,
    name: str | None,
    pattern: str | None,
    on_progress: OnProgress,
    *,
    formats: Sequence[str] = (),
) -> ScanReport:
    """Add a folder of the server's machine and scan it. Raises `UsageError` if its path is relative."""
    require_absolute(path)
    return index.add_collection(path, name, pattern=pattern, formats=formats, on_progress=on_progress)


def get(index: Index, arguments: GetArguments) -> Document:
    """Return a document, or some of its lines."""
    page = index.get(arguments.file, from_line=arguments.from_line, max_lines=arguments.max_lines)
    return Document.of(page, line_numbers=arguments.line_numbers)


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
    indexed_at = index.indexed_at()
    status = index.status()
    return IndexState(
        total_documents=status.total_documents,
        needs_embedding=status.needs_embedding,
        has_vector_index=status.has_vector_index,
        watching=status.watching,
        indexed_at=indexed_at,
        collections=[
            CollectionState.model_validate(each, from_attributes=True) for each in status.collections
        ],
    )


def overview(index: Index) -> IndexOverview:
    """Return the state of the index with its most frequent fields and tags."""
    fields = index.fields(values=OVERVIEW_VALUES, detailed=OVERVIEW_FIELDS)
    tagged = any(field.summary.name == TAG for field in fields)
    tags = index.field_values(TAG, limit=OVERVIEW_TAGS).values if tagged else ()
    return IndexOverview.of(status(index), fields[:OVERVIEW_FIELDS], tags)
