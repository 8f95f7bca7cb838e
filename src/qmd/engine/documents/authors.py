"""Whose documents there are."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.store.base import Store
from qmd.text.authorship import author_key
from qmd.types import Author


def gather(store: Store, collections: Sequence[str]) -> list[Author]:
    """The authors of some collections' documents, by name, each as the first of their documents spells it."""
    found: dict[str, tuple[str, list[str]]] = {}
    for collection in collections:
        for document in store.listing(collection):
            if document.author:
                _, dates = found.setdefault(author_key(document.author), (document.author, []))
                dates.append(document.date)
    authors = [Author(name, len(dates), min(dates), max(dates)) for name, dates in found.values()]
    return sorted(authors, key=lambda author: author.name)
