"""Chunks and their vectors: one Milvus collection for each embedder, one row for each chunk of a document.

`DOCUMENTS` alone says which text a document has. Chunks that disagree with it are left out of all results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qmd.features.milvus.chunks import CHUNK_FIELDS, chunk_of, to_chunk
from qmd.features.milvus.client import HEAVY, MAX_ROWS, Row
from qmd.features.milvus.documents import Documents
from qmd.features.milvus.field_rows import read_texts
from qmd.features.milvus.parts import MilvusPart, Shared
from qmd.features.milvus.schema import LIVE, MAX_ARRAY, content_id, vector_table
from qmd.features.milvus.vector_sets import VectorSets
from qmd.store import base
from qmd.store.records import new_chunks
from qmd.store.values import ChunkMatch, Embedded, EmbeddedSample, Scope, VectorSet
from qmd.types import Chunk

if TYPE_CHECKING:
    from qmd.store.values import Floats

#: Chunks to search for each requested document, and the minimum.
_DEPTH_FACTOR, _DEPTH = 3, 50


class Vectors(MilvusPart, base.Vectors):
    """Rows of the Milvus collections of chunks."""

    def __init__(self, shared: Shared, documents: Documents, vector_sets: VectorSets) -> None:
        super().__init__(shared)
        self._documents = documents
        self._vector_sets = vector_sets

    def exist(self, embedder: str, scope: Scope) -> bool:
        where = self._state.within(scope.collections)
        return where is not None and bool(self._client.query(vector_table(embedder), where, ["id"], limit=1))

    def add(self, into: VectorSet, batch: Sequence[Embedded]) -> None:
        embedder = into.fingerprint
        self._vector_sets.claim_dimension(into, batch[0].vectors.shape[1] if batch else 0)
        contents = [item.content for item in batch]
        documents: dict[int, list[Row]] = {}
        for row in self._live("content", contents, ["id", "collection", "content", "date"], "strong"):
            documents.setdefault(row["content"], []).append(row)
        stored: dict[int, set[int]] = {}
        last = max((item.chunks[-1].seq for item in batch), default=0) + 1
        for row in self._client.among(
            vector_table(embedder),
            "content",
            contents,
            ["content", "seq"],
            where=f"{LIVE} and seq <= {last}",
            reading="strong",
        ):
            stored.setdefault(row["content"], set()).add(row["seq"])
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

    def of_texts(self, embedder: str, hashes: Sequence[str]) -> dict[str, tuple[list[Chunk], Floats]]:
        hash_of = {content_id(text_hash): text_hash for text_hash in hashes}
        fields = ["content", *CHUNK_FIELDS, "vector"]
        by_hash: dict[str, dict[int, Row]] = {}
        for row in self._client.among(vector_table(embedder), "content", hash_of, fields, page=HEAVY):
            by_hash.setdefault(hash_of[row["content"]], {})[row["seq"]] = row
        result = {}
        for text_hash, by_seq in by_hash.items():
            rows = [row for _, row in sorted(by_seq.items())]
            matrix = np.asarray([row["vector"] for row in rows], dtype=np.float32)
            result[text_hash] = [to_chunk(row) for row in rows], matrix
        return result

    def sample(self, embedder: str, count: int) -> list[EmbeddedSample]:
        name, where = vector_table(embedder), f"seq == 0 and {LIVE}"
        ids = sorted(row["id"] for row in self._client.all(name, where, ["id"]))
        chosen = sorted({ids[at * len(ids) // count] for at in range(count)}) if ids else []
        fields = ["document", "content", "start", "end", "vector"]
        rows = list(self._client.among(name, "id", chosen, fields, page=HEAVY))
        texts = read_texts(self._client, [row["content"] for row in rows])
        documents = self._documents.by_id([row["document"] for row in rows])
        return [
            EmbeddedSample(
                documents[row["document"]].title,
                texts[row["content"]][row["start"] : row["end"]],
                np.asarray(row["vector"], dtype=np.float32),
            )
            for row in rows
            if row["content"] in texts and row["document"] in documents
        ]

    def search(self, embedder: str, vector: Floats, scope: Scope, limit: int) -> list[ChunkMatch]:
        self._vector_sets.check_dimension(embedder, len(vector))
        found = self._filters.of(scope)
        if found is None:
            return []
        where = found.chunks
        count = min(MAX_ROWS, max(_DEPTH, _DEPTH_FACTOR * limit))
        while True:
            fields = ["document", "content", *CHUNK_FIELDS]
            (rows,) = self._client.search(
                vector_table(embedder), "vector", [vector], where, count, fields, depth=max(256, 2 * count)
            )
            matches = self._by_document(rows)
            # Several chunks of one document can fill the list. Search for more until there are enough.
            if len(matches) >= limit or len(rows) < count or count >= MAX_ROWS:
                return matches[:limit]
            count = min(MAX_ROWS, 4 * count)

    def similarities(self, embedder: str, vector: Floats, ids: Sequence[int]) -> dict[int, ChunkMatch]:
        self._vector_sets.check_dimension(embedder, len(vector))
        fields = ["document", "content", *CHUNK_FIELDS, "vector"]
        rows = list(
            self._client.among(vector_table(embedder), "document", ids, fields, where=LIVE, page=HEAVY)
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
        ids = {row["document"] for _, row in rows}
        contents = {row["id"]: row["content"] for row in self._live("id", ids, ["id", "content"])}
        files = {key: document.file for key, document in self._documents.by_id([*ids]).items()}
        best: dict[int, ChunkMatch] = {}
        for cosine, row in sorted(rows, key=lambda pair: (-pair[0], pair[1]["seq"])):
            document = row["document"]
            if document not in best and contents.get(document) == row["content"]:
                best[document] = ChunkMatch(document, to_chunk(row), cosine)
        return sorted(best.values(), key=lambda each: (-each.similarity, files.get(each.document, "")))


def _chunk_rows(item: Embedded, shard: int) -> Iterable[dict[str, Any]]:
    """Return the fields of chunks that do not depend on a document."""
    for chunk, vector, tokens in zip(item.chunks, item.vectors, item.tokens, strict=True):
        yield {
            **{field: getattr(chunk, field) for field in CHUNK_FIELDS},
            "content": item.content,
            "shard": shard,
            "tokens": sorted(set(map(int, tokens)))[:MAX_ARRAY],
            # As SQLite rounds them, so that both give one order.
            "vector": vector.astype(np.float16).astype(np.float32).tolist(),
        }
