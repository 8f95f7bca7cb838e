"""The parts of documents and of the index that the page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from qmd import types
from qmd.api.operations import state_of
from qmd.engine.documents.library import at_once
from qmd.engine.documents.pages import Page
from qmd.engine.index import Index
from qmd.errors import AmbiguousReferenceError, ConfigError, ForbiddenError
from qmd.sources.formats.registry import BUILTIN
from qmd.text.dates import stated
from qmd.types import ResolvedLink


class Reading(Struct, frozen=True):
    """A whole document with everything that the page shows beside it.

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
    """An overview of an index: the collections with their documents, how changes are noticed, and more.

    `size` is the number of bytes of the indexed files. `recent` are the documents that changed last, or those
    with the latest dates if all files were written at once, which `dated` tells. `pinned` has the titles and
    queries of documents. `waiting` tells whether texts have no vectors yet.
    """

    collections: Mapping[str, int]
    documents: int
    size: int
    watching: str
    recent: Sequence[types.Document]
    dated: bool
    pinned: Mapping[str, tuple[str, str]]
    tags: Sequence[types.ValueCount]
    indexed_at: str | None
    waiting: bool


def read(index: Index, reference: str) -> Reading:
    """Return a whole document with its links and fields. Raises as `Index.get`."""
    indexed_at = index.indexed_at()
    page = index.get(reference)
    file = page.document.file
    return Reading(page, *index.link_lists(file), index.fields_of([file]).get(file, {}), indexed_at)


def is_file(index: Index, text: str) -> bool:
    """Return whether a text is the whole path of a document."""
    try:
        return text in index.titles_of([text])
    except AmbiguousReferenceError:
        return False


def browse(index: Index, *, recent: int, tags: int) -> Overview:
    """Return the collections, the documents that changed last, pinned ones, and tags of the highest level."""
    state = state_of(index)
    collections = {each.name: each.documents for each in state.collections}
    top = [tag for tag in index.tags([*collections]) if "/" not in str(tag.value)] if collections else []
    documents = index.recent(recent)
    return Overview(
        collections,
        state.total_documents,
        sum(each.bytes for each in index.collection_statuses()),
        state.watching,
        documents,
        _dated(documents),
        _pinned(index, recent),
        top[:tags],
        state.indexed_at,
        state.needs_embedding > 0,
    )


def _dated(documents: Sequence[types.Document]) -> bool:
    """Return whether documents are in the order of their dates, not of the times of their files."""
    times = [document.modified_ns for document in documents]
    dated = any(stated(document.date, document.modified_ns) for document in documents)
    return dated and (at_once(documents) or times != sorted(times, reverse=True))


def _pinned(index: Index, limit: int) -> dict[str, tuple[str, str]]:
    """Return the title and the query of documents that are pinned; none if the caller may not list them."""
    try:
        queries = {mark.file: mark.query for mark in index.marks() if mark.kind == "pin" and mark.indexed}
    except (ConfigError, ForbiddenError):
        return {}
    titles = index.titles_of([*queries][:limit])
    return {file: (title, queries[file]) for file, title in titles.items() if file in queries}


def installed_formats() -> list[str]:
    """Return the names of the formats whose packages are installed."""
    return [name for name, row in BUILTIN.items() if not row.missing]
