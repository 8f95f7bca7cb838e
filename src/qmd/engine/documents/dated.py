"""Where the dates of documents come from, and dates that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.text.predicates import Comparison
from qmd.text.values import DATE_ORIGIN, UNREAD, shown
from qmd.types import Config

#: The origins as people read them; "" stands for documents of an earlier version that are not read again yet.
ORIGINS: Mapping[str, str] = {
    "text": "in their text",
    "name": "in their name",
    "git": "of their last commit in git",
    "file": "of their file",
    "": "as an earlier version found it",
}


def origins(store: Store, config: Config, total: int) -> dict[str, int]:
    """Return how many documents have a date of which origin, of `total` documents."""
    found = {
        shown(each.value): each.documents
        for each in store.fields.values(Scope((*config.collections,)), DATE_ORIGIN, len(ORIGINS))
    }
    counts = {origin: found.get(origin, 0) for origin in ORIGINS if origin}
    counts[""] = max(0, total - sum(counts.values()))
    return {origin: count for origin, count in counts.items() if count}


def unread_dates(store: Store, config: Config) -> int:
    """Return how many documents have a date that cannot be read."""
    if not store.fields.existing([*config.collections], [UNREAD]):
        return 0
    return store.fields.count(Scope((*config.collections,), Comparison(UNREAD, "exists")))


def with_unread_dates(store: Store, config: Config, limit: int) -> Iterator[tuple[str, str]]:
    """Yield (display path, property) of dates that cannot be read, of at most `limit` documents."""
    if not unread_dates(store, config):
        return
    ids = store.fields.newest(Scope((*config.collections,), Comparison(UNREAD, "exists")), limit)
    documents, fields = store.documents.by_id(ids), store.fields.of(ids)
    for identity in ids:
        for value in fields.get(identity, {}).get(UNREAD, ()):
            if identity in documents:
                yield documents[identity].file, shown(value)
