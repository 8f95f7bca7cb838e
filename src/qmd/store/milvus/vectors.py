"""Chunks and their vectors: one Milvus collection for each embedder, one row for each chunk of a document.

`DOCUMENTS` alone says which text a document has. Chunks that disagree with it are left out of all results.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.store.base import ChunkMatch, Embedded, Pending, Sampled, Scope, VectorSet
from qmd.store.milvus.chunks import Chunks, chunk_of
from qmd.store.milvus.client import HEAVY, MAX_ROWS, Client, Row
from qmd.store.milvus.documents import Documents
from qmd.store.milvus.ids import content_id
from qmd.store.milvus.leases import Leases
from qmd.store.milvus.schema import DOCUMENTS, MAX_ARRAY, token_table, vector_table
from qmd.store.milvus.state import State
from qmd.store.milvus.token_stats import TokenStats
from qmd.store.records import new_chunks, other_dimension
from qmd.types import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Chunks to search for each requested document, and the minimum.
_DEPTH_FACTOR, _DEPTH = 3, 50
_CHUNK_FIELDS = ("seq", "start", "end", "first_line", "last_line")


class Vectors:
    """Vectors of chunks by embedder fingerprint."""

    def __init__(
        self,
        client: Client,
        state: State,
        documents: Documents,
        chunks: Chunks,
        leases: Leases,
        token_stats: TokenStats,
    ) -> None:
        self._client = client
        self._state = state
        self._documents = documents
        self._chunks = chunks
        self._leases = leases
        self._token_stats = token_stats
        #: The texts that `pending` found when it was last called from the beginning: (embedder, scope, ids).
        self._queue: tuple[str, Scope, list[int]] | None = None

    # -- texts without vectors -----------------------------------------------------------------------------

    def has_vectors(self, embedder: str, scope: Scope) -> bool:
        """Return whether any document of the scope's collections has vectors."""
        where = self._state.filter_of(Scope(scope.collections))
        return where is not None and bool(self._client.query(vector_table(embedder), where, ["id"], limit=1))

    def pending_count(self, embedder: str, scope: Scope) -> int:
        """Return the number of texts of a scope with chunks that lack vectors."""
        where = self._state.filter_of(scope)
        if where is None:
            return 0
        documents = self._client.count(DOCUMENTS, where)
        # Usually nothing is pending, and comparing two counts is enough to know it.
        if documents == self._client.count(vector_table(embedder), f"{where} and seq == 0"):
            return 0
        return len(self.unembedded(embedder, scope))

    def pending_sizes(self, embedder: str, scope: Scope) -> list[int]:
        """Return the bytes still to embed of each text of a scope that lacks vectors."""
        sizes = self.unembedded(embedder, scope)
        first_chunks = self._first_embedded(embedder, sizes)
        texts = self._documents.contents(first_chunks)
        for content, chunk in first_chunks.items():
            sizes[content] = sizes[content] * chunk.start // max(1, len(texts.get(content, "")))
        return list(sizes.values())

    def pending(self, embedder: str, scope: Scope, after: int, limit: int) -> list[Pending]:
        """Return up to `limit` texts that lack vectors, in order of id, with ids greater than `after`."""
        if self._queue is None or after == 0 or self._queue[:2] != (embedder, scope):
            self._queue = (embedder, scope, sorted(self.unembedded(embedder, scope)))
        contents = self._queue[2]
        start = bisect_right(contents, after)
        return self.read(embedder, contents[start : start + limit], scope)

    def read(self, embedder: str, contents: Sequence[int], scope: Scope) -> list[Pending]:
        """Return texts to embed by their ids, without texts that no document of the scope has any more."""
        where = self._state.filter_of(scope)
        if where is None or not contents:
            return []
        fields = ["id", "content", "title", "hash"]
        rows = list(self._client.among(DOCUMENTS, "content", contents, fields, where=where, reading="strong"))
        # If several documents have a text, all workers must use the title of the same document.
        documents = {int(row["content"]): row for row in sorted(rows, key=lambda row: -int(row["id"]))}
        texts = self._documents.contents(contents)
        first_chunks = self._first_embedded(embedder, contents)
        return [
            Pending(
                content,
                str(documents[content]["title"]),
                texts[content],
                str(documents[content]["hash"]),
                first_chunks[content].seq if content in first_chunks else None,
            )
            for content in contents
            if content in documents and content in texts
        ]

    def unembedded(self, embedder: str, scope: Scope) -> dict[int, int]:
        """Return the bytes of each text of a scope that lacks vectors, by id."""
        where = self._state.filter_of(scope)
        if where is None:
            return {}
        documents = self._client.all(DOCUMENTS, where, ["content", "bytes"])
        sizes = {int(row["content"]): int(row["bytes"]) for row in documents}
        for row in self._client.all(vector_table(embedder), f"{where} and seq == 0", ["content"]):
            sizes.pop(int(row["content"]), None)
        return sizes

    def embedded(self, embedder: str, contents: Iterable[int]) -> set[int]:
        """Return the texts that have vectors for all their chunks."""
        rows = self._client.among(
            vector_table(embedder), "content", contents, ["content"], where="seq == 0", reading="strong"
        )
        return {int(row["content"]) for row in rows}

    def _first_embedded(self, embedder: str, contents: Iterable[int]) -> dict[int, Chunk]:
        """Return the first chunk with a vector of each text, without texts that have no vectors."""
        first: dict[int, Chunk] = {}
        fields = ["content", *_CHUNK_FIELDS]
        for row in self._client.among(
            vector_table(embedder), "content", contents, fields, where="live == true", reading="strong"
        ):
            content, chunk = int(row["content"]), _chunk(row)
            if content not in first or chunk.seq < first[content].seq:
                first[content] = chunk
        return first

    # -- vectors and sets ----------------------------------------------------------------------------------

    def add_vectors(self, into: VectorSet, batch: Sequence[Embedded]) -> None:
        """Store chunks with their vectors, for every document that has their text."""
        embedder = into.fingerprint
        self._claim_dimension(into, batch[0].vectors.shape[1] if batch else 0)
        contents = [item.content for item in batch]
        documents: dict[int, list[Row]] = {}
        fields = ["id", "collection", "content", "author_folded", "date"]
        for row in self._client.among(
            DOCUMENTS, "content", contents, fields, where="live == true", reading="strong"
        ):
            documents.setdefault(int(row["content"]), []).append(row)
        stored: dict[int, set[int]] = {}
        last = max((item.chunks[-1].seq for item in batch), default=0) + 1
        for row in self._client.among(
            vector_table(embedder),
            "content",
            contents,
            ["content", "seq"],
            where=f"live == true and seq <= {last}",
            reading="strong",
        ):
            stored.setdefault(int(row["content"]), set()).add(int(row["seq"]))
        new = [
            item
            for embedded in batch
            if embedded.content in documents
            and (item := new_chunks(embedded, stored.get(embedded.content, ()))) is not None
        ]
        if not new:
            return
        shard = self._token_stats.begin(embedder)
        self._chunks.put(
            embedder,
            [
                chunk_of(document, chunk)
                for item in new
                for chunk in _chunk_rows(item, shard)
                for document in documents[item.content]
            ],
        )
        self._token_stats.finish(embedder, shard, new)
        self._leases.release_numbers(embedder, [item.content for item in new if item.chunks[0].seq == 0])

    def vectors_of(
        self, embedder: str, hashes: Sequence[str]
    ) -> dict[str, tuple[list[Chunk], NDArray[np.float32]]]:
        """Return chunks and vectors (float32, shape (n, dimension)) by hash, without unembedded texts."""
        import numpy as np

        hash_of = {content_id(text_hash): text_hash for text_hash in hashes}
        fields = ["content", *_CHUNK_FIELDS, "vector"]
        by_hash: dict[str, dict[int, Row]] = {}
        for row in self._client.among(vector_table(embedder), "content", hash_of, fields, page=HEAVY):
            by_hash.setdefault(hash_of[int(row["content"])], {})[int(row["seq"])] = row
        result = {}
        for text_hash, by_seq in by_hash.items():
            rows = [row for _, row in sorted(by_seq.items())]
            matrix = np.asarray([row["vector"] for row in rows], dtype=np.float32)
            result[text_hash] = [_chunk(row) for row in rows], matrix
        return result

    def drop_vectors(self, scope: Scope, embedder: str) -> int:
        """Delete an embedder's vectors of a scope's texts and return the number of chunks."""
        where = self._state.filter_of(scope)
        if where is None:
            return 0
        self._queue = None
        contents = {int(row["content"]) for row in self._client.all(DOCUMENTS, where, ["content"])}
        rows = self._client.among(
            vector_table(embedder), "content", contents, ["content", "seq"], reading="strong"
        )
        dropped = len({(int(row["content"]), int(row["seq"])) for row in rows})
        self._client.delete_among(vector_table(embedder), "content", contents)
        if not self._client.count(vector_table(embedder), "", reading="strong"):
            self._drop_embedder(embedder)
        return dropped

    def activate_vectors(self, embedder: str, scope: Scope) -> list[str] | None:
        """Mark an embedder's set as complete and drop all other sets, if it covers every text of a scope.

        The mark is written first: after an interruption searches use the new set, and the next `embed`
        drops the others.
        """
        self._token_stats.repair(embedder)
        if self.unembedded(embedder, scope):
            return None
        if not self._client.count(vector_table(embedder), "", reading="strong"):
            return None
        embedders = self._state.embedders("strong")
        dimension = embedders[embedder].pop("dimension")
        self._state.put_embedder(VectorSet(**{**embedders[embedder], "complete": True}), dimension)
        others = [other for other in embedders if other != embedder]
        filled = [other for other in others if self._client.count(vector_table(other), "live == true")]
        self.drop_embedders(others)
        return [str(embedders[other]["name"]) for other in filled]

    def drop_embedders(self, embedders: Iterable[str]) -> None:
        """Drop embedders with their vectors and token statistics."""
        for embedder in embedders:
            self._drop_embedder(embedder)
        self._client.flush()

    def _drop_embedder(self, embedder: str) -> None:
        self._client.drop(vector_table(embedder))
        self._client.drop(token_table(embedder))
        self._state.delete_embedder(embedder)

    def vector_sets(self) -> list[VectorSet]:
        """Return the sets that have vectors."""
        sets = []
        for embedder, fields in self._state.embedders().items():
            if self._client.query(vector_table(embedder), "live == true", ["id"], limit=1):
                sets.append(VectorSet(**{key: value for key, value in fields.items() if key != "dimension"}))
        return sets

    def chunk_counts(self) -> dict[str, int]:
        """Return the number of chunks of each set by fingerprint. Chunks count once for each document."""
        counts = {
            embedder: self._client.count(vector_table(embedder), "live == true")
            for embedder in self._state.embedders()
        }
        return {embedder: chunks for embedder, chunks in counts.items() if chunks}

    def sample(self, embedder: str, count: int) -> list[Sampled]:
        """Return up to `count` first chunks with their vectors, spread over the index."""
        import numpy as np

        name, where = vector_table(embedder), "seq == 0 and live == true"
        ids = sorted(int(row["id"]) for row in self._client.all(name, where, ["id"]))
        chosen = sorted({ids[at * len(ids) // count] for at in range(count)}) if ids else []
        fields = ["document", "content", "start", "end", "vector"]
        rows = list(self._client.among(name, "id", chosen, fields, page=HEAVY))
        texts = self._documents.contents(int(row["content"]) for row in rows)
        documents = self._documents.documents([int(row["document"]) for row in rows])
        return [
            Sampled(
                documents[int(row["document"])].title,
                texts[int(row["content"])][int(row["start"]) : int(row["end"])],
                np.asarray(row["vector"], dtype=np.float32),
            )
            for row in rows
            if int(row["content"]) in texts and int(row["document"]) in documents
        ]

    def import_statistics(self, copied: VectorSet, chunks: int, counts: Mapping[int, int]) -> None:
        """Replace the token frequencies of a copied set, and its `complete`, by those of its source."""
        stored = self._state.embedders("strong").get(copied.fingerprint)
        if stored is not None:
            self._token_stats.replace(copied.fingerprint, counts, chunks)
            # Copying leases no texts, so nothing else releases the shard of this writer.
            self._token_stats.release(self._state.writer)
            self._state.put_embedder(copied, int(stored["dimension"]))

    # -- search --------------------------------------------------------------------------------------------

    def dense(self, embedder: str, vector: NDArray[np.float32], scope: Scope, limit: int) -> list[ChunkMatch]:
        """Return the best documents by the cosine of their best chunk with `vector` (unit length)."""
        self._check_dimension(embedder, vector)
        where = self._state.filter_of(scope)
        if where is None:
            return []
        count = min(MAX_ROWS, max(_DEPTH, _DEPTH_FACTOR * limit))
        while True:
            fields = ["document", "content", *_CHUNK_FIELDS]
            (rows,) = self._client.search(
                vector_table(embedder), "vector", [vector], where, count, fields, depth=max(256, 2 * count)
            )
            matches = self._by_document(rows)
            # Several chunks of one document can fill the list. Search for more until there are enough.
            if len(matches) >= limit or len(rows) < count or count >= MAX_ROWS:
                return matches[:limit]
            count = min(MAX_ROWS, 4 * count)

    def similarities(
        self, embedder: str, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> dict[int, ChunkMatch]:
        """Return the exact best chunk of each document by id, without documents that have no vectors."""
        import numpy as np

        self._check_dimension(embedder, vector)
        fields = ["document", "content", *_CHUNK_FIELDS, "vector"]
        rows = list(
            self._client.among(
                vector_table(embedder), "document", ids, fields, where="live == true", page=HEAVY
            )
        )
        if not rows:
            return {}
        cosines = np.asarray([row["vector"] for row in rows], dtype=np.float32) @ vector
        return {
            match.document: match
            for match in self._by_document(list(zip(map(float, cosines), rows, strict=True)))
        }

    def _by_document(self, rows: Sequence[tuple[float, Row]]) -> list[ChunkMatch]:
        """Return the best chunk of each document, without chunks of former texts."""
        ids = {int(row["document"]) for _, row in rows}
        documents = self._client.among(DOCUMENTS, "id", ids, ["id", "content"], where="live == true")
        contents = {int(row["id"]): int(row["content"]) for row in documents}
        best: dict[int, ChunkMatch] = {}
        for cosine, row in sorted(rows, key=lambda pair: (-pair[0], pair[1]["document"], pair[1]["seq"])):
            document = int(row["document"])
            if document not in best and contents.get(document) == int(row["content"]):
                best[document] = ChunkMatch(document, _chunk(row), cosine)
        return list(best.values())

    # -- dimensions ----------------------------------------------------------------------------------------

    def _check_dimension(self, embedder: str, vector: NDArray[np.float32]) -> None:
        """Raise `ModelError` if a vector cannot be compared with the vectors of the index."""
        stored = self._state.embedders().get(embedder)
        if stored is not None and stored["dimension"] != len(vector):
            raise other_dimension(stored["name"], stored["dimension"], len(vector))

    def _claim_dimension(self, vector_set: VectorSet, dimension: int) -> None:
        """Store the embedder of a set, or raise `ModelError` if its vectors have another dimension."""
        embedder = vector_set.fingerprint
        stored = self._state.embedders("strong").get(embedder)
        if stored is not None and stored["dimension"] != dimension:
            if self._client.count(vector_table(embedder), "", reading="strong"):
                raise other_dimension(vector_set.name, stored["dimension"], dimension)
            self._drop_embedder(embedder)
            stored = None
        if stored is None:
            self._state.put_embedder(vector_set, dimension)


def _chunk(row: Row) -> Chunk:
    return Chunk(*(int(row[field]) for field in _CHUNK_FIELDS))


def _chunk_rows(item: Embedded, shard: int) -> Iterable[dict[str, Any]]:
    """Return the fields of chunks that do not depend on a document."""
    for chunk, vector, tokens in zip(item.chunks, item.vectors, item.tokens, strict=True):
        yield {
            **{field: getattr(chunk, field) for field in _CHUNK_FIELDS},
            "content": item.content,
            "shard": shard,
            "tokens": sorted(set(map(int, tokens)))[:MAX_ARRAY],
            "vector": [float(value) for value in vector],
        }
