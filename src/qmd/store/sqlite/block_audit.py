"""Compare the blocks of vectors, which searches read, with the vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np
from msgspec import Struct

from qmd.store.sqlite.blocks import OF_COLLECTION, chunk_ids


class Audit(Struct, frozen=True):
    """The differences between the blocks of a collection and its vectors.

    `empty` counts slots without a chunk, which slow a search down a little. `unknown` counts slots with a
    chunk of another collection, or with a chunk that has another slot. `missing` counts chunks without a
    slot, which searches do not find.
    """

    embedder: int
    collection: int
    dimension: int
    empty: int
    unknown: int
    missing: int

    @property
    def is_consistent(self) -> bool:
        """Whether a search sees every chunk exactly once."""
        return not self.unknown and not self.missing

    @property
    def wasted_bytes(self) -> int:
        """The bytes of unused slots. A slot has an id, a scale and one byte for each dimension."""
        return (self.empty + self.unknown) * (8 + 4 + self.dimension)


def audit(db: apsw.Connection) -> Iterator[Audit]:
    """Compare the blocks of every embedder and collection with the stored vectors."""
    pairs = "SELECT e.id, e.dimension, c.id FROM embedders e CROSS JOIN collections c ORDER BY e.id, c.id"
    for embedder, dimension, collection in list(db.execute(pairs)):
        rows: list[Any] = db.execute(f"SELECT v.id {OF_COLLECTION}", (embedder, collection)).fetchall()
        expected = np.array([row[0] for row in rows], dtype=np.int64)
        slots = [np.frombuffer(blob, dtype=np.int64) for _, blob in chunk_ids(db, embedder, collection)]
        filled = np.concatenate([np.zeros(0, np.int64), *slots])
        chunks = filled[filled > 0]
        yield Audit(
            embedder,
            collection,
            dimension,
            empty=len(filled) - len(chunks),
            unknown=int(np.isin(chunks, expected, invert=True).sum()) + len(chunks) - len(np.unique(chunks)),
            missing=int(np.isin(expected, chunks, invert=True).sum()),
        )
