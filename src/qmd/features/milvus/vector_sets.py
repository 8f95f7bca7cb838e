"""The vector sets: for each embedder a Milvus collection of chunks, and one of token statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from qmd.features.milvus.parts import MilvusPart, Shared
from qmd.features.milvus.pending import PendingTexts
from qmd.features.milvus.schema import DOCUMENTS, LIVE, token_table, vector_table
from qmd.features.milvus.token_stats import ALL_CHUNKS
from qmd.store import base
from qmd.store.records import other_dimension
from qmd.store.values import Scope, VectorSet


class VectorSets(MilvusPart, base.VectorSets):
    """Vector sets, described by values of `State`."""

    def __init__(self, shared: Shared, pending: PendingTexts) -> None:
        super().__init__(shared)
        self._pending = pending

    def all(self) -> list[VectorSet]:
        return [
            vectors
            for embedder, (vectors, _) in self._state.embedders().items()
            if self._client.query(vector_table(embedder), LIVE, ["id"], limit=1)
        ]

    def chunk_counts(self) -> dict[str, int]:
        counts = {
            embedder: self._client.count(vector_table(embedder), LIVE) for embedder in self._state.embedders()
        }
        return {embedder: chunks for embedder, chunks in counts.items() if chunks}

    def drop(self, scope: Scope, embedder: str) -> int:
        found = self._filters.of(scope)
        if found is None:
            return 0
        contents = {row["content"] for row in self._client.all(DOCUMENTS, found.documents, ["content"])}
        chunks = self._client.among(
            vector_table(embedder), "content", contents, ["content", "seq"], reading="strong"
        )
        dropped = len({(row["content"], row["seq"]) for row in chunks})
        self._client.delete_among(vector_table(embedder), "content", contents)
        if not self._client.count(vector_table(embedder), "", reading="strong"):
            self._drop_embedder(embedder)
        return dropped

    def activate(self, embedder: str, scope: Scope) -> list[str] | None:
        self._token_stats.repair(embedder)
        if self._pending.unembedded(embedder, scope):
            return None
        if not self._client.count(vector_table(embedder), "", reading="strong"):
            return None
        # The mark is written first: after an interruption searches use the new set, and the next `embed`
        # drops the others.
        embedders = self._state.embedders("strong")
        vectors, dimension = embedders.pop(embedder)
        self._state.put_embedder(replace(vectors, complete=True), dimension)
        filled = [
            other.name for key, (other, _) in embedders.items() if self._client.count(vector_table(key), LIVE)
        ]
        self.drop_embedders(embedders)
        return filled

    def token_frequencies(
        self, embedder: str, tokens: Sequence[int], population: Sequence[str] | None = None
    ) -> tuple[int, list[int]]:
        if population is None:
            stored = self._token_stats.counts(embedder, tokens)
            return stored[ALL_CHUNKS], [stored[token] for token in tokens]
        where = self._state.within(population)
        if where is None:
            return 0, [0] * len(tokens)
        # The chunks of a text count once for each of its documents.
        name = vector_table(embedder)
        chunks = self._client.count(name, f"{where} and array_length(tokens) > 0")
        counts = {
            token: self._client.count(name, f"{where} and array_contains(tokens, {token})")
            for token in set(tokens)
        }
        return chunks, [counts[token] for token in tokens]

    def all_token_frequencies(self, embedder: str) -> tuple[int, dict[int, int]]:
        counts = self._token_stats.counts(embedder)
        return counts.pop(ALL_CHUNKS, 0), dict(counts)

    def import_statistics(self, copied: VectorSet, chunks: int, counts: Mapping[int, int]) -> None:
        stored = self._state.embedders("strong").get(copied.fingerprint)
        if stored is not None:
            self._token_stats.replace(copied.fingerprint, counts, chunks)
            # Copying leases no texts, so nothing else releases the shard of this writer.
            self._token_stats.release(self._state.writer)
            self._state.put_embedder(copied, stored[1])

    def drop_embedders(self, embedders: Iterable[str]) -> None:
        for embedder in embedders:
            self._drop_embedder(embedder)
        self._client.flush()

    def _drop_embedder(self, embedder: str) -> None:
        self._client.drop(vector_table(embedder))
        self._client.drop(token_table(embedder))
        self._state.delete_embedder(embedder)

    def check_dimension(self, embedder: str, dimension: int) -> None:
        """Raise `ModelError` if a vector cannot be compared with the vectors of the index."""
        vectors, before = self._state.embedders().get(embedder, (None, dimension))
        if vectors is not None and before != dimension:
            raise other_dimension(vectors.name, before, dimension)

    def claim_dimension(self, vector_set: VectorSet, dimension: int) -> None:
        """Store the embedder of a set, or raise `ModelError` if its vectors have another dimension."""
        embedder = vector_set.fingerprint
        stored = self._state.embedders("strong").get(embedder)
        if stored is not None and stored[1] != dimension:
            if self._client.count(vector_table(embedder), "", reading="strong"):
                raise other_dimension(vector_set.name, stored[1], dimension)
            self._drop_embedder(embedder)
            stored = None
        if stored is None:
            self._state.put_embedder(vector_set, dimension)
