"""Scopes as SQL conditions. The documents of a collection have one range of ids; filters compare columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from qmd.errors import CollectionNotFoundError
from qmd.store.base import Scope
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.schema import COLLECTION_SHIFT
from qmd.text.authorship import author_key

#: The most documents that a filter lists by id.
MAX_LISTED = 2_000


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """The documents of a scope.

    Attributes:
        collections: Ids of the collections.
        filters: Conditions on columns, each with its value.
        ids: Sorted ids of all matching documents, if they are few; see `with_ids`.
    """

    collections: tuple[int, ...]
    filters: tuple[tuple[str, str], ...] = ()
    ids: tuple[int, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no document can match."""
        return not self.collections or self.ids == ()


def collection_ids(database: Database, names: Sequence[str]) -> list[int]:
    """Return the ids of collections, without collections that were never indexed."""
    with database.errors():
        ids = dict(database.connection().execute("SELECT name, id FROM collections"))
    return [ids[name] for name in names if name in ids]


def collection_id(database: Database, name: str) -> int:
    """Return the id of a collection.

    Raises:
        CollectionNotFoundError: If the index has no such collection.
    """
    ids = collection_ids(database, [name])
    if not ids:
        raise CollectionNotFoundError(f"no such collection in the index: {name}", "run 'qmd index' first")
    return ids[0]


def filter_of(database: Database, scope: Scope) -> DocumentFilter:
    """Return the filter for the documents of a scope."""
    filters: list[tuple[str, str]] = []
    if scope.author is not None:
        filters.append(("author_key = ?", author_key(scope.author)))
    if scope.after is not None:
        filters.append(("date >= ?", scope.after))
    if scope.before is not None:
        filters.append(("date < ?", scope.before))
    return DocumentFilter(tuple(sorted(collection_ids(database, scope.collections))), tuple(filters))


def ranges(collections: Sequence[int]) -> list[tuple[int, int]]:
    """Return the id ranges of collections, both ends included. Adjacent ranges are merged."""
    merged: list[tuple[int, int]] = []
    for collection in sorted(collections):
        low, high = collection << COLLECTION_SHIFT, ((collection + 1) << COLLECTION_SHIFT) - 1
        if merged and merged[-1][1] + 1 == low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged


def condition(documents: DocumentFilter, table: str = "documents") -> tuple[str, tuple[int | str, ...]]:
    """Return `AND …` on the documents of `table`, and its values. It uses no index for the filters."""
    clause, ids = _in_ranges(documents, f"{table}.id")
    filters = "".join(f" AND +{table}.{comparison}" for comparison, _ in documents.filters)
    return clause + filters, (*ids, *(value for _, value in documents.filters))


def row_condition(documents: DocumentFilter) -> tuple[str, tuple[int | str, ...]]:
    """Return `AND …` on the rows of full-text search. FTS5 itself applies a single range at no cost."""
    if documents.ids:
        return (
            "AND rowid BETWEEN ? AND ? AND +rowid IN (SELECT value FROM json_each(?))",
            (documents.ids[0], documents.ids[-1], json.dumps(documents.ids)),
        )
    clause, ids = _in_ranges(documents, "rowid")
    if not documents.filters:
        return clause, ids
    # A scalar subquery instead of EXISTS, so that the planner always starts from FTS5.
    passes = " AND ".join(f"f.{comparison}" for comparison, _ in documents.filters)
    return (
        f"{clause} AND (SELECT {passes} FROM documents f WHERE f.id = documents_fts.rowid)",
        (*ids, *(value for _, value in documents.filters)),
    )


def with_ids(db: apsw.Connection, documents: DocumentFilter) -> DocumentFilter:
    """Return the same filter, with the ids of its documents if there are at most `MAX_LISTED`."""
    if not documents.filters or not documents.collections:
        return documents
    rows = [row[0] for row in db.execute(*select(documents, "d.id", limit=MAX_LISTED + 1))]
    if len(rows) > MAX_LISTED:
        return documents
    return DocumentFilter(documents.collections, documents.filters, tuple(sorted(rows)))


def select(
    documents: DocumentFilter, columns: str, joined: str = "", limit: int = -1
) -> tuple[str, tuple[str, ...]]:
    """Return a query for the documents `d` of a filter with conditions, through their index."""
    index = "documents_author" if documents.filters[0][0].startswith("author_key") else "documents_date"
    collections = ", ".join(map(str, documents.collections))
    filters = "".join(f" AND d.{comparison}" for comparison, _ in documents.filters)
    return (
        f"SELECT {columns} FROM documents d INDEXED BY {index} {joined} "
        f"WHERE d.collection_id IN ({collections}){filters} LIMIT {limit}",
        tuple(value for _, value in documents.filters),
    )


def _in_ranges(documents: DocumentFilter, column: str) -> tuple[str, tuple[int, ...]]:
    pairs = ranges(documents.collections)
    if not pairs:
        return "AND 0", ()
    parts = " OR ".join(f"{column} BETWEEN ? AND ?" for _ in pairs)
    return f"AND ({parts})", tuple(end for pair in pairs for end in pair)
