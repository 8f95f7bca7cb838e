"""Blocks of int8 vectors: the chunks of a collection in the form that a search scans.

A block has up to `SLOTS` vectors of one embedder and one collection, as three blobs: chunk ids (int64, 0 for
an empty slot), scales (float32) and codes (int8, `SLOTS × dimension`). code · scale ≈ vector.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import apsw
from msgspec import Struct

if TYPE_CHECKING:
    from qmd.store.values import Floats

SLOTS = 1024

#: The chunks that a collection has of an embedder: (embedder, collection).
_OF_COLLECTION = (
    "FROM content_vectors v WHERE v.embedder_id = ? AND v.content_id IN "
    "(SELECT content_id FROM documents WHERE collection_id = ?)"
)


def decode(vectors: Sequence[bytes]) -> Floats:
    """Return stored vectors (float16) of one dimension as float32 with shape (n, dimension)."""
    import numpy as np

    return np.frombuffer(b"".join(vectors), np.float16).reshape(len(vectors), -1).astype(np.float32)


def append(db: apsw.Connection, embedder: int, collection: int, ids: list[int], vectors: Floats) -> None:
    """Append vectors of chunks to a collection's blocks. The last block is filled first."""
    import numpy as np

    peaks = np.abs(vectors).max(axis=1)
    scales = np.where(peaks > 0, peaks / 127.0, 1.0).astype(np.float32)
    codes = np.rint(vectors / scales[:, None]).astype(np.int8)
    row = db.execute(
        "SELECT id, ids, scales, codes FROM vectors_vec WHERE embedder_id = ? AND collection_id = ? "
        "AND slots < ? ORDER BY id LIMIT 1",
        (embedder, collection, SLOTS),
    ).fetchone()

    def packed(part: slice) -> tuple[bytes, bytes, bytes]:
        return array("q", ids[part]).tobytes(), scales[part].tobytes(), codes[part].tobytes()

    at = 0
    if row is not None:
        block, *blobs = row
        slots = len(blobs[0]) // 8
        at = min(len(ids), SLOTS - slots)
        longer = (old + new for old, new in zip(blobs, packed(slice(at)), strict=True))
        db.execute(
            "UPDATE vectors_vec SET slots = ?, version = version + 1, ids = ?, scales = ?, codes = ? "
            "WHERE id = ?",
            (slots + at, *longer, block),
        )
    for start in range(at, len(ids), SLOTS):
        part = slice(start, start + SLOTS)
        db.execute(
            "INSERT INTO vectors_vec (embedder_id, collection_id, slots, version, ids, scales, codes) "
            "VALUES (?, ?, ?, 1, ?, ?, ?)",
            (embedder, collection, len(ids[part]), *packed(part)),
        )


def link_content(db: apsw.Connection, collection: int, contents: Collection[int]) -> None:
    """Append the vectors of texts that were added to a collection and are already embedded."""
    present: dict[int, set[int]] = {}
    for content in contents:
        for embedder, ids, vectors in _vectors_of(db, content):
            if embedder not in present:
                present[embedder] = set().union(*(slots for _, slots in chunk_ids(db, embedder, collection)))
            if present[embedder].isdisjoint(ids):
                append(db, embedder, collection, ids, vectors)


def unlink_content(db: apsw.Connection, collection: int, contents: Collection[int]) -> None:
    """Empty the slots of texts that no document of a collection has any more."""
    gone: set[int] = set()
    for content in contents:
        still = db.execute(
            # This index finds the documents of a text. Others would read every document of the collection.
            "SELECT 1 FROM documents INDEXED BY documents_content "
            "WHERE content_id = ? AND collection_id = ? LIMIT 1",
            (content, collection),
        ).get
        if still is None:
            rows = db.execute("SELECT id FROM content_vectors WHERE content_id = ?", (content,))
            gone.update(chunk for (chunk,) in rows)
    if not gone:
        return
    for (embedder,) in list(db.execute("SELECT id FROM embedders")):
        for block, slots in chunk_ids(db, embedder, collection):
            if gone.isdisjoint(slots):
                continue
            remaining = array("q", (0 if chunk in gone else chunk for chunk in slots))
            if any(remaining):
                db.execute(
                    "UPDATE vectors_vec SET ids = ?, version = version + 1 WHERE id = ?",
                    (remaining.tobytes(), block),
                )
            else:
                db.execute("DELETE FROM vectors_vec WHERE id = ?", (block,))


def rebuild(db: apsw.Connection, collection: int) -> None:
    """Rebuild the blocks of a collection from the vectors of its texts."""
    db.execute("DELETE FROM vectors_vec WHERE collection_id = ?", (collection,))
    for (embedder,) in list(db.execute("SELECT id FROM embedders")):
        rows = db.execute(f"SELECT v.id, v.vector {_OF_COLLECTION} ORDER BY v.id", (embedder, collection))
        while batch := list(islice(rows, SLOTS)):
            ids, vectors = zip(*batch, strict=True)
            append(db, embedder, collection, list(ids), decode(vectors))


def chunk_ids(db: apsw.Connection, embedder: int, collection: int) -> Iterator[tuple[int, array[int]]]:
    """Return the blocks of a collection, each with the chunk ids of its slots."""
    rows: list[Any] = db.execute(
        "SELECT id, ids FROM vectors_vec WHERE embedder_id = ? AND collection_id = ?", (embedder, collection)
    ).fetchall()
    for block, blob in rows:
        slots = array("q")
        slots.frombytes(blob)
        yield block, slots


def _vectors_of(db: apsw.Connection, content: int) -> Iterator[tuple[int, list[int], Floats]]:
    """Return (embedder, chunk ids, vectors) of a text for each embedder that has vectors of it."""
    rows: list[Any] = db.execute(
        "SELECT embedder_id, id, vector FROM content_vectors WHERE content_id = ? ORDER BY embedder_id, seq",
        (content,),
    ).fetchall()
    for embedder, chunks in groupby(rows, key=itemgetter(0)):
        _, ids, vectors = zip(*chunks, strict=True)
        yield embedder, list(ids), decode(vectors)


class BlockAudit(Struct, frozen=True):
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
        """True if a search sees every chunk exactly once."""
        return not self.unknown and not self.missing

    @property
    def wasted_bytes(self) -> int:
        """The bytes of unused slots. A slot has an id, a scale and one byte for each dimension."""
        return (self.empty + self.unknown) * (8 + 4 + self.dimension)


def audit(db: apsw.Connection) -> Iterator[BlockAudit]:
    """Compare the blocks of every embedder and collection with the stored vectors."""
    import numpy as np

    pairs = "SELECT e.id, e.dimension, c.id FROM embedders e CROSS JOIN collections c ORDER BY e.id, c.id"
    for embedder, dimension, collection in list(db.execute(pairs)):
        rows = db.execute(f"SELECT v.id {_OF_COLLECTION}", (embedder, collection))
        expected = np.fromiter((identity for (identity,) in rows), np.int64)
        slots = [np.frombuffer(blob, dtype=np.int64) for _, blob in chunk_ids(db, embedder, collection)]
        filled = np.concatenate([np.zeros(0, np.int64), *slots])
        chunks = filled[filled > 0]
        yield BlockAudit(
            embedder,
            collection,
            dimension,
            empty=len(filled) - len(chunks),
            unknown=int(np.isin(chunks, expected, invert=True).sum()) + len(chunks) - len(np.unique(chunks)),
            missing=int(np.isin(expected, chunks, invert=True).sum()),
        )
