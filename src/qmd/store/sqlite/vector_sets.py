"""The sets of vectors, one an embedder: which there are, and which go."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from qmd.store.base import Scope, VectorSet
from qmd.store.sqlite.blocks import rebuild
from qmd.store.sqlite.scope_filter import condition
from qmd.store.sqlite.vectors import VectorsPart

_HAS_VECTORS = "EXISTS (SELECT 1 FROM content_vectors v WHERE v.embedder_id = e.id)"
#: The tables whose rows belong to an embedder.
_OF_A_SET = ("content_vectors", "vectors_vec", "token_frequencies")


class SetsPart(VectorsPart):
    """Vectors, and the sets that they are in."""

    def drop_vectors(self, scope: Scope, embedder: str) -> int:
        """Forget an embedder's vectors of a scope's texts; returns how many chunks."""
        filters, values = condition(self._within(scope), "d")
        whose = "embedder_id = (SELECT id FROM embedders WHERE fingerprint = ?)"
        contents = f"SELECT d.content_id FROM documents d WHERE 1 {filters}"
        with self._database.transaction() as db:
            # A text that is also in a collection outside the scope leaves that one's blocks too.
            homes = {
                row[0]
                for row in db.execute(
                    f"SELECT DISTINCT collection_id FROM documents WHERE content_id IN ({contents})", values
                )
            }
            db.execute(
                f"DELETE FROM content_vectors WHERE {whose} AND content_id IN ({contents})",
                (embedder, *values),
            )
            dropped = db.changes()
            for collection in homes:
                db.execute(
                    f"DELETE FROM vectors_vec WHERE {whose} AND collection_id = ?", (embedder, collection)
                )
                rebuild(db, collection)
            _forget_empty_sets(db)
            return int(dropped)

    def activate_vectors(self, embedder: str, scope: Scope) -> list[str] | None:
        """Where an embedder has every text of a scope, its set is complete, and all others are forgotten."""
        with self._database.transaction() as db:
            if not self.has_vectors(embedder, scope) or self.pending_count(embedder, scope):
                return None
            names = [each.name for each in self.vector_sets() if each.fingerprint != embedder]
            db.execute("UPDATE embedders SET complete = 1 WHERE fingerprint = ?", (embedder,))
            drop_other_embedders(db, (embedder,))
            return names

    def vector_sets(self) -> list[VectorSet]:
        """The sets that have vectors."""
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
        """Fingerprint → chunks, of every set that has vectors."""
        with self._database.errors():
            rows = self._database.connection().execute(
                "SELECT e.fingerprint, count(v.id) FROM embedders e "
                "JOIN content_vectors v ON v.embedder_id = e.id GROUP BY e.id"
            )
            return dict(rows)


def others(kept: Sequence[str]) -> tuple[str, tuple[str]]:
    """A condition on `embedder_id`: all embedders but those of some fingerprints."""
    sets = "SELECT id FROM embedders WHERE fingerprint NOT IN (SELECT value FROM json_each(?))"
    return f"embedder_id IN ({sets})", (json.dumps(list(kept)),)


def drop_other_embedders(db: apsw.Connection, kept: Sequence[str]) -> None:
    """Forget all embedders but some, with their vectors."""
    where, values = others(kept)
    for table in _OF_A_SET:
        db.execute(f"DELETE FROM {table} WHERE {where}", values)
    db.execute("DELETE FROM embedders WHERE fingerprint NOT IN (SELECT value FROM json_each(?))", values)


def _forget_empty_sets(db: apsw.Connection) -> None:
    """A set that lost its last vector begins anew: its token counts and its dimension go too."""
    for (identity,) in list(db.execute(f"SELECT id FROM embedders e WHERE NOT {_HAS_VECTORS}")):
        for table in _OF_A_SET:
            db.execute(f"DELETE FROM {table} WHERE embedder_id = ?", (identity,))
        db.execute("DELETE FROM embedders WHERE id = ?", (identity,))
