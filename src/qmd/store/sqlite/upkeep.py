"""Keeping an index file small and whole: what it can do without. What is wrong in it: `faults`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import apsw

from qmd.store.base import Fault, Keep, OnPages, OnStep, Waste, WasteKind
from qmd.store.records import written
from qmd.store.sqlite.blocks import Audit, audit, rebuild
from qmd.store.sqlite.documents import drop_unused_texts
from qmd.store.sqlite.part import Part
from qmd.store.sqlite.removal import drop_documents
from qmd.store.sqlite.vector_sets import drop_other_embedders, others

#: Full-text search looks a term up in each segment: a few cost nothing, and merging rewrites all of them.
_SEGMENTS = 4
#: FTS5 keeps the terms of deleted documents until segments are merged, and their numbers in rows from here.
_TOMBSTONES = 1 << 53
#: Pages that later writes will fill need no rewriting of the whole file, up to this share of it.
_UNUSED_SHARE = 0.05
#: SQLite's instructions between two looks at whether the user wants to stop.
_INSTRUCTIONS = 100_000

_STEPS: dict[WasteKind, str] = {
    "answers": "Forgetting old answers",
    "documents": "Dropping documents",
    "texts": "Dropping texts",
    "vectors": "Dropping vectors",
    "slots": "Rebuilding vector blocks",
    "segments": "Merging the full-text index",
    "pages": "Rewriting the file",
}


class UpkeepPart(Part):
    """Waste and faults."""

    def waste(self, keep: Keep) -> list[Waste]:
        """What the index can do without; kinds of which there is nothing are left out."""
        with self._database.snapshot() as db:
            found = [Waste(kind, *count(db, keep)) for kind, (count, _) in _KINDS.items()]
            found.append(Waste("pages", *_unused_pages(db)))
        return [waste for waste in found if waste.count]

    def clear(self, keep: Keep, on_step: OnStep) -> None:
        """Let go of what `waste` finds, a kind at a time, and give the space back to the disk."""
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
        """Copy the index as it is at this moment to a new file, with notes, and check the copy."""
        from qmd.store.sqlite import backup

        backup.make(self._database, path, notes, on_pages)

    def faults(self, on_step: OnStep) -> list[Fault]:
        """What is wrong in the index. Reads all of it, and changes nothing."""
        from qmd.store.sqlite import integrity

        with self._database.snapshot() as db:
            # Without it SQLite would not hear Ctrl-C before the end.
            db.set_progress_handler(lambda: False, _INSTRUCTIONS)
            try:
                return list(integrity.found(db, on_step))
            finally:
                db.set_progress_handler(None)


# -- waste -------------------------------------------------------------------------------------------------


def _kept(keep: Keep) -> tuple[str, tuple[str, ...]]:
    """A condition on collections' names."""
    if keep.collections is None:
        return "1", ()
    return "name IN (SELECT value FROM json_each(?))", (json.dumps(keep.collections, ensure_ascii=False),)


def _used(keep: Keep) -> tuple[str, tuple[str, ...]]:
    """The texts of documents in collections that stay."""
    where, values = _kept(keep)
    collections = f"SELECT id FROM collections WHERE {where}"
    return f"(SELECT content_id FROM documents WHERE collection_id IN ({collections}))", values


def _counted(db: apsw.Connection, query: str, values: tuple[str, ...]) -> tuple[int, int]:
    """(how many, bytes) of a query that gives both."""
    count, size = db.execute(query, values).fetchone() or (0, 0)
    return int(count), int(size or 0)


def _count_answers(db: apsw.Connection, keep: Keep) -> tuple[int, int]:
    return _counted(
        db,
        "SELECT count(*), sum(octet_length(key) + octet_length(value)) FROM llm_cache WHERE created_at < ?",
        (written(keep.answers_since),),
    )


def _drop_answers(db: apsw.Connection, keep: Keep) -> None:
    db.execute("DELETE FROM llm_cache WHERE created_at < ?", (written(keep.answers_since),))


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
    where, kept = others(keep.embedders)
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


def _loose(db: apsw.Connection, keep: Keep) -> list[Audit]:
    """Collections that stay whose blocks hold what a scan reads in vain, or lack something."""
    where, values = _kept(keep)
    collections = {row[0] for row in db.execute(f"SELECT id FROM collections WHERE {where}", values)}
    embedders = {
        identity
        for identity, fingerprint in db.execute("SELECT id, fingerprint FROM embedders")
        if keep.embedders is None or fingerprint in keep.embedders
    }
    return [
        found
        for found in audit(db)
        if (found.empty or not found.is_right)
        and found.collection in collections
        and found.embedder in embedders
    ]


def _count_slots(db: apsw.Connection, keep: Keep) -> tuple[int, int]:
    found = _loose(db, keep)
    count = sum(each.empty + each.unknown + each.missing for each in found)
    return count, sum(each.wasted_bytes for each in found)


def _rebuild_blocks(db: apsw.Connection, keep: Keep) -> None:
    for collection in {each.collection for each in _loose(db, keep)}:
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

#: How each kind is counted and how it is let go, in an order in which each step sees what the last one freed.
_KINDS: dict[WasteKind, tuple[_Count, _Drop]] = {
    "answers": (_count_answers, _drop_answers),
    "documents": (_count_documents, _drop_collections),
    "texts": (_count_texts, _drop_texts),
    "vectors": (_count_vectors, _drop_vectors),
    "slots": (_count_slots, _rebuild_blocks),
    "segments": (_count_segments, _merge_segments),
}
