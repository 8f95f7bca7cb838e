"""Chunks and their vectors. A search scans int8 blocks and rescores the best chunks in float32."""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw
import numpy as np
import simsimd
from msgspec.structs import astuple
from numpy.typing import NDArray

from qmd.store import base
from qmd.store.records import new_chunks, other_dimension
from qmd.store.sqlite.blocks import append, decode
from qmd.store.sqlite.database import EMBEDDER, LISTED, Cache, Database, SqlitePart
from qmd.store.sqlite.scope_filter import DocumentFilter, block_versions, condition, filter_of, select
from qmd.store.values import ChunkMatch, Embedded, EmbeddedSample, Scope, VectorSet
from qmd.types import Chunk

if TYPE_CHECKING:
    from qmd.store.values import Floats

#: The best chunks by int8 that are rescored in float32. Quantizing changes a cosine by about 0.002, so the
#: true best ten are among the best fifty (measured in bench/).
_RESCORED = 50
#: If a filter leaves at most this many chunks, all of them are scored in float32.
_EXACT = 2_000
#: Filters whose chunks are cached between searches.
_CACHED_FILTERS = 8
#: The most bytes of decoded blocks that are cached between searches.
_CACHE_BYTES = 1 << 30

#: Blocks with ids in a range of this many are decoded, cached and scanned as one. The call for a block of its
#: own takes as long as its scan; if one block changes, all of its group are read again.
_GROUPED = 32

#: The part of the first group whose best tell which others can be among the best, in times of these.
_PART = 20

#: (embedder, collection, group, identity of the index file). A restored file can have the same ids again.
_Key: TypeAlias = tuple[str, int, int, object]
#: (id, version) of each block of a group.
_Versions: TypeAlias = tuple[tuple[int, int], ...]
#: (chunk ids, scales, codes) of a group.
_Group: TypeAlias = "tuple[NDArray[np.int64], Floats, NDArray[np.int8]]"

_CHUNK = "v.seq, v.start, v.end, v.first_line, v.last_line"


class Vectors(SqlitePart, base.Vectors):
    """Rows of the table `content_vectors`, and the blocks that a search scans."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._filters = Cache(_CACHED_FILTERS)
        self._scans = Cache(_CACHED_FILTERS)
        self._decoded: OrderedDict[_Key, tuple[_Versions, _Group]] = OrderedDict()
        self._cached_bytes = 0
        self._group_lock = threading.Lock()

    def exist(self, embedder: str, scope: Scope) -> bool:
        return any(block_versions(self._database, embedder, scope))

    def add(self, into: VectorSet, batch: Sequence[Embedded]) -> None:
        with self._database.transaction() as db:
            dimension = batch[0].vectors.shape[1] if batch else 0
            identity = _embedder_id(db, into, dimension)
            frequencies: Counter[int] = Counter()
            by_collection: dict[int, tuple[list[int], list[Floats]]] = {}
            added = 0
            for embedded in batch:
                is_indexed = db.execute("SELECT 1 FROM contents WHERE id = ?", (embedded.content,)).get
                item = new_chunks(embedded, _stored(db, identity, embedded)) if is_indexed else None
                if item is None:
                    continue
                ids = _store_chunks(db, identity, item)
                added += len(ids)
                if item.chunks[0].seq == 0:
                    db.execute(
                        "DELETE FROM leases WHERE embedder = ? AND content_id = ?",
                        (into.fingerprint, item.content),
                    )
                for tokens in item.tokens:
                    frequencies.update(set(tokens))
                collections = db.execute(
                    "SELECT DISTINCT collection_id FROM documents WHERE content_id = ?", (item.content,)
                )
                for (collection,) in collections:
                    collection_chunks, vectors = by_collection.setdefault(collection, ([], []))
                    collection_chunks.extend(ids)
                    vectors.append(item.vectors)
            for collection, (ids, vectors) in by_collection.items():
                append(db, identity, collection, ids, np.concatenate(vectors))
            db.executemany(
                "INSERT INTO token_frequencies VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET chunks = chunks + ?3",
                ((identity, token, count) for token, count in frequencies.items()),
            )
            db.execute("UPDATE embedders SET chunks = chunks + ? WHERE id = ?", (added, identity))

    def sample(self, embedder: str, count: int) -> list[EmbeddedSample]:
        with self._database.snapshot() as db:
            identity, low, high = db.execute(
                "SELECT e.id, min(v.id), max(v.id) FROM embedders e JOIN content_vectors v "
                "ON v.embedder_id = e.id WHERE e.fingerprint = ? GROUP BY e.id",
                (embedder,),
            ).get or (0, 0, 0)
            samples: list[EmbeddedSample] = []
            after = low - 1
            for at in range(count):
                chosen = db.execute(
                    "SELECT v.id, (SELECT d.title FROM documents d WHERE d.content_id = t.id LIMIT 1), "
                    "t.text, v.start, v.end, v.vector FROM content_vectors v JOIN contents t "
                    "ON t.id = v.content_id WHERE v.id > ? AND v.embedder_id = ? AND v.seq = 0 "
                    "ORDER BY v.id LIMIT 1",
                    (max(after, low - 1 + (high - low) * at // count), identity),
                ).get
                if chosen is None:
                    break
                after, title, text, start, end, vector = chosen
                samples.append(EmbeddedSample(title or "", text[start:end], decode([vector])[0]))
            return samples

    def of_texts(self, embedder: str, hashes: Sequence[str]) -> dict[str, tuple[list[Chunk], Floats]]:
        by_hash: dict[str, tuple[list[Chunk], list[bytes]]] = {}
        rows = self._database.rows(
            # In this order: SQLite would read all vectors of the embedder.
            f"SELECT t.hash, v.vector, {_CHUNK} FROM json_each(?) h "
            "CROSS JOIN contents t ON t.hash = h.value CROSS JOIN content_vectors v ON v.content_id = t.id "
            f"WHERE v.embedder_id = {EMBEDDER} ORDER BY t.id, v.seq",
            (json.dumps(list(hashes)), embedder),
        )
        for digest, vector, *chunk in rows:
            chunks, vectors = by_hash.setdefault(digest, ([], []))
            chunks.append(Chunk(*chunk))
            vectors.append(vector)
        return {digest: (chunks, decode(vectors)) for digest, (chunks, vectors) in by_hash.items()}

    def search(self, embedder: str, vector: Floats, scope: Scope, limit: int) -> list[ChunkMatch]:
        with self._database.snapshot() as db:
            _check_dimension(db, embedder, vector)
            count = max(_RESCORED, 3 * limit)
            documents = filter_of(self._database, scope)
            filtered = self._filtered(db, embedder, documents)
            if filtered is not None and len(filtered) <= _EXACT:
                return _documents(db, _rescored(db, filtered.tolist(), vector), documents, limit)
            while True:
                ids, scanned = self._nearest(db, embedder, vector, scope, count, filtered)
                matches = _documents(db, _rescored(db, ids, vector), documents, limit)
                # Several chunks of one document can fill the list. Search for more until there are enough.
                if len(matches) >= limit or count >= scanned:
                    return matches
                count *= 4

    def similarities(self, embedder: str, vector: Floats, ids: Sequence[int]) -> dict[int, ChunkMatch]:
        matches: dict[int, ChunkMatch] = {}
        with self._database.snapshot() as db:
            _check_dimension(db, embedder, vector)
            for document in ids:
                query = (
                    f"SELECT v.vector, {_CHUNK} FROM documents d "
                    "JOIN content_vectors v ON v.content_id = d.content_id "
                    f"WHERE d.id = ? AND v.embedder_id = {EMBEDDER}"
                )
                if rows := list(db.execute(query, (document, embedder))):
                    cosines = _cosines(rows, vector)
                    best = int(cosines.argmax())
                    matches[document] = ChunkMatch(document, Chunk(*rows[best][1:]), float(cosines[best]))
        return matches

    def _filtered(
        self, db: apsw.Connection, embedder: str, documents: DocumentFilter
    ) -> NDArray[np.int64] | None:
        """Return the ids of chunks that pass the filters on columns, or None if there are no filters."""
        if documents.where is None:
            return None
        if documents.is_empty:
            return np.zeros(0, np.int64)
        # A filter with many documents takes long to read.
        cache: dict[object, NDArray[np.int64]] = self._filters.of(db)
        key = (embedder, documents)
        if key in cache:
            return cache[key]
        joined = f"CROSS JOIN content_vectors v ON v.content_id = d.content_id AND v.embedder_id = {EMBEDDER}"
        query, values = select(documents, "v.id", joined)
        # The chunks of a text appear once for each of its documents.
        chunks = (row[0] for row in db.execute(query, (embedder, *values)))
        cache[key] = np.unique(np.fromiter(chunks, np.int64))
        return cache[key]

    def _nearest(
        self,
        db: apsw.Connection,
        embedder: str,
        vector: Floats,
        scope: Scope,
        count: int,
        filtered: NDArray[np.int64] | None,
    ) -> tuple[list[int], int]:
        """Return the `count` best chunks by int8 score, and the number of scored chunks.

        `filtered` limits the search to these chunks.
        """
        peak = float(np.abs(vector).max()) or 1.0
        query = np.rint(vector / (peak / 127.0)).astype(np.int8)
        best_ids, best = np.zeros(0, np.int64), np.zeros(0)
        floor, scored = -np.inf, 0
        # The scales of a damaged block can be no numbers.
        with np.errstate(invalid="ignore", over="ignore"):
            for ids, scales, codes in self._groups(db, embedder, scope):
                scores = np.asarray(simsimd.dot(query, codes)) * scales
                if filtered is not None:
                    passed = np.isin(ids, filtered)
                    ids, scores = ids[passed], scores[passed]
                scored += len(ids)
                # Few chunks are better than the best before, so hardly any are sorted. NaN never is.
                if len(best) < count:
                    floor = _reached(scores[: _PART * count], count)
                better = np.flatnonzero(scores >= floor)
                if not len(better):
                    continue
                best_ids = np.concatenate((best_ids, ids[better]))
                best = np.concatenate((best, scores[better]))
                if len(best) > count:
                    kept = np.argpartition(best, -count)[-count:]
                    best_ids, best = best_ids[kept], best[kept]
                    floor = best.min()
        return best_ids.tolist(), scored

    def _groups(self, db: apsw.Connection, embedder: str, scope: Scope) -> Iterator[_Group]:
        """Yield the decoded blocks of a scope in groups, from the cache if possible."""
        scans: dict[tuple[str, tuple[str, ...]], list[tuple[_Key, _Versions]]] = self._scans.of(db)
        scan = (embedder, scope.collections)
        if scan not in scans:
            file = self._database.identity()
            versions = block_versions(self._database, embedder, scope)
            scans[scan] = [
                ((embedder, *number, file), tuple(block[1:] for block in blocks))
                for number, blocks in groupby(versions, key=lambda block: (block[0], block[1] // _GROUPED))
            ]
        for key, blocks in scans[scan]:
            group = self._group(db, key, blocks)
            if len(group[0]):
                yield group

    def _group(self, db: apsw.Connection, key: _Key, versions: _Versions) -> _Group:
        """Return decoded blocks, from the cache if they have not changed."""
        with self._group_lock:
            cached = self._decoded.get(key)
            if cached is not None and cached[0] == versions:
                self._decoded.move_to_end(key)
                return cached[1]
        group = _decoded(db, [block for block, _ in versions])
        with self._group_lock:
            for stale in [other for other in self._decoded if other == key or other[-1] != key[-1]]:
                self._cached_bytes -= _size(self._decoded.pop(stale)[1])
            self._decoded[key] = versions, group
            self._cached_bytes += _size(group)
            while self._cached_bytes > _CACHE_BYTES and len(self._decoded) > 1:
                self._cached_bytes -= _size(self._decoded.popitem(last=False)[1][1])
        return group


def _reached(scores: NDArray[np.floating], count: int) -> float:
    """Return the best score that `count` of some scores reach; -inf if there are not so many numbers."""
    numbers = scores[scores > -np.inf]
    return float(np.partition(numbers, -count)[-count]) if len(numbers) >= count else -np.inf


def _decoded(db: apsw.Connection, blocks: Sequence[int]) -> _Group:
    """Return decoded blocks as one."""
    rows = [db.execute("SELECT ids, scales, codes FROM vectors_vec WHERE id = ?", (id,)).get for id in blocks]
    ids_of, scales_of, codes_of = zip(*(row for row in rows if row), strict=True)
    ids = np.frombuffer(b"".join(ids_of), np.int64)
    # An empty slot scores NaN, which is not better than any number.
    scales = np.where(ids > 0, np.frombuffer(b"".join(scales_of), np.float32), np.float32(np.nan))
    # NumPy asks for large pages for its own arrays. A scan of other memory takes a fifth more time.
    codes = np.concatenate([np.frombuffer(part, np.int8) for part in codes_of])
    return ids, scales, codes.reshape(len(ids), -1)


def _size(group: _Group) -> int:
    return sum(part.nbytes for part in group)


def _embedder_id(db: apsw.Connection, vector_set: VectorSet, dimension: int) -> int:
    identity, before = db.execute(
        "INSERT INTO embedders (fingerprint, name, dimension, model, source) VALUES (?1, ?2, ?3, ?4, ?5) "
        "ON CONFLICT DO UPDATE SET name = ?2, model = ?4, source = ?5 RETURNING id, dimension",
        (vector_set.fingerprint, vector_set.name, dimension, vector_set.model, vector_set.source),
    ).get
    if before != dimension:
        if db.execute("SELECT 1 FROM content_vectors WHERE embedder_id = ? LIMIT 1", (identity,)).get:
            raise other_dimension(vector_set.name, before, dimension)
        db.execute("UPDATE embedders SET dimension = ? WHERE id = ?", (dimension, identity))
    return int(identity)


def _check_dimension(db: apsw.Connection, fingerprint: str, vector: Floats) -> None:
    """Raise `ModelError` if a vector cannot be compared with the vectors of the index."""
    sql = "SELECT name, dimension FROM embedders WHERE fingerprint = ?"
    name, dimension = db.execute(sql, (fingerprint,)).get or ("", len(vector))
    if dimension != len(vector):
        raise other_dimension(name, dimension, len(vector))


def _stored(db: apsw.Connection, embedder: int, item: Embedded) -> set[int]:
    """Return the numbers of a text's chunks that have vectors, up to the chunk after `item`."""
    rows = db.execute(
        "SELECT seq FROM content_vectors WHERE embedder_id = ? AND content_id = ? AND seq <= ?",
        (embedder, item.content, item.chunks[-1].seq + 1),
    )
    return {int(seq) for (seq,) in rows}


def _store_chunks(db: apsw.Connection, embedder: int, item: Embedded) -> list[int]:
    """Insert chunks with their vectors and return their ids."""
    ids: list[int] = []
    for chunk, vector, tokens in zip(item.chunks, item.vectors.astype(np.float16), item.tokens, strict=True):
        db.execute(
            "INSERT INTO content_vectors "
            "(embedder_id, content_id, seq, start, end, first_line, last_line, vector, tokens) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                embedder,
                item.content,
                *astuple(chunk),
                vector.tobytes(),
                # A chunk without tokens was copied from another store.
                np.unique(np.asarray(tokens, np.uint32)).tobytes() if len(tokens) else None,
            ),
        )
        ids.append(int(db.last_insert_rowid()))
    return ids


def _cosines(rows: Sequence[tuple[bytes, ...]], vector: Floats) -> Floats:
    """Return the product of each row's vector, its first column, with a vector of the same dimension."""
    # `@` would add in an order that depends on the position of a row. Damaged vectors can be no numbers.
    with np.errstate(invalid="ignore", over="ignore"):
        cosines: Floats = (decode([row[0] for row in rows]) * vector).sum(axis=1)
    return cosines


def _rescored(db: apsw.Connection, ids: Sequence[int], vector: Floats) -> list[tuple[float, int, Chunk]]:
    """Return (cosine, text, chunk) of chunks, best first."""
    rows: list[Any] = db.execute(
        f"SELECT v.vector, v.content_id, {_CHUNK} FROM content_vectors v WHERE v.id IN {LISTED}",
        (json.dumps(ids),),
    ).fetchall()
    if not rows:
        return []
    cosines = _cosines(rows, vector)
    scored = [(float(cosine), row[1], Chunk(*row[2:])) for cosine, row in zip(cosines, rows, strict=True)]
    scored.sort(key=lambda entry: (-entry[0], entry[1], entry[2].seq))
    return scored


def _documents(
    db: apsw.Connection, scored: Sequence[tuple[float, int, Chunk]], documents: DocumentFilter, limit: int
) -> list[ChunkMatch]:
    """Return the best `limit` documents of scored chunks, each with its best chunk."""
    filters, values = condition(documents)
    query = (
        "SELECT documents.content_id, documents.id, c.name || '/' || documents.path FROM json_each(?) found "
        "CROSS JOIN documents INDEXED BY documents_content ON documents.content_id = found.value "
        "CROSS JOIN collections c ON c.id = documents.collection_id "
        f"WHERE 1 {filters}"
    )
    best: dict[int, tuple[float, Chunk]] = {}
    for cosine, content, chunk in scored:
        best.setdefault(content, (cosine, chunk))
    matches: list[ChunkMatch] = []
    files: dict[int, str] = {}
    contents = iter(best)
    while part := list(islice(contents, limit)):
        if len(matches) >= limit and best[part[0]][0] < matches[-1].similarity:
            break
        ids: dict[int, list[int]] = {content: [] for content in part}
        for content, document, file in db.execute(query, (json.dumps(part), *values)):
            ids[content].append(document)
            files[document] = file
        for content in part:
            cosine, chunk = best[content]
            matches += [ChunkMatch(document, chunk, cosine) for document in ids[content]]
    # Ties by path: the order of text ids would reveal which texts another collection had first.
    matches.sort(key=lambda match: (-match.similarity, files[match.document]))
    return matches[:limit]
