"""List the authors in the index."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.store.base import Store
from qmd.text.authorship import author_key
from qmd.types import Author


def list_authors(store: Store, collections: Sequence[str]) -> list[Author]:
    """Return the authors of the documents in some collections, sorted by name.

    If documents spell an author's name differently, the first document's spelling is used.
    """
    by_key: dict[str, tuple[str, list[str]]] = {}
    for collection in collections:
        for document in store.documents.listing(collection):
            if document.author:
                _, dates = by_key.setdefault(author_key(document.author), (document.author, []))
                dates.append(document.date)
    authors = [Author(name, len(dates), min(dates), max(dates)) for name, dates in by_key.values()]
    return sorted(authors, key=lambda author: author.name)
