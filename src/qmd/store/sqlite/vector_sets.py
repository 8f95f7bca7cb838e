"""The sets of vectors, one for each embedder."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from qmd.store.base import Scope, VectorSet
from qmd.store.sqlite.blocks import rebuild
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.scope_filter import condition, filter_of
from qmd.store.sqlite.vectors import Vectors

_HAS_VECTORS = "EXISTS (SELECT 1 FROM content_vectors v WHERE v.embedder_id = e.id)"
#: The tables whose rows belong to an embedder.
_TABLES = ("content_vectors", "vectors_vec", "token_frequencies")


class VectorSets:
    """Sets of vectors."""

    def __init__(self, database: Database, vectors: Vectors) -> None:
        self._database = database
        self._vectors = vectors

    def drop_vectors(self, scope: Scope, embedder: str) -> int:
        """Delete an embedder's vectors of a scope's texts and return the number of chunks."""
        filters, values = condition(filter_of(self._database, scope), "d")
        of_embedder = "embedder_id = (SELECT id FROM embedders WHERE fingerprint = ?)"
        contents = f"SELECT d.content_id FROM documents d WHERE 1 {filters}"
        with self._database.transaction() as db:
            # A text can also be in collections outside the scope, which have blocks of their own.
            collections = {
                row[0]
                for row in db.execute(
                    f"SELECT DISTINCT collection_id FROM documents WHERE content_id IN ({contents})", values
                )
            }
            db.execute(
                f"DELETE FROM content_vectors WHERE {of_embedder} AND content_id IN ({contents})",
                (embedder, *values),
            )
            dropped = db.changes()
            for collection in collections:
                db.execute(
                    f"DELETE FROM vectors_vec WHERE {of_embedder} AND collection_id = ?",
                    (embedder, collection),
                )
                rebuild(db, collection)
            _drop_empty_sets(db)
            return int(dropped)

    def activate_vectors(self, embedder: str, scope: Scope) -> list[str] | None:
        """Mark an embedder's set as complete and drop all other sets, if it covers every text of a scope."""
        with self._database.transaction() as db:
            if not self._vectors.has_vectors(embedder, scope) or self._vectors.pending_count(embedder, scope):
                return None
            names = [other.name for other in self.vector_sets() if other.fingerprint != embedder]
            db.execute("UPDATE embedders SET complete = 1 WHERE fingerprint = ?", (embedder,))
            drop_other_embedders(db, (embedder,))
            return names

    def vector_sets(self) -> list[VectorSet]:
        """Return the sets that have vectors."""
        with self._database.errors():
            rows = self._database.connection().execute(
                "SELECT fingerprint, name, model, source, complete FROM embedders e "
                f"WHERE {_HAS_VECTORS} ORDER BY id"
            )
            return [
                VectorSet(fingerprint, name, model, source, bool(complete))
                for fingerprint, name, model, source, complete in rows
            ]

    def chunk_counts(self) -> dict[str, int]:
        """Return the number of chunks of each set that has vectors, by fingerprint."""
        with self._database.errors():
            rows = self._database.connection().execute(
                "SELECT e.fingerprint, count(v.id) FROM embedders e "
                "JOIN content_vectors v ON v.embedder_id = e.id GROUP BY e.id"
            )
            return dict(rows)


def other_embedders(kept: Sequence[str]) -> tuple[str, tuple[str]]:
    """Return a condition on `embedder_id` for all embedders except those to keep, and its values."""
    sets = "SELECT id FROM embedders WHERE fingerprint NOT IN (SELECT value FROM json_each(?))"
    return f"embedder_id IN ({sets})", (json.dumps(list(kept)),)


def drop_other_embedders(db: apsw.Connection, kept: Sequence[str]) -> None:
    """Drop all embedders except those to keep, with their vectors."""
    where, values = other_embedders(kept)
    for table in _TABLES:
        db.execute(f"DELETE FROM {table} WHERE {where}", values)
    db.execute("DELETE FROM embedders WHERE fingerprint NOT IN (SELECT value FROM json_each(?))", values)


def _drop_empty_sets(db: apsw.Connection) -> None:
    """Drop sets without vectors, with their token counts, so that they can start with another dimension."""
    for (identity,) in list(db.execute(f"SELECT id FROM embedders e WHERE NOT {_HAS_VECTORS}")):
        for table in _TABLES:
            db.execute(f"DELETE FROM {table} WHERE embedder_id = ?", (identity,))
        db.execute("DELETE FROM embedders WHERE id = ?", (identity,))
