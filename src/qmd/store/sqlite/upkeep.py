"""Checks and cleanups of an index file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import apsw

from qmd.store.base import Fault, Keep, OnPages, OnStep, Waste, WasteKind
from qmd.store.records import timestamp
from qmd.store.sqlite.blocks import Audit, audit, rebuild
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.documents import drop_documents, drop_unused_texts
from qmd.store.sqlite.vector_sets import drop_other_embedders, other_embedders

#: Full-text search looks up a term in each segment. A few cost nothing, and merging rewrites all of them.
_SEGMENTS = 4
#: FTS5 keeps the terms of deleted documents until a merge. It lists the documents in rows from this id on.
_TOMBSTONES = 1 << 53
#: The share of unused pages from which the file is rewritten. Later writes fill a smaller share.
_UNUSED_SHARE = 0.05
#: SQLite instructions between two checks for Ctrl-C.
_INSTRUCTIONS = 100_000

_STEPS: dict[WasteKind, str] = {
    "answers": "Deleting old answers",
    "documents": "Dropping documents",
    "texts": "Dropping texts",
    "vectors": "Dropping vectors",
    "slots": "Rebuilding vector blocks",
    "segments": "Merging the full-text index",
    "pages": "Rewriting the file",
}


class Upkeep:
    """Finds faults and unneeded data, and makes backups."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waste(self, keep: Keep) -> list[Waste]:
        """Return the data that the index does not need, by kind, without empty kinds."""
        with self._database.snapshot() as db:
            result = [Waste(kind, *count(db, keep)) for kind, (count, _) in _KINDS.items()]
            result.append(Waste("pages", *_unused_pages(db)))
        return [waste for waste in result if waste.count]

    def clear(self, keep: Keep, on_step: OnStep) -> None:
        """Delete the data that `waste` returns, one kind at a time, and return the space to the disk."""
        for waste in self.waste(keep):
            if waste.kind in _KINDS:
                on_step(_STEPS[waste.kind])
                with self._database.transaction() as db:
                    _KINDS[waste.kind][1](db, keep)
        with self._database.snapshot() as db:
            pages, _ = _unused_pages(db)
        if pages:
            on_step(_STEPS["pages"])
            self._database.compact()

    def backup(self, path: str, notes: Mapping[str, bytes], on_pages: OnPages) -> None:
        """Copy the current state of the index to a new file, with notes, and check the copy."""
        from qmd.store.sqlite import backup

        backup.make(self._database, path, notes, on_pages)

    def faults(self, on_step: OnStep) -> list[Fault]:
        """Read the whole index and return its inconsistencies. Nothing is changed."""
        from qmd.store.sqlite import integrity

        with self._database.snapshot() as db:
            # Without it Ctrl-C would have no effect before the end.
            db.set_progress_handler(lambda: False, _INSTRUCTIONS)
            try:
                return list(integrity.check(db, on_step))
            finally:
                db.set_progress_handler(None)


# -- waste -------------------------------------------------------------------------------------------------


def _kept(keep: Keep) -> tuple[str, tuple[str, ...]]:
    """Return a condition for the collections to keep, and its values."""
    if keep.collections is None:
        return "1", ()
    return "name IN (SELECT value FROM json_each(?))", (json.dumps(keep.collections, ensure_ascii=False),)


def _used(keep: Keep) -> tuple[str, tuple[str, ...]]:
    """Return a query for the texts of collections to keep, and its values."""
    where, values = _kept(keep)
    collections = f"SELECT id FROM collections WHERE {where}"
    return f"(SELECT content_id FROM documents WHERE collection_id IN ({collections}))", values


def _counted(db: apsw.Connection, query: str, values: tuple[str, ...]) -> tuple[int, int]:
    """Return the result of a query for a number of rows and their bytes."""
    count, size = db.execute(query, values).fetchone() or (0, 0)
    return int(count), int(size or 0)


def _count_answers(db: apsw.Connection, keep: Keep) -> tuple[int, int]:
    return _counted(
        db,
        "SELECT count(*), sum(octet_length(key) + octet_length(value)) FROM llm_cache WHERE created_at < ?",
        (timestamp(keep.answers_since),),
    )


def _drop_answers(db: apsw.Connection, keep: Keep) -> None:
    db.execute("DELETE FROM llm_cache WHERE created_at < ?", (timestamp(keep.answers_since),))


def _count_documents(db: apsw.Connection, keep: Keep) -> tuple[int, int]:
    where, values = _kept(keep)
    return _counted(
        db,
        "SELECT count(*), sum(octet_length(path) + octet_length(title)) FROM documents "
        f"WHERE collection_id NOT IN (SELECT id FROM collections WHERE {where})",
        values,
    )


def _drop_collections(db: apsw.Connection, keep: Keep) -> None:
    where, values = _kept(keep)
    for (identity,) in list(db.execute(f"SELECT id FROM collections WHERE NOT {where}", values)):
        drop_documents(db, identity)
        db.execute("DELETE FROM collections WHERE id = ?", (identity,))


def _count_texts(db: apsw.Connection, keep: Keep) -> tuple[int, int]:
    used, values = _used(keep)
    count, size = _counted(db, f"SELECT count(*), sum(bytes) FROM contents WHERE id NOT IN {used}", values)
    _, vectors = _counted(
        db, f"SELECT 0, sum(octet_length(vector)) FROM content_vectors WHERE content_id NOT IN {used}", values
    )
    return count, size + vectors


def _drop_texts(db: apsw.Connection, keep: Keep) -> None:
    drop_unused_texts(db)


def _count_vectors(db: apsw.Connection, keep: Keep) -> tuple[int, int]:
    if keep.embedders is None:
        return 0, 0
    used, values = _used(keep)
    where, kept = other_embedders(keep.embedders)
    count, size = _counted(
        db,
        "SELECT count(*), sum(octet_length(vector)) FROM content_vectors "
        f"WHERE {where} AND content_id IN {used}",
        (*kept, *values),
    )
    _, blocks = _counted(
        db,
        "SELECT 0, sum(octet_length(ids) + octet_length(scales) + octet_length(codes)) FROM vectors_vec "
        f"WHERE {where}",
        kept,
    )
    return count, size + blocks


def _drop_vectors(db: apsw.Connection, keep: Keep) -> None:
    if keep.embedders is not None:
        drop_other_embedders(db, keep.embedders)


def _uneven_blocks(db: apsw.Connection, keep: Keep) -> list[Audit]:
    """Return audits of collections to keep whose blocks have unused slots or miss chunks."""
    where, values = _kept(keep)
    collections = {row[0] for row in db.execute(f"SELECT id FROM collections WHERE {where}", values)}
    embedders = {
        identity
        for identity, fingerprint in db.execute("SELECT id, fingerprint FROM embedders")
        if keep.embedders is None or fingerprint in keep.embedders
    }
    return [
        result
        for result in audit(db)
        if (result.empty or not result.is_consistent)
        and result.collection in collections
        and result.embedder in embedders
    ]


def _count_slots(db: apsw.Connection, keep: Keep) -> tuple[int, int]:
    audits = _uneven_blocks(db, keep)
    count = sum(result.empty + result.unknown + result.missing for result in audits)
    return count, sum(result.wasted_bytes for result in audits)


def _rebuild_blocks(db: apsw.Connection, keep: Keep) -> None:
    for collection in {result.collection for result in _uneven_blocks(db, keep)}:
        rebuild(db, collection)


def _count_segments(db: apsw.Connection, keep: Keep) -> tuple[int, int]:
    segments, deletions = _counted(
        db,
        "SELECT (SELECT count(DISTINCT segid) FROM documents_fts_idx), "
        f"(SELECT count(*) FROM documents_fts_data WHERE id >= {_TOMBSTONES})",
        (),
    )
    return (segments, 0) if segments > _SEGMENTS or deletions else (0, 0)


def _merge_segments(db: apsw.Connection, keep: Keep) -> None:
    db.execute("INSERT INTO documents_fts(documents_fts) VALUES ('optimize')")


def _unused_pages(db: apsw.Connection) -> tuple[int, int]:
    unused, pages = int(db.pragma("freelist_count")), int(db.pragma("page_count"))
    if unused < _UNUSED_SHARE * pages:
        return 0, 0
    return unused, unused * int(db.pragma("page_size"))


_Count = Callable[[apsw.Connection, Keep], tuple[int, int]]
_Drop = Callable[[apsw.Connection, Keep], None]

#: How to count and to drop each kind. Later steps also drop data that earlier ones made unused.
_KINDS: dict[WasteKind, tuple[_Count, _Drop]] = {
    "answers": (_count_answers, _drop_answers),
    "documents": (_count_documents, _drop_collections),
    "texts": (_count_texts, _drop_texts),
    "vectors": (_count_vectors, _drop_vectors),
    "slots": (_count_slots, _rebuild_blocks),
    "segments": (_count_segments, _merge_segments),
}
