"""Checks of an index file beyond those of SQLite.

SQLite keeps no checksums and does not notice bytes that change inside a value. So values that are stored
twice, or that follow from others, are compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import apsw
import numpy as np
from msgspec.structs import replace

from qmd.store.records import FieldKey, is_changed, is_of_this_version
from qmd.store.sqlite import postings, structures
from qmd.store.sqlite.blocks import audit, decode
from qmd.store.sqlite.database import LISTED, REMAKE
from qmd.store.sqlite.opening import outdated
from qmd.store.sqlite.schema import COLLECTION_SHIFT
from qmd.store.values import IndexFault, OnStep
from qmd.text.chunking import numbered
from qmd.types import Chunk

if TYPE_CHECKING:
    from qmd.store.values import Floats

#: Vectors whose lengths are checked together.
_VECTOR_BATCH = 4096
#: Every vector has length 1. Rounding to float16 changes the length by less than this.
_LENGTH_TOLERANCE = 0.002
#: A code differs from its vector by at most half a step of the scale, plus the rounding of float16.
_CODE_TOLERANCE, _FLOAT16_TOLERANCE = 0.51, 2.0**-11

_REEMBED = "run 'qmd embed --force'"
_REBUILD = "run 'qmd store compact': it rebuilds the blocks"
_LAY_OUT_AGAIN = "run 'qmd store compact': it makes them again"
_INDEX_AGAIN = (
    "restore a backup with 'qmd store restore FILE', or run 'qmd store compact': it indexes the words again"
)


def check(db: apsw.Connection, on_step: OnStep) -> Iterator[IndexFault]:
    """Find all faults. If the file itself is damaged, or of an older format, its contents are not checked."""
    if problem := outdated(db, "its file"):
        yield IndexFault(*problem)
        return
    on_step("Checking the file")
    damage = list(_damage(db))
    yield from damage
    if damage:
        return
    on_step("Checking the tables")
    contradictions = list(_contradictions(db))
    yield from contradictions
    yield from _wrong_blocks(db)
    if not contradictions:
        on_step("Checking the chunks")
        yield from _wrong_chunks(db)
        if postings.differ(db, on_step):
            yield IndexFault(
                "the file is damaged: the full-text index does not have what the texts say", _INDEX_AGAIN
            )


def _damage(db: apsw.Connection) -> Iterator[IndexFault]:
    """Run the checks of SQLite, including the full-text index."""
    results = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    if results != ["ok"]:
        more = f" (and {len(results) - 1} more)" if len(results) > 1 else ""
        yield IndexFault(f"the file is damaged: {' '.join(results[0].split())}{more}", REMAKE)
    if broken := db.execute("SELECT count(*) FROM pragma_foreign_key_check").get:
        yield IndexFault(f"{broken} rows refer to rows that no longer exist", REMAKE)
    # The check above sees little of a contentless table. This reads every posting list.
    if db.execute("SELECT coalesce(sum(cnt), 0) FROM documents_terms").get != sum(_column_totals(db)):
        yield IndexFault("the file is damaged: the full-text index does not add up", _INDEX_AGAIN)


def _column_totals(db: apsw.Connection) -> list[int]:
    """Return the number of terms of each column, from the averages record of FTS5."""
    numbers, number = [], 0
    for byte in db.execute("SELECT block FROM documents_fts_data WHERE id = 1").get or b"":
        number = number << 7 | byte & 127
        if byte < 128:
            numbers.append(number)
            number = 0
    # The first number is the number of rows.
    return numbers[1:]


#: Queries that must count zero rows, by the message for other results.
_IMPOSSIBLE = {
    "documents are not in the full-text index": (
        "SELECT count(*) FROM documents WHERE id NOT IN (SELECT id FROM documents_fts_docsize)"
    ),
    "entries of the full-text index belong to no document": (
        "SELECT count(*) FROM documents_fts_docsize WHERE id NOT IN (SELECT id FROM documents)"
    ),
    "documents have an id outside the range of their collection": (
        f"SELECT count(*) FROM documents WHERE id >> {COLLECTION_SHIFT} <> collection_id"
    ),
    "counts of values are not those of the documents": (
        "SELECT count(*) FROM (SELECT 1 FROM (SELECT * FROM field_counts UNION ALL "
        f"SELECT value_id, document_id >> {COLLECTION_SHIFT}, count(*), sum(first) FROM document_fields "
        "GROUP BY 1, 2) GROUP BY value_id, collection_id, documents, firsts HAVING count(*) <> 2)"
    ),
    "vectors do not have the dimension of their embedder": (
        "SELECT count(*) FROM content_vectors v JOIN embedders e ON e.id = v.embedder_id "
        "WHERE octet_length(v.vector) <> 2 * e.dimension"
    ),
}


def _contradictions(db: apsw.Connection) -> Iterator[IndexFault]:
    """Find rows of one table that contradict another."""
    for message, query in _IMPOSSIBLE.items():
        if count := db.execute(query).get:
            yield IndexFault(f"{count:,} {message}", _INDEX_AGAIN if "full-text index" in message else REMAKE)
    if changed := sum(
        (hashlib.sha256(data := text.encode("utf-8")).hexdigest(), len(data)) != (digest, size)
        for digest, size, text in db.execute("SELECT hash, bytes, text FROM contents")
    ):
        yield IndexFault(f"{changed:,} texts are not what was indexed", REMAKE)
    if wrong := structures.count_wrong(db):
        yield IndexFault(f"{wrong:,} texts have the structures of other texts", _LAY_OUT_AGAIN)
    if changed := sum(is_changed(*text, stored) for text, stored in _fields(db)):
        yield IndexFault(f"the fields of {changed:,} documents are not what was indexed", REMAKE)


def _fields(db: apsw.Connection) -> Iterator[tuple[tuple[str, str, str], set[FieldKey]]]:
    """Yield text, path and author of each document, and its fields as they are stored."""
    roots = db.execute("SELECT id, root FROM collections")
    present = {collection for collection, root in roots if is_of_this_version(root or "")}
    rows = db.execute(
        "SELECT d.id, d.path, d.author, t.text FROM documents d JOIN contents t ON t.id = d.content_id"
    )
    for identity, path, author, text in rows:
        if identity >> COLLECTION_SHIFT not in present:
            continue  # it is read again by the next scan
        stored: set[FieldKey] = set(
            db.execute(
                "SELECT n.name, v.type, v.key FROM document_fields df JOIN field_values v "
                "ON v.id = df.value_id JOIN field_names n ON n.id = v.field_id WHERE df.document_id = ?",
                (identity,),
            )
        )
        yield (text, path, author), stored


def _wrong_chunks(db: apsw.Connection) -> Iterator[IndexFault]:
    """Find texts whose chunks do not cover them or have wrong line numbers.

    If a text is partly embedded, its last chunks are stored.
    """
    rows = db.execute(
        "SELECT t.text, group_concat(concat_ws(' ', v.seq, v.start, v.end, v.first_line, v.last_line), ',' "
        "ORDER BY v.seq) FROM content_vectors v JOIN contents t ON t.id = v.content_id "
        "GROUP BY v.embedder_id, v.content_id"
    )
    changed = 0
    for text, places in rows:
        chunks = [Chunk(*map(int, place.split())) for place in places.split(",")]
        spans = [(chunk.start, chunk.end) for chunk in chunks]
        first = chunks[0].seq
        covered = (first > 0) == (spans[0][0] > 0) and spans[-1][1] == len(text)
        covered &= all(after[0] <= before[1] for before, after in pairwise(spans))
        expected = [replace(chunk, seq=chunk.seq + first) for chunk in numbered(text, spans)]
        changed += not covered or chunks != expected
    if changed:
        yield IndexFault(f"{changed:,} texts have wrong chunks", _REEMBED)


def _wrong_blocks(db: apsw.Connection) -> Iterator[IndexFault]:
    if uneven := db.execute(
        "SELECT count(*) FROM vectors_vec v JOIN embedders e ON e.id = v.embedder_id WHERE "
        "octet_length(ids) <> 8 * slots OR octet_length(scales) <> 4 * slots "
        "OR octet_length(codes) <> slots * e.dimension"
    ).get:
        yield IndexFault(f"{uneven:,} vector blocks are incomplete", _REEMBED)
        return
    if changed := sum(map(_count_wrong_lengths, _vectors(db))) or _count_wrong_codes(db):
        yield IndexFault(f"{changed:,} vectors are not what was embedded", _REEMBED)
    names = dict(db.execute("SELECT id, name FROM collections"))
    for result in audit(db):
        if not result.is_consistent:
            wrong = f"{result.missing:,} chunks are missing and {result.unknown:,} do not belong"
            yield IndexFault(f"in the vector blocks of '{names[result.collection]}' {wrong}", _REBUILD)


def _vectors(db: apsw.Connection) -> Iterator[Floats]:
    """Return all vectors in batches of one embedder with shape (n, dimension)."""
    for embedder, dimension in list(db.execute("SELECT id, dimension FROM embedders")):
        rows = db.execute(
            "SELECT vector FROM content_vectors WHERE embedder_id = ? AND octet_length(vector) = ?",
            (embedder, 2 * dimension),
        )
        while batch := list(islice(rows, _VECTOR_BATCH)):
            yield decode([vector for (vector,) in batch])


def _count_wrong_codes(db: apsw.Connection) -> int:
    """Count the vectors in blocks that differ from the vectors of their chunks."""
    wrong = 0
    for slots, ids, scales, codes in db.execute("SELECT slots, ids, scales, codes FROM vectors_vec"):
        chunks = np.frombuffer(ids, dtype=np.int64)
        steps = np.frombuffer(scales, dtype=np.float32)
        matrix = np.frombuffer(codes, dtype=np.int8).reshape(slots, -1)
        # The audit reports missing chunks.
        rows = dict(
            db.execute(
                f"SELECT id, vector FROM content_vectors WHERE id IN {LISTED} AND octet_length(vector) = ?",
                (json.dumps(chunks.tolist()), 2 * matrix.shape[1]),
            )
        )
        present = [at for at, chunk in enumerate(chunks) if int(chunk) in rows]
        if not present:
            continue
        vectors = decode([rows[int(chunks[at])] for at in present])
        step = steps[present][:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.abs(vectors - matrix[present] * step)
            # Negated comparison, so that NaN counts as wrong.
            near = apart <= _CODE_TOLERANCE * np.abs(step) + _FLOAT16_TOLERANCE * np.abs(vectors)
        wrong += int((~near.all(axis=1)).sum())
    return wrong


def _count_wrong_lengths(vectors: Floats) -> int:
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors, axis=1)
    # Negated comparison, so that NaN counts as wrong.
    return int((~(np.abs(lengths - 1.0) < _LENGTH_TOLERANCE)).sum())
