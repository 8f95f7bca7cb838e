"""Scopes as SQL: a collection's documents are one range of ids; authors and dates are columns of theirs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from qmd.store.base import Scope
from qmd.store.sqlite.schema import COLLECTION_SHIFT
from qmd.text.authorship import author_key

#: A filter that lets no more documents through than this is a list of them.
FEW = 2_000


@dataclass(frozen=True, slots=True)
class Within:
    """The documents of a scope, by their collections' ids and by conditions on their columns.

    `few` lists their ids in order, where a filter lets few through.
    """

    collections: tuple[int, ...]
    filters: tuple[tuple[str, str], ...] = ()
    few: tuple[int, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no document can be in it."""
        return not self.collections or self.few == ()


def within(scope: Scope, collections: Sequence[int]) -> Within:
    """The documents of a scope whose collections have these ids; nothing is looked up."""
    filters: list[tuple[str, str]] = []
    if scope.author is not None:
        filters.append(("author_key = ?", author_key(scope.author)))
    if scope.after is not None:
        filters.append(("date >= ?", scope.after))
    if scope.before is not None:
        filters.append(("date < ?", scope.before))
    return Within(tuple(sorted(collections)), tuple(filters))


def ranges(collection_ids: Sequence[int]) -> list[tuple[int, int]]:
    """The id ranges of collections, both ends included; neighbours are merged."""
    merged: list[tuple[int, int]] = []
    for collection in sorted(collection_ids):
        low, high = collection << COLLECTION_SHIFT, ((collection + 1) << COLLECTION_SHIFT) - 1
        if merged and merged[-1][1] + 1 == low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged


def condition(scope: Within, table: str = "documents") -> tuple[str, tuple[int | str, ...]]:
    """`AND …` on the documents of `table`, with its values; never a reason to choose an index for filters."""
    clause, ids = _in_ranges(scope, f"{table}.id")
    filters = "".join(f" AND +{table}.{each}" for each, _ in scope.filters)
    return clause + filters, (*ids, *(value for _, value in scope.filters))


def row_condition(scope: Within) -> tuple[str, tuple[int | str, ...]]:
    """The same for the rows of full-text search. One range reaches into FTS5 itself, so it costs nothing."""
    if scope.few:
        return (
            "AND rowid BETWEEN ? AND ? AND +rowid IN (SELECT value FROM json_each(?))",
            (scope.few[0], scope.few[-1], json.dumps(scope.few)),
        )
    clause, ids = _in_ranges(scope, "rowid")
    if not scope.filters:
        return clause, ids
    # A value, not EXISTS: nothing but FTS5 may lead here.
    passes = " AND ".join(f"f.{each}" for each, _ in scope.filters)
    return (
        f"{clause} AND (SELECT {passes} FROM documents f WHERE f.id = documents_fts.rowid)",
        (*ids, *(value for _, value in scope.filters)),
    )


def narrowed(db: apsw.Connection, scope: Within) -> Within:
    """The same documents, as a list where a filter lets few through."""
    if not scope.filters or not scope.collections:
        return scope
    rows = [row[0] for row in db.execute(*passing(scope, "d.id", limit=FEW + 1))]
    return scope if len(rows) > FEW else Within(scope.collections, scope.filters, tuple(sorted(rows)))


def passing(scope: Within, columns: str, joined: str = "", limit: int = -1) -> tuple[str, tuple[str, ...]]:
    """A query for the documents `d` that filters let through, found by the index for the filters."""
    index = "documents_author" if scope.filters[0][0].startswith("author_key") else "documents_date"
    collections = ", ".join(map(str, scope.collections))
    filters = "".join(f" AND d.{each}" for each, _ in scope.filters)
    return (
        f"SELECT {columns} FROM documents d INDEXED BY {index} {joined} "
        f"WHERE d.collection_id IN ({collections}){filters} LIMIT {limit}",
        tuple(value for _, value in scope.filters),
    )


def _in_ranges(scope: Within, column: str) -> tuple[str, tuple[int, ...]]:
    found = ranges(scope.collections)
    if not found:
        return "AND 0", ()
    parts = " OR ".join(f"{column} BETWEEN ? AND ?" for _ in found)
    return f"AND ({parts})", tuple(end for pair in found for end in pair)
