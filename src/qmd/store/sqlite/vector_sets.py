"""The sets of vectors, one for each embedder, and the frequencies of their tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import apsw
import numpy as np

from qmd.store import base
from qmd.store.sqlite.blocks import rebuild
from qmd.store.sqlite.database import EMBEDDER, LISTED, Database, SqlitePart
from qmd.store.sqlite.pending import PendingTexts
from qmd.store.sqlite.scope_filter import block_versions, within
from qmd.store.values import Scope, VectorSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Chunks whose tokens are counted together, and populations whose counts are cached between searches.
_COUNT_BATCH, _CACHED_POPULATIONS = 20_000, 8
_HAS_VECTORS = "EXISTS (SELECT 1 FROM content_vectors v WHERE v.embedder_id = e.id)"
#: The tables whose rows belong to an embedder.
_TABLES = ("content_vectors", "vectors_vec", "token_frequencies")

#: Number of chunks, and number of chunks by token.
_Frequencies: TypeAlias = "tuple[int, NDArray[np.int64]]"


class VectorSets(SqlitePart, base.VectorSets):
    """Rows of the tables `embedders` and `token_frequencies`."""

    def __init__(self, database: Database, pending: PendingTexts) -> None:
        super().__init__(database)
        self._pending = pending
        #: Token frequencies of populations, with the blocks from which they were counted.
        self._frequencies: dict[object, tuple[list[tuple[int, int, int]], _Frequencies]] = {}

    def all(self) -> list[VectorSet]:
        rows = self._database.rows(
            "SELECT fingerprint, name, model, source, complete FROM embedders e "
            f"WHERE {_HAS_VECTORS} ORDER BY id"
        )
        return [
            VectorSet(fingerprint, name, model, source, bool(complete))
            for fingerprint, name, model, source, complete in rows
        ]

    def chunk_counts(self) -> dict[str, int]:
        rows = self._database.rows(
            "SELECT e.fingerprint, count(v.id) FROM embedders e "
            "JOIN content_vectors v ON v.embedder_id = e.id GROUP BY e.id"
        )
        return dict(rows)

    def drop(self, scope: Scope, embedder: str) -> int:
        filters, values = within(self._database, scope)
        contents = f"SELECT d.content_id FROM documents d WHERE 1 {filters}"
        with self._database.transaction() as db:
            # A text can also be in collections outside the scope, which have blocks of their own.
            query = f"SELECT DISTINCT collection_id FROM documents WHERE content_id IN ({contents})"
            collections = list(db.execute(query, values))
            db.execute(
                f"DELETE FROM content_vectors WHERE embedder_id = {EMBEDDER} AND content_id IN ({contents})",
                (embedder, *values),
            )
            dropped = db.changes()
            for (collection,) in collections:
                rebuild(db, collection)
            # Empty sets go with their token counts, so that they can start with another dimension.
            _drop_embedders(db, f"NOT {_HAS_VECTORS}")
            return int(dropped)

    def activate(self, embedder: str, scope: Scope) -> list[str] | None:
        with self._database.transaction() as db:
            has_vectors = any(block_versions(self._database, embedder, scope))
            if not has_vectors or self._pending.count(embedder, scope):
                return None
            names = [other.name for other in self.all() if other.fingerprint != embedder]
            db.execute("UPDATE embedders SET complete = 1 WHERE fingerprint = ?", (embedder,))
            drop_other_embedders(db, (embedder,))
            return names

    def token_frequencies(
        self, embedder: str, tokens: Sequence[int], population: Sequence[str] | None = None
    ) -> tuple[int, list[int]]:
        if population is not None:
            chunks, frequencies = self._frequencies_within(embedder, Scope(tuple(population)))
            return chunks, [int(frequencies[token]) if token < len(frequencies) else 0 for token in tokens]
        with self._database.snapshot() as db:
            identity, chunks = self._embedder(embedder)
            query = "SELECT chunks FROM token_frequencies WHERE embedder_id = ? AND token = ?"
            return chunks, [db.execute(query, (identity, token)).get or 0 for token in tokens]

    def all_token_frequencies(self, embedder: str) -> tuple[int, dict[int, int]]:
        with self._database.snapshot() as db:
            identity, chunks = self._embedder(embedder)
            query = "SELECT token, chunks FROM token_frequencies WHERE embedder_id = ?"
            return chunks, dict(db.execute(query, (identity,)))

    def import_statistics(self, copied: VectorSet, chunks: int, counts: Mapping[int, int]) -> None:
        with self._database.transaction() as db:
            identity, _ = self._embedder(copied.fingerprint)
            if identity is None:
                return
            db.execute("DELETE FROM token_frequencies WHERE embedder_id = ?", (identity,))
            db.executemany(
                "INSERT INTO token_frequencies (embedder_id, token, chunks) VALUES (?, ?, ?)",
                ((identity, token, count) for token, count in counts.items()),
            )
            db.execute(
                "UPDATE embedders SET chunks = ?, complete = ? WHERE id = ?",
                (chunks, copied.complete, identity),
            )

    def _embedder(self, fingerprint: str) -> tuple[int | None, int]:
        """Return the id of an embedder, None if there is none, and the number of its chunks."""
        row = self._database.row("SELECT id, chunks FROM embedders WHERE fingerprint = ?", (fingerprint,))
        return row or (None, 0)

    def _frequencies_within(self, embedder: str, scope: Scope) -> _Frequencies:
        """Return (chunks, chunks by token) of a scope's collections. Cached until their blocks change."""
        with self._database.snapshot() as db:
            blocks = sorted(block_versions(self._database, embedder, scope))
            key = (embedder, scope.collections, self._database.identity())
            cached = self._frequencies.get(key)
            if cached is not None and cached[0] == blocks:
                return cached[1]
            listed = json.dumps([identity for _, identity, _ in blocks])
            rows = db.execute(f"SELECT ids FROM vectors_vec WHERE id IN {LISTED}", (listed,))
            ids = np.concatenate([np.zeros(0, np.int64), *(np.frombuffer(row[0], np.int64) for row in rows)])
            chunks, frequencies = 0, np.zeros(0, np.int64)
            # The chunks of a text are in the blocks of each collection that has the text.
            ids = np.unique(ids[ids > 0])
            for at in range(0, len(ids), _COUNT_BATCH):
                rows = db.execute(
                    f"SELECT tokens FROM content_vectors WHERE tokens IS NOT NULL AND id IN {LISTED}",
                    (json.dumps(ids[at : at + _COUNT_BATCH].tolist()),),
                )
                blobs = [tokens for (tokens,) in rows]
                added = np.bincount(np.frombuffer(b"".join(blobs), np.uint32), minlength=len(frequencies))
                added[: len(frequencies)] += frequencies
                chunks, frequencies = chunks + len(blobs), added
            self._frequencies[key] = (blocks, (chunks, frequencies))
            while len(self._frequencies) > _CACHED_POPULATIONS:
                self._frequencies.pop(next(iter(self._frequencies)), None)
            return chunks, frequencies


def drop_other_embedders(db: apsw.Connection, kept: Sequence[str]) -> None:
    """Drop all embedders except those to keep, with their vectors."""
    _drop_embedders(db, f"fingerprint NOT IN {LISTED}", (json.dumps(list(kept)),))


def _drop_embedders(db: apsw.Connection, where: str, values: tuple[str, ...] = ()) -> None:
    for (identity,) in list(db.execute(f"SELECT id FROM embedders e WHERE {where}", values)):
        for table in _TABLES:
            db.execute(f"DELETE FROM {table} WHERE embedder_id = ?", (identity,))
        db.execute("DELETE FROM embedders WHERE id = ?", (identity,))
