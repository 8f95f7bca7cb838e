"""Chunks and their vectors. A search scans int8 blocks and rescores the best chunks in float32."""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw

from qmd.store.base import ChunkMatch, Embedded, Pending, Sampled, Scope, VectorSet
from qmd.store.records import new_chunks, other_dimension
from qmd.store.sqlite.blocks import append
from qmd.store.sqlite.database import Database, state_of
from qmd.store.sqlite.scope_filter import DocumentFilter, collection_ids, condition, filter_of, select
from qmd.types import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The best chunks by int8 that are rescored in float32. Quantizing changes a cosine by about 0.002, so the
#: true best ten are among the best fifty (measured in bench/).
_RESCORED = 50
#: If a filter leaves at most this many chunks, all of them are scored in float32.
_EXACT = 2_000
#: Filters whose chunks are cached between searches.
_CACHED_FILTERS = 8
#: Chunks whose tokens are counted together, and populations whose counts are cached between searches.
_COUNT_BATCH, _CACHED_POPULATIONS = 20_000, 8
#: The most bytes of decoded blocks that are cached between searches.
_CACHE_BYTES = 1 << 30

#: (block, version, identity of the index file). A restored file can have the same ids and versions again.
_Key: TypeAlias = tuple[int, int, object]
#: (chunk ids, scales, codes) of a decoded block.
_Block: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int8]]"

_CHUNK = "v.seq, v.start, v.end, v.first_line, v.last_line"

#: Chunks `v` of a text `t` by an embedder. Its fingerprint is the one parameter.
_OF_TEXT = "v.embedder_id = (SELECT id FROM embedders WHERE fingerprint = ?) AND v.content_id = t.id"
#: A text `t` that lacks vectors: the first chunk of a text is embedded last. One parameter, as above.
UNEMBEDDED = f"NOT EXISTS (SELECT 1 FROM content_vectors v WHERE {_OF_TEXT} AND v.seq = 0)"
#: The columns of a `Pending`, from `contents t`. One parameter, as above.
PENDING = (
    "t.id, (SELECT d.title FROM documents d WHERE d.content_id = t.id LIMIT 1), t.text, t.hash, "
    f"(SELECT min(v.seq) FROM content_vectors v WHERE {_OF_TEXT})"
)


class Vectors:
    """Vectors of chunks by embedder fingerprint."""

    def __init__(self, database: Database) -> None:
        self._database = database
        #: Caches of each thread for the current state of the index.
        self._local = threading.local()
        self._blocks: OrderedDict[_Key, _Block] = OrderedDict()
        self._cached_bytes = 0
        self._block_lock = threading.Lock()
        #: Token frequencies of populations, with the blocks from which they were counted.
        self._frequencies: dict[object, tuple[list[tuple[int, int]], tuple[int, NDArray[np.int64]]]] = {}

    def has_vectors(self, embedder: str, scope: Scope) -> bool:
        """Return whether any document of the scope's collections has vectors."""
        with self._database.errors():
            return any(self._block_rows(embedder, scope))

    def pending_count(self, embedder: str, scope: Scope) -> int:
        """Return the number of texts of a scope with chunks that lack vectors. Cached until a change."""
        documents = filter_of(self._database, scope)
        filters, values = condition(documents)
        with self._database.snapshot() as db:
            state = state_of(db)
            cache: tuple[object, dict[object, int]] | None = getattr(self._local, "pending", None)
            if cache is None or cache[0] != state:
                cache = self._local.pending = (state, {})
            key = (embedder, documents)
            if key in cache[1]:
                return cache[1][key]
            row = db.execute(
                "SELECT count(*) FROM "
                "(SELECT DISTINCT content_id FROM documents INDEXED BY documents_content "
                f"WHERE 1 {filters}) x WHERE NOT EXISTS (SELECT 1 FROM content_vectors v WHERE "
                "v.embedder_id = (SELECT id FROM embedders WHERE fingerprint = ?) "
                "AND v.content_id = x.content_id AND v.seq = 0)",
                (*values, embedder),
            ).fetchone()
            count = cache[1][key] = int(row[0]) if row else 0
            return count

    def pending_sizes(self, embedder: str, scope: Scope) -> list[int]:
        """Return the bytes still to embed of each text of a scope that lacks vectors."""
        filters, values = condition(filter_of(self._database, scope), "d")
        with self._database.errors():
            rows = self._database.connection().execute(
                "SELECT CASE WHEN x.start IS NULL THEN x.bytes ELSE "
                "x.bytes * x.start / (SELECT max(1, length(text)) FROM contents WHERE id = x.id) END FROM "
                "(SELECT t.id, t.bytes, "
                f"(SELECT min(v.start) FROM content_vectors v WHERE {_OF_TEXT}) AS start "
                f"FROM contents t WHERE {UNEMBEDDED} "
                f"AND EXISTS (SELECT 1 FROM documents d WHERE d.content_id = t.id {filters})) x",
                (embedder, embedder, *values),
            )
            return [int(size) for (size,) in rows]

    def pending(self, embedder: str, scope: Scope, after: int, limit: int) -> list[Pending]:
        """Return up to `limit` texts that lack vectors, in order of id, with ids greater than `after`."""
        filters, values = condition(filter_of(self._database, scope), "d")
        with self._database.errors():
            rows = self._database.connection().execute(
                f"SELECT {PENDING} FROM contents t WHERE t.id > ? AND EXISTS (SELECT 1 FROM documents d "
                f"WHERE d.content_id = t.id {filters}) AND {UNEMBEDDED} ORDER BY t.id LIMIT ?",
                (embedder, after, *values, embedder, limit),
            )
            return [Pending(*row) for row in rows]

    def add_vectors(self, into: VectorSet, batch: Sequence[Embedded]) -> None:
        """Store chunks with their vectors, in the blocks of every collection that has their texts."""
        import numpy as np

        with self._database.transaction() as db:
            dimension = batch[0].vectors.shape[1] if batch else 0
            identity = _embedder_id(db, into, dimension)
            frequencies: Counter[int] = Counter()
            by_collection: dict[int, tuple[list[int], list[NDArray[np.float32]]]] = {}
            added = 0
            for embedded in batch:
                if not _exists(db, embedded.content):
                    continue
                item = new_chunks(embedded, _stored(db, identity, embedded))
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

    def sample(self, embedder: str, count: int) -> list[Sampled]:
        """Return up to `count` first chunks with their vectors, spread over the index."""
        import numpy as np

        with self._database.snapshot() as db:
            row = db.execute(
                "SELECT e.id, min(v.id), max(v.id) FROM embedders e JOIN content_vectors v "
                "ON v.embedder_id = e.id WHERE e.fingerprint = ? GROUP BY e.id",
                (embedder,),
            ).fetchone()
            if row is None:
                return []
            identity, low, high = row
            samples: list[Sampled] = []
            after = low - 1
            for at in range(count):
                chosen = db.execute(
                    "SELECT v.id, (SELECT d.title FROM documents d WHERE d.content_id = t.id LIMIT 1), "
                    "t.text, v.start, v.end, v.vector FROM content_vectors v JOIN contents t "
                    "ON t.id = v.content_id WHERE v.id > ? AND v.embedder_id = ? AND v.seq = 0 "
                    "ORDER BY v.id LIMIT 1",
                    (max(after, low - 1 + (high - low) * at // count), identity),
                ).fetchone()
                if chosen is None:
                    break
                after, title, text, start, end, vector = chosen
                values = np.frombuffer(vector, dtype=np.float16).astype(np.float32)
                samples.append(Sampled(title or "", text[start:end], values))
            return samples

    def token_frequencies(
        self, embedder: str, tokens: Sequence[int], population: Sequence[str] | None = None
    ) -> tuple[int, list[int]]:
        """Return (number of embedded chunks, number of chunks with each token)."""
        if population is not None:
            chunks, frequencies = self._frequencies_within(embedder, Scope(tuple(population)))
            return chunks, [int(frequencies[token]) if token < len(frequencies) else 0 for token in tokens]
        with self._database.snapshot() as db:
            row = db.execute("SELECT id, chunks FROM embedders WHERE fingerprint = ?", (embedder,)).fetchone()
            if row is None:
                return 0, [0] * len(tokens)
            identity, chunks = row
            counts: list[int] = []
            for token in tokens:
                count = db.execute(
                    "SELECT chunks FROM token_frequencies WHERE embedder_id = ? AND token = ?",
                    (identity, token),
                ).fetchone()
                counts.append(count[0] if count else 0)
            return chunks, counts

    def _frequencies_within(self, embedder: str, scope: Scope) -> tuple[int, NDArray[np.int64]]:
        """Return (chunks, chunks by token) of a scope's collections. Cached until their blocks change."""
        import numpy as np

        with self._database.snapshot() as db:
            blocks = sorted(self._block_rows(embedder, scope))
            key = (embedder, scope.collections, self._database.identity())
            cached = self._frequencies.get(key)
            if cached is not None and cached[0] == blocks:
                return cached[1]
            listed = json.dumps([identity for identity, _ in blocks])
            rows = db.execute(
                "SELECT ids FROM vectors_vec WHERE id IN (SELECT value FROM json_each(?))", (listed,)
            )
            ids = np.concatenate([np.zeros(0, np.int64), *(np.frombuffer(row[0], np.int64) for row in rows)])
            chunks, frequencies = 0, np.zeros(0, np.int64)
            # The chunks of a text are in the blocks of each collection that has the text.
            ids = np.unique(ids[ids > 0])
            for at in range(0, len(ids), _COUNT_BATCH):
                blobs = [
                    row[0]
                    for row in db.execute(
                        "SELECT tokens FROM content_vectors WHERE tokens IS NOT NULL "
                        "AND id IN (SELECT value FROM json_each(?))",
                        (json.dumps(ids[at : at + _COUNT_BATCH].tolist()),),
                    )
                ]
                added = np.bincount(np.frombuffer(b"".join(blobs), np.uint32), minlength=len(frequencies))
                added[: len(frequencies)] += frequencies
                chunks, frequencies = chunks + len(blobs), added
            self._frequencies[key] = (blocks, (chunks, frequencies))
            while len(self._frequencies) > _CACHED_POPULATIONS:
                self._frequencies.pop(next(iter(self._frequencies)), None)
            return chunks, frequencies

    def dense(self, embedder: str, vector: NDArray[np.float32], scope: Scope, limit: int) -> list[ChunkMatch]:
        """Return the best documents by the cosine of their best chunk with `vector` (unit length)."""
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

    def similarities(
        self, embedder: str, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> dict[int, ChunkMatch]:
        """Return the exact best chunk of each document by id, without documents that have no vectors."""
        import numpy as np

        matches: dict[int, ChunkMatch] = {}
        with self._database.snapshot() as db:
            _check_dimension(db, embedder, vector)
            for document in ids:
                rows: list[Any] = db.execute(
                    f"SELECT {_CHUNK}, v.vector FROM documents d JOIN content_vectors v "
                    "ON v.content_id = d.content_id JOIN embedders e ON e.id = v.embedder_id "
                    "WHERE d.id = ? AND e.fingerprint = ?",
                    (document, embedder),
                ).fetchall()
                if rows:
                    matrix = np.frombuffer(b"".join(row[5] for row in rows), dtype=np.float16)
                    cosines = _cosines(matrix.reshape(len(rows), -1), vector)
                    best = int(cosines.argmax())
                    matches[document] = ChunkMatch(document, Chunk(*rows[best][:5]), float(cosines[best]))
        return matches

    def _block_rows(self, embedder: str, scope: Scope) -> Iterable[tuple[int, int]]:
        """Return (block, version) of the blocks of a scope's collections."""
        for collection in collection_ids(self._database, scope.collections):
            yield from self._database.connection().execute(
                "SELECT id, version FROM vectors_vec WHERE collection_id = ? "
                "AND embedder_id = (SELECT id FROM embedders WHERE fingerprint = ?)",
                (collection, embedder),
            )

    def _filtered(
        self, db: apsw.Connection, embedder: str, documents: DocumentFilter
    ) -> NDArray[np.int64] | None:
        """Return the ids of chunks that pass the filters on columns, or None if there are no filters."""
        import numpy as np

        if not documents.filters:
            return None
        if documents.is_empty:
            return np.zeros(0, np.int64)
        # A filter with many documents takes long to read, so results are cached until the index changes.
        cached_state: object
        cache: dict[tuple[str, DocumentFilter], NDArray[np.int64]]
        cached_state, cache = getattr(self._local, "chosen", (None, {}))
        if cached_state != (state := state_of(db)) or len(cache) >= _CACHED_FILTERS:
            cache = {}
            self._local.chosen = (state, cache)
        if (embedder, documents) in cache:
            return cache[embedder, documents]
        joined = (
            "CROSS JOIN content_vectors v ON v.content_id = d.content_id "
            "AND v.embedder_id = (SELECT id FROM embedders WHERE fingerprint = ?)"
        )
        query, values = select(documents, "v.id", joined)
        # The chunks of a text appear once for each of its documents.
        filtered = np.unique(
            np.fromiter((row[0] for row in db.execute(query, (embedder, *values))), np.int64)
        )
        cache[embedder, documents] = filtered
        return filtered

    def _nearest(
        self,
        db: apsw.Connection,
        embedder: str,
        vector: NDArray[np.float32],
        scope: Scope,
        count: int,
        filtered: NDArray[np.int64] | None,
    ) -> tuple[list[int], int]:
        """Return the `count` best chunks by int8 score, and the number of scored chunks.

        `filtered` limits the search to these chunks.
        """
        import numpy as np
        import simsimd

        peak = float(np.abs(vector).max()) or 1.0
        query = np.rint(vector / (peak / 127.0)).astype(np.int8)[None, :]
        file = self._database.identity()
        blocks = [self._block(db, (*row, file)) for row in list(self._block_rows(embedder, scope))]
        blocks = [block for block in blocks if len(block[0])]
        if not blocks:
            return [], 0
        ids = np.concatenate([block[0] for block in blocks])
        scores = np.empty(len(ids), np.float32)
        at = 0
        for slots, scales, codes in blocks:
            products = np.asarray(simsimd.cdist(query, codes, metric="dot"))[0]
            np.multiply(products, scales, out=scores[at : at + len(slots)], casting="same_kind")
            at += len(slots)
        if filtered is not None:
            passed = np.isin(ids, filtered)
            ids, scores = ids[passed], scores[passed]
            if not len(ids):
                return [], 0
        count = min(count, len(scores))
        best = np.argpartition(-scores, count - 1)[:count]
        return [int(chunk) for chunk in ids[best] if chunk > 0], len(scores)

    def _block(self, db: apsw.Connection, key: _Key) -> _Block:
        """Return a decoded block, from the cache if possible."""
        import numpy as np

        with self._block_lock:
            cached = self._blocks.get(key)
            if cached is not None:
                self._blocks.move_to_end(key)
                return cached
        row = db.execute("SELECT ids, scales, codes FROM vectors_vec WHERE id = ?", (key[0],)).fetchone()
        if row is None:
            return np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros((0, 0), np.int8)
        ids = np.frombuffer(row[0], dtype=np.int64)
        block = (
            ids,
            # An empty slot scores NaN, which sorts after every number.
            np.where(ids > 0, np.frombuffer(row[1], dtype=np.float32), np.float32(np.nan)),
            np.frombuffer(row[2], dtype=np.int8).reshape(len(ids), -1),
        )
        size = sum(len(blob) for blob in row)
        with self._block_lock:
            for stale in [other for other in self._blocks if other[0] == key[0] or other[2] != key[2]]:
                self._cached_bytes -= _size(self._blocks.pop(stale))
            self._blocks[key] = block
            self._cached_bytes += size
            while self._cached_bytes > _CACHE_BYTES and len(self._blocks) > 1:
                self._cached_bytes -= _size(self._blocks.popitem(last=False)[1])
        return block


def _size(block: _Block) -> int:
    return sum(part.nbytes for part in block)


def _embedder_id(db: apsw.Connection, vector_set: VectorSet, dimension: int) -> int:
    db.execute(
        "INSERT INTO embedders (fingerprint, name, dimension, model, source) VALUES (?1, ?2, ?3, ?4, ?5) "
        "ON CONFLICT DO UPDATE SET name = ?2, model = ?4, source = ?5",
        (vector_set.fingerprint, vector_set.name, dimension, vector_set.model, vector_set.source),
    )
    row = db.execute(
        "SELECT id, dimension FROM embedders WHERE fingerprint = ?", (vector_set.fingerprint,)
    ).fetchone()
    assert row is not None
    identity, before = int(row[0]), int(row[1])
    if before != dimension:
        if db.execute("SELECT 1 FROM content_vectors WHERE embedder_id = ? LIMIT 1", (identity,)).fetchone():
            raise other_dimension(vector_set.name, before, dimension)
        db.execute("UPDATE embedders SET dimension = ? WHERE id = ?", (dimension, identity))
    return identity


def _check_dimension(db: apsw.Connection, fingerprint: str, vector: NDArray[np.float32]) -> None:
    """Raise `ModelError` if a vector cannot be compared with the vectors of the index."""
    sql = "SELECT name, dimension FROM embedders WHERE fingerprint = ?"
    row = db.execute(sql, (fingerprint,)).fetchone()
    if row is not None and row[1] != len(vector):
        raise other_dimension(str(row[0]), int(row[1]), len(vector))


def _exists(db: apsw.Connection, content: int) -> bool:
    return db.execute("SELECT 1 FROM contents WHERE id = ?", (content,)).fetchone() is not None


def _stored(db: apsw.Connection, embedder: int, item: Embedded) -> set[int]:
    """Return the numbers of a text's chunks that have vectors, up to the chunk after `item`."""
    rows = db.execute(
        "SELECT seq FROM content_vectors WHERE embedder_id = ? AND content_id = ? AND seq <= ?",
        (embedder, item.content, item.chunks[-1].seq + 1),
    )
    return {int(seq) for (seq,) in rows}


def _store_chunks(db: apsw.Connection, embedder: int, item: Embedded) -> list[int]:
    """Insert chunks with their vectors and return their ids."""
    import numpy as np

    ids: list[int] = []
    for chunk, vector, tokens in zip(item.chunks, item.vectors.astype(np.float16), item.tokens, strict=True):
        db.execute(
            "INSERT INTO content_vectors "
            "(embedder_id, content_id, seq, start, end, first_line, last_line, vector, tokens) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                embedder,
                item.content,
                chunk.seq,
                chunk.start,
                chunk.end,
                chunk.first_line,
                chunk.last_line,
                vector.tobytes(),
                # A chunk without tokens was copied from another store.
                np.unique(np.asarray(tokens, np.uint32)).tobytes() if len(tokens) else None,
            ),
        )
        ids.append(int(db.last_insert_rowid()))
    return ids


def _cosines(matrix: NDArray[np.float16], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the product of each row with a vector. The result does not depend on the other rows."""
    import numpy as np

    # `@` would add in an order that depends on the position of a row.
    cosines: NDArray[np.float32] = (matrix.astype(np.float32) * vector).sum(axis=1)
    return cosines


def _rescored(
    db: apsw.Connection, ids: Sequence[int], vector: NDArray[np.float32]
) -> list[tuple[float, int, Chunk]]:
    """Return (cosine, text, chunk) of chunks, best first."""
    import numpy as np

    rows: list[Any] = db.execute(
        f"SELECT v.content_id, {_CHUNK}, v.vector FROM content_vectors v "
        "WHERE v.id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    ).fetchall()
    if not rows:
        return []
    matrix = np.frombuffer(b"".join(row[6] for row in rows), dtype=np.float16).reshape(len(rows), -1)
    cosines = _cosines(matrix, vector)
    scored = [(float(cosine), row[0], Chunk(*row[1:6])) for cosine, row in zip(cosines, rows, strict=True)]
    scored.sort(key=lambda entry: (-entry[0], entry[1], entry[2].seq))
    return scored


def _documents(
    db: apsw.Connection, scored: Sequence[tuple[float, int, Chunk]], documents: DocumentFilter, limit: int
) -> list[ChunkMatch]:
    """Return the best `limit` documents of scored chunks, each with its best chunk."""
    filters, values = condition(documents)
    matches: list[ChunkMatch] = []
    seen: set[int] = set()
    for cosine, content, chunk in scored:
        if content in seen:
            continue
        if len(matches) >= limit and cosine < matches[-1].similarity:
            break
        seen.add(content)
        rows = db.execute(f"SELECT id FROM documents WHERE content_id = ? {filters}", (content, *values))
        matches.extend(ChunkMatch(row[0], chunk, cosine) for row in rows)
    # Sort ties by document: the order of text ids would reveal which texts another collection had first.
    matches.sort(key=lambda match: (-match.similarity, match.document))
    return matches[:limit]
