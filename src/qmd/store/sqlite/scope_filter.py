"""Scopes as SQL conditions. The documents of a collection have one range of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw
from msgspec import Struct
from msgspec.structs import replace

from qmd.errors import CollectionNotFoundError
from qmd.store.records import Bound
from qmd.store.sqlite.conditions import Condition, compile_predicate
from qmd.store.sqlite.database import EMBEDDER, LISTED, Database, listed
from qmd.store.sqlite.schema import COLLECTION_SHIFT
from qmd.store.values import Scope

#: The most documents that a filter lists by id.
MAX_LISTED = 2_000


class DocumentFilter(Struct, frozen=True):
    """The documents of a scope.

    Attributes:
        collections: Ids of the collections.
        where: The condition on the fields of a document; None if there is none.
        ids: Sorted ids of all matching documents, if they are few; see `with_ids`.
    """

    collections: tuple[int, ...]
    where: Condition | None = None
    ids: tuple[int, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """True if no document can match."""
        return not self.collections or self.ids == ()


#: The names and the ids of all collections.
COLLECTIONS = "SELECT name, id FROM collections"


def collection_ids(database: Database, names: Sequence[str]) -> list[int]:
    """Return the ids of collections, without collections that were never indexed."""
    ids = dict(database.once(COLLECTIONS))
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
    collections = tuple(sorted(collection_ids(database, scope.collections)))
    if scope.where is None:
        return DocumentFilter(collections)
    with database.errors():
        return DocumentFilter(collections, compile_predicate(database.connection(), scope.where))


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


def condition(documents: DocumentFilter, table: str = "documents") -> tuple[str, tuple[Bound, ...]]:
    """Return `AND …` on the documents of `table`, and its values. It uses no index for the filter."""
    clause, ids = _in_ranges(documents, f"{table}.id")
    where = documents.where
    return (clause, ids) if where is None else (f"{clause} AND {where.on(table)}", (*ids, *where.values))


def within(database: Database, scope: Scope) -> tuple[str, tuple[Bound, ...]]:
    """Return `AND …` on the documents `d` of a scope, and its values."""
    return condition(filter_of(database, scope), "d")


def row_condition(documents: DocumentFilter) -> tuple[str, tuple[Bound, ...]]:
    """Return `AND …` on the rows of full-text search. FTS5 itself applies a single range at no cost."""
    if documents.ids:
        return (
            f"AND rowid BETWEEN ? AND ? AND +rowid IN {LISTED}",
            (documents.ids[0], documents.ids[-1], listed(documents.ids)),
        )
    clause, ids = _in_ranges(documents, "rowid")
    where = documents.where
    if where is None:
        return clause, ids
    # A scalar subquery, so that the planner always starts from FTS5.
    on_id = where.on_id("+documents_fts.rowid")
    checked = on_id or f"(SELECT {where.on('f')} FROM documents f WHERE f.id = documents_fts.rowid)"
    return f"{clause} AND {checked}", (*ids, *where.values)


def with_ids(db: apsw.Connection, documents: DocumentFilter) -> DocumentFilter:
    """Return the same filter, with the ids of its documents if they are at most `MAX_LISTED`.

    They are listed only if an index finds them, because a list does not pay for reading all documents.
    """
    where = documents.where
    if where is None or not documents.collections or not (where.dated or where.rare is not None):
        return documents
    if where.rare is not None:
        if len(where.rare) > MAX_LISTED:
            return documents
        # Reading the index alone is much faster than checking the documents.
        clause, values = _in_ranges(documents, "document_id")
        entries = (
            f"SELECT document_id FROM document_fields WHERE value_id IN ({_listed(where.rare)}) {clause} "
            f"LIMIT {MAX_LISTED + 1}"
        )
        if db.execute(f"SELECT count(*) FROM ({entries})", values).get > MAX_LISTED:
            return documents
        if where.exact:
            return replace(documents, ids=tuple(sorted({row[0] for row in db.execute(entries, values)})))
    rows = {row[0] for row in db.execute(*select(documents, "d.id", limit=MAX_LISTED + 1))}
    if len(rows) > MAX_LISTED:
        return documents
    return replace(documents, ids=tuple(sorted(rows)))


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def select(
    documents: DocumentFilter, columns: str, joined: str = "", limit: int = -1
) -> tuple[str, tuple[Bound, ...]]:
    """Return a query for the documents `d` of a filter with a condition, through an index if one helps."""
    where = documents.where
    assert where is not None
    clause, ids = _in_ranges(documents, "d.id")
    if where.rare is not None:
        source = (
            "(SELECT DISTINCT document_id FROM document_fields "
            f"WHERE value_id IN ({_listed(where.rare)})) found "
            "CROSS JOIN documents d ON d.id = found.document_id"
        )
    elif where.dated:
        source = "documents d INDEXED BY documents_date"
        clause = f"AND d.collection_id IN ({_listed(documents.collections)})"
        ids = ()
    else:
        source = "documents d"
    return (
        f"SELECT {columns} FROM {source} {joined} WHERE 1 {clause} AND {where.on('d')} LIMIT {limit}",
        (*ids, *where.values),
    )


def _in_ranges(documents: DocumentFilter, column: str) -> tuple[str, tuple[Bound, ...]]:
    pairs = ranges(documents.collections)
    if not pairs:
        return "AND 0", ()
    parts = " OR ".join(f"{column} BETWEEN ? AND ?" for _ in pairs)
    return f"AND ({parts})", tuple(end for pair in pairs for end in pair)


def block_versions(database: Database, embedder: str, scope: Scope) -> Iterator[tuple[int, int, int]]:
    """Yield (collection, id, version) of the blocks of a scope, by the fingerprint of their embedder."""
    for collection in collection_ids(database, scope.collections):
        yield from database.rows(
            "SELECT collection_id, id, version FROM vectors_vec "
            f"WHERE collection_id = ? AND embedder_id = {EMBEDDER} ORDER BY id",
            (collection, embedder),
        )
