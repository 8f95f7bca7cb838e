"""Checks and cleanups of an index file."""

from __future__ import annotations

import json
from collections.abc import Callable

import apsw

from qmd.errors import BusyError
from qmd.store import base
from qmd.store.sqlite import integrity, postings, structures, titles
from qmd.store.sqlite.blocks import BlockAudit, audit, rebuild
from qmd.store.sqlite.database import SqlitePart
from qmd.store.sqlite.documents import drop_documents, drop_unused_texts
from qmd.store.sqlite.field_rows import drop_unused_values
from qmd.store.sqlite.opening import outdated
from qmd.store.sqlite.vector_sets import drop_other_embedders
from qmd.store.values import IndexFault, OnStep, Retention, Waste, WasteKind
from qmd.types.clock import timestamp

#: Full-text search looks up a term in each segment. A few cost nothing, and merging rewrites all of them.
_SEGMENTS = 4
#: FTS5 keeps the terms of deleted documents until a merge. It lists the documents in rows from this id on.
_TOMBSTONES = 1 << 53
#: The share of unused pages from which the file is rewritten. Later writes fill a smaller share.
_UNUSED_SHARE = 0.05
#: SQLite instructions between two checks for Ctrl-C.
_INSTRUCTIONS = 100_000

#: Queries for the collections and the embedders to keep. Their values are those of `_values`.
_NAMES = "(SELECT value FROM json_each(:names))"
_COLLECTIONS = f"(SELECT id FROM collections WHERE :names IS NULL OR name IN {_NAMES})"
_FINGERPRINTS = "(SELECT value FROM json_each(:embedders))"
_EMBEDDERS = f"(SELECT id FROM embedders WHERE :embedders IS NULL OR fingerprint IN {_FINGERPRINTS})"
#: The texts of collections to keep.
_USED = f"(SELECT content_id FROM documents WHERE collection_id IN {_COLLECTIONS})"


class Upkeep(SqlitePart, base.Upkeep):
    """Finds faults and unneeded data."""

    def waste(self, keep: Retention) -> list[Waste]:
        with self._database.snapshot() as db:
            if problem := outdated(db):
                raise BusyError(*problem)
            result = [Waste(kind, *_count(db, count, keep)) for kind, count, _, _ in _KINDS]
            result.append(Waste("pages", *_unused_pages(db)))
        return [waste for waste in result if waste.count]

    def clear(self, keep: Retention, on_step: OnStep) -> None:
        unneeded = {waste.kind for waste in self.waste(keep)}
        for kind, _, step, drop in _KINDS:
            if kind in unneeded:
                on_step(step)
                with self._database.transaction() as db:
                    drop(db, keep)
        if unneeded:
            with self._database.transaction() as db:
                drop_unused_values(db)
        self._index_again(on_step)
        with self._database.snapshot() as db:
            pages, _ = _unused_pages(db)
        if pages:
            on_step("Rewriting the file")
            self._database.compact()

    def _index_again(self, on_step: OnStep) -> None:
        """Index the words of all documents again, and lay out texts again, if what is stored is of others."""
        with self._database.snapshot() as db:
            differ = postings.differ(db, on_step)
            wrong = structures.count_wrong(db)
        if differ:
            on_step("Indexing the words again")
            with self._database.transaction() as db:
                titles.renew(db, everything=True)
        if wrong:
            on_step("Looking for places again")
            with self._database.transaction() as db:
                structures.drop_wrong(db)
            structures.fill(self._database)

    def faults(self, on_step: OnStep) -> list[IndexFault]:
        with self._database.snapshot() as db:
            # Without it Ctrl-C would have no effect before the end.
            db.set_progress_handler(lambda: False, _INSTRUCTIONS)
            try:
                return list(integrity.check(db, on_step))
            finally:
                db.set_progress_handler(None)


def _values(keep: Retention) -> dict[str, str | None]:
    """Return the values of the queries above."""
    return {
        "names": None if keep.collections is None else json.dumps(keep.collections, ensure_ascii=False),
        "embedders": None if keep.embedders is None else json.dumps(keep.embedders),
        "answers_since": timestamp(keep.answers_since),
    }


_Count = Callable[[apsw.Connection, Retention], tuple[int, int]]
_Drop = Callable[[apsw.Connection, Retention], object]


def _count(db: apsw.Connection, how: str | _Count, keep: Retention) -> tuple[int, int]:
    """Return the number of unneeded items of a kind, and their bytes."""
    number, size = db.execute(how, _values(keep)).get if isinstance(how, str) else how(db, keep)
    return number, size or 0


def _drop_collections(db: apsw.Connection, keep: Retention) -> None:
    query = f"SELECT id FROM collections WHERE id NOT IN {_COLLECTIONS}"
    for (identity,) in list(db.execute(query, _values(keep))):
        drop_documents(db, identity)
        db.execute("DELETE FROM collections WHERE id = ?", (identity,))


def _drop_vectors(db: apsw.Connection, keep: Retention) -> None:
    if keep.embedders is not None:
        drop_other_embedders(db, keep.embedders)


def _uneven_blocks(db: apsw.Connection, keep: Retention) -> list[BlockAudit]:
    """Return audits of collections to keep whose blocks have unused slots or miss chunks."""
    query = f"SELECT e.id, c.id FROM {_EMBEDDERS} e CROSS JOIN {_COLLECTIONS} c"
    kept = set(db.execute(query, _values(keep)))
    return [
        result
        for result in audit(db)
        if (result.empty or not result.is_consistent) and (result.embedder, result.collection) in kept
    ]


def _count_slots(db: apsw.Connection, keep: Retention) -> tuple[int, int]:
    audits = _uneven_blocks(db, keep)
    count = sum(result.empty + result.unknown + result.missing for result in audits)
    return count, sum(result.wasted_bytes for result in audits)


def _rebuild_blocks(db: apsw.Connection, keep: Retention) -> None:
    for collection in {result.collection for result in _uneven_blocks(db, keep)}:
        rebuild(db, collection)


def _count_segments(db: apsw.Connection, keep: Retention) -> tuple[int, int]:
    segments = db.execute("SELECT count(DISTINCT segid) FROM documents_fts_idx").get
    deletions = db.execute("SELECT count(*) FROM documents_fts_data WHERE id >= ?", (_TOMBSTONES,)).get
    return (segments, 0) if segments > _SEGMENTS or deletions else (0, 0)


def _unused_pages(db: apsw.Connection) -> tuple[int, int]:
    unused, pages = int(db.pragma("freelist_count")), int(db.pragma("page_count"))
    if unused < _UNUSED_SHARE * pages:
        return 0, 0
    return unused, unused * int(db.pragma("page_size"))


#: Queries for the number and the bytes of unneeded rows.
_ANSWERS = (
    "SELECT count(*), sum(octet_length(key) + octet_length(value)) FROM llm_cache "
    "WHERE created_at < :answers_since"
)
_DOCUMENTS = (
    "SELECT count(*), sum(octet_length(path) + octet_length(title)) FROM documents "
    f"WHERE collection_id NOT IN {_COLLECTIONS}"
)
_TEXTS = (
    "SELECT count(*), coalesce(sum(bytes), 0) + (SELECT coalesce(sum(octet_length(vector)), 0) "
    f"FROM content_vectors WHERE content_id NOT IN {_USED}) FROM contents WHERE id NOT IN {_USED}"
)
_VECTORS = (
    "SELECT count(*), coalesce(sum(octet_length(vector)), 0) + (SELECT "
    "coalesce(sum(octet_length(ids) + octet_length(scales) + octet_length(codes)), 0) FROM vectors_vec "
    f"WHERE embedder_id NOT IN {_EMBEDDERS}) FROM content_vectors "
    f"WHERE embedder_id NOT IN {_EMBEDDERS} AND content_id IN {_USED}"
)

_DROP_ANSWERS = "DELETE FROM llm_cache WHERE created_at < :answers_since"
_MERGE = "INSERT INTO documents_fts(documents_fts) VALUES ('optimize')"
#: Each kind: how to count it, its name, and how to drop it. Later steps also drop data that earlier ones
#: made unused.
_KINDS: tuple[tuple[WasteKind, str | _Count, str, _Drop], ...] = (
    ("answers", _ANSWERS, "Deleting old answers", lambda db, keep: db.execute(_DROP_ANSWERS, _values(keep))),
    ("documents", _DOCUMENTS, "Dropping documents", _drop_collections),
    ("texts", _TEXTS, "Dropping texts", lambda db, _: drop_unused_texts(db)),
    ("vectors", _VECTORS, "Dropping vectors", _drop_vectors),
    ("slots", _count_slots, "Rebuilding vector blocks", _rebuild_blocks),
    ("segments", _count_segments, "Merging the full-text index", lambda db, _: db.execute(_MERGE)),
)
