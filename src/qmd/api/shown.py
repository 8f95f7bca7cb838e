"""The parts of documents and of the index that the page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from qmd import types
from qmd.api.operations import state_of
from qmd.engine.documents.pages import Page
from qmd.engine.index import Index
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
    """An overview of an index: the collections with their documents, how changes are noticed, and more."""

    collections: Mapping[str, int]
    documents: int
    watching: str
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
    state = state_of(index)
    collections = {each.name: each.documents for each in state.collections}
    top = [tag for tag in index.tags([*collections]) if "/" not in str(tag.value)] if collections else []
    return Overview(
        collections, state.total_documents, state.watching, index.recent(recent), top[:tags], state.indexed_at
    )
