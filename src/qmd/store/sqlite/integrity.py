"""What is wrong in an index file: what SQLite sees, and all that it does not.

SQLite keeps no checksums: bytes that change inside a value are no fault to it. So what is written in two
ways, or follows from something else, is compared with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import apsw

from qmd.store.base import Fault, OnStep
from qmd.store.sqlite import postings
from qmd.store.sqlite.blocks import audit
from qmd.store.sqlite.database import REMAKE
from qmd.store.sqlite.schema import COLLECTION_SHIFT
from qmd.text.authorship import author_key
from qmd.text.chunking import numbered
from qmd.types import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Vectors whose lengths are looked at together.
_MEASURED = 4096
#: Every vector has length 1; rounding to float16 changes that by less.
_ROUNDED = 0.002
#: A code in a block is the nearest to its number (in steps of the scale), but for what float16 rounds off.
_NEAREST, _HALF = 0.51, 2.0**-11

_REEMBED = "run 'qmd embed --force'"
_REBUILD = "run 'qmd cleanup': it lays the blocks out anew"


def found(db: apsw.Connection, on_step: OnStep) -> Iterator[Fault]:
    """All faults; where the file itself is damaged, what is in it is not looked at."""
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
        if postings.contradict(db, on_step):
            yield Fault("the file is damaged: the full-text index does not have what the texts say", REMAKE)


def _damage(db: apsw.Connection) -> Iterator[Fault]:
    """What SQLite itself finds, full-text index included."""
    said = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    if said != ["ok"]:
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        yield Fault(f"the file is damaged: {' '.join(said[0].split())}{more}", REMAKE)
    (broken,) = db.execute("SELECT count(*) FROM pragma_foreign_key_check").fetchone() or (0,)
    if broken:
        yield Fault(f"{broken} rows refer to rows that are gone", REMAKE)
    # Of a contentless table the check above sees little. This reads every posting list there is.
    (held,) = db.execute("SELECT coalesce(sum(cnt), 0) FROM documents_terms").fetchone() or (0,)
    if held != sum(_column_totals(db)):
        yield Fault("the file is damaged: the full-text index does not add up", REMAKE)


def _column_totals(db: apsw.Connection) -> list[int]:
    """How many terms FTS5 says that each column holds: its record of averages, after the number of rows."""
    row = db.execute("SELECT block FROM documents_fts_data WHERE id = 1").fetchone()
    numbers, number = [], 0
    for byte in row[0] if row else b"":
        number = number << 7 | byte & 127
        if byte < 128:
            numbers.append(number)
            number = 0
    return numbers[1:]


#: What must never be counted, and the words for it.
_NEVER = {
    "documents are not in the full-text index": (
        "SELECT count(*) FROM documents WHERE id NOT IN (SELECT id FROM documents_fts_docsize)"
    ),
    "entries of the full-text index belong to no document": (
        "SELECT count(*) FROM documents_fts_docsize WHERE id NOT IN (SELECT id FROM documents)"
    ),
    "documents have a number outside their collection": (
        f"SELECT count(*) FROM documents WHERE id >> {COLLECTION_SHIFT} <> collection_id"
    ),
    "vectors have a length that is not their embedder's": (
        "SELECT count(*) FROM content_vectors v JOIN embedders e ON e.id = v.embedder_id "
        "WHERE octet_length(v.vector) <> 2 * e.dimension"
    ),
}


def _contradictions(db: apsw.Connection) -> Iterator[Fault]:
    """Rows of one table that another denies."""
    for words, query in _NEVER.items():
        (count,) = db.execute(query).fetchone() or (0,)
        if count:
            yield Fault(f"{count:,} {words}", REMAKE)
    texts = db.execute("SELECT hash, bytes, text FROM contents")
    changed = sum(
        (hashlib.sha256(data := text.encode("utf-8")).hexdigest(), len(data)) != (digest, size)
        for digest, size, text in texts
    )
    if changed:
        yield Fault(f"{changed:,} texts are not what was indexed", REMAKE)
    authors = db.execute("SELECT DISTINCT author, author_key FROM documents")
    changed = sum(author_key(author) != key for author, key in authors)
    if changed:
        yield Fault(f"{changed:,} authors are not what was indexed", REMAKE)


def _wrong_chunks(db: apsw.Connection) -> Iterator[Fault]:
    """Texts whose chunks do not cover them, or say other lines than they are on.

    Of a text that is not embedded completely the last chunks are there.
    """
    rows = db.execute(
        "SELECT t.text, group_concat(concat_ws(' ', v.seq, v.start, v.end, v.first_line, v.last_line), ',' "
        "ORDER BY v.seq) FROM content_vectors v JOIN contents t ON t.id = v.content_id "
        "GROUP BY v.embedder_id, v.content_id"
    )
    changed = 0
    for text, places in rows:
        chunks = [Chunk(*map(int, place.split())) for place in places.split(",")]
        spans = [(each.start, each.end) for each in chunks]
        first = chunks[0].seq
        covered = (first > 0) == (spans[0][0] > 0) and spans[-1][1] == len(text)
        covered &= all(after[0] <= before[1] for before, after in pairwise(spans))
        right = [replace(each, seq=each.seq + first) for each in numbered(text, spans)]
        changed += not covered or chunks != right
    if changed:
        yield Fault(f"{changed:,} texts have chunks that are not theirs", _REEMBED)


def _wrong_blocks(db: apsw.Connection) -> Iterator[Fault]:
    (uneven,) = db.execute(
        "SELECT count(*) FROM vectors_vec v JOIN embedders e ON e.id = v.embedder_id WHERE "
        "octet_length(ids) <> 8 * slots OR octet_length(scales) <> 4 * slots "
        "OR octet_length(codes) <> slots * e.dimension"
    ).fetchone() or (0,)
    if uneven:
        yield Fault(f"{uneven:,} vector blocks are cut short", _REEMBED)
        return
    changed = sum(map(_not_of_length_one, _vectors(db))) or _unlike_their_blocks(db)
    if changed:
        yield Fault(f"{changed:,} vectors are not what was embedded", _REEMBED)
    names = dict(db.execute("SELECT id, name FROM collections"))
    for found in audit(db):
        if not found.is_right:
            wrong = f"{found.missing:,} chunks are missing and {found.unknown:,} do not belong"
            yield Fault(f"in the vector blocks of '{names[found.collection]}' {wrong}", _REBUILD)


def _vectors(db: apsw.Connection) -> Iterator[NDArray[np.float32]]:
    """All vectors of chunks, in batches of one embedder: shape (n, dimension)."""
    import numpy as np

    for embedder, dimension in list(db.execute("SELECT id, dimension FROM embedders")):
        rows = db.execute(
            "SELECT vector FROM content_vectors WHERE embedder_id = ? AND octet_length(vector) = ?",
            (embedder, 2 * dimension),
        )
        while batch := list(islice(rows, _MEASURED)):
            joined = np.frombuffer(b"".join(vector for (vector,) in batch), dtype=np.float16)
            yield joined.reshape(len(batch), dimension).astype(np.float32)


def _unlike_their_blocks(db: apsw.Connection) -> int:
    """How many vectors in blocks are not those of their chunks."""
    import numpy as np

    unlike = 0
    for slots, ids, scales, codes in db.execute("SELECT slots, ids, scales, codes FROM vectors_vec"):
        chunks = np.frombuffer(ids, dtype=np.int64)
        steps = np.frombuffer(scales, dtype=np.float32)
        matrix = np.frombuffer(codes, dtype=np.int8).reshape(slots, -1)
        # Chunks that are not there are told of by the audit.
        rows = dict(
            db.execute(
                "SELECT id, vector FROM content_vectors WHERE id IN (SELECT value FROM json_each(?)) "
                "AND octet_length(vector) = ?",
                (json.dumps(chunks.tolist()), 2 * matrix.shape[1]),
            )
        )
        known = [at for at, chunk in enumerate(chunks) if int(chunk) in rows]
        if not known:
            continue
        whole = np.frombuffer(b"".join(rows[int(chunks[at])] for at in known), dtype=np.float16)
        vectors = whole.reshape(len(known), -1).astype(np.float32)
        step = steps[known][:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.abs(vectors - matrix[known] * step)
            # Written so that what is no number counts too.
            near = apart <= _NEAREST * np.abs(step) + _HALF * np.abs(vectors)
        unlike += int((~near.all(axis=1)).sum())
    return unlike


def _not_of_length_one(vectors: NDArray[np.float32]) -> int:
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors, axis=1)
    # Written so that what is no number counts too.
    return int((~(np.abs(lengths - 1.0) < _ROUNDED)).sum())
