"""Vectors and token statistics for copies between stores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qmd.store.base import VectorSet
from qmd.store.sqlite.database import Database
from qmd.types import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Copying:
    """Reads vectors and token statistics, and replaces token statistics."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def vectors_of(
        self, embedder: str, hashes: Sequence[str]
    ) -> dict[str, tuple[list[Chunk], NDArray[np.float32]]]:
        """Return chunks and vectors (float32, shape (n, dimension)) by hash, without unembedded texts."""
        import numpy as np

        by_hash: dict[str, tuple[list[Chunk], list[bytes]]] = {}
        with self._database.errors():
            rows = self._database.connection().execute(
                "SELECT t.hash, v.seq, v.start, v.end, v.first_line, v.last_line, v.vector "
                "FROM json_each(?) h JOIN contents t ON t.hash = h.value "
                "JOIN content_vectors v ON v.content_id = t.id JOIN embedders e ON e.id = v.embedder_id "
                "WHERE e.fingerprint = ? ORDER BY t.id, v.seq",
                (json.dumps(list(hashes)), embedder),
            )
            for digest, *chunk, vector in rows:
                chunks, vectors = by_hash.setdefault(digest, ([], []))
                chunks.append(Chunk(*chunk))
                vectors.append(vector)
        return {
            digest: (
                chunks,
                np.frombuffer(b"".join(rows), np.float16).reshape(len(rows), -1).astype(np.float32),
            )
            for digest, (chunks, rows) in by_hash.items()
        }

    def all_token_frequencies(self, embedder: str) -> tuple[int, dict[int, int]]:
        """Return (number of embedded chunks, number of chunks by token)."""
        with self._database.snapshot() as db:
            row = db.execute("SELECT id, chunks FROM embedders WHERE fingerprint = ?", (embedder,)).fetchone()
            if row is None:
                return 0, {}
            counts = db.execute(
                "SELECT token, chunks FROM token_frequencies WHERE embedder_id = ?", (row[0],)
            )
            return int(row[1]), dict(counts)

    def import_statistics(self, copied: VectorSet, chunks: int, counts: Mapping[int, int]) -> None:
        """Replace the token frequencies of a copied set, and its `complete`, by those of its source."""
        with self._database.transaction() as db:
            row = db.execute(
                "SELECT id FROM embedders WHERE fingerprint = ?", (copied.fingerprint,)
            ).fetchone()
            if row is None:
                return
            db.execute("DELETE FROM token_frequencies WHERE embedder_id = ?", row)
            db.executemany(
                "INSERT INTO token_frequencies (embedder_id, token, chunks) VALUES (?, ?, ?)",
                ((row[0], token, count) for token, count in counts.items()),
            )
            db.execute(
                "UPDATE embedders SET chunks = ?, complete = ? WHERE id = ?",
                (chunks, copied.complete, row[0]),
            )
