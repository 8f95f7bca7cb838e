"""Chunks and their vectors: a collection an embedder, a row a chunk of each document that has its text.

The rows are an index over the documents: which document has which text is in `DOCUMENTS` alone, and what does
not agree with it is left out of every answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.store.base import ChunkMatch, Embedded, Pending, Sampled, Scope, VectorSet
from qmd.store.milvus.chunks import chunk_of
from qmd.store.milvus.client import HEAVY, MOST, Row
from qmd.store.milvus.documents import DocumentsPart
from qmd.store.milvus.ids import content_id
from qmd.store.milvus.schema import DOCUMENTS, MAX_ARRAY, tokens, vectors
from qmd.store.milvus.token_stats import TokenStats
from qmd.store.records import new_chunks, other_dimension
from qmd.types import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Chunks that are looked at for each document asked for, and the fewest.
_DEPTH_FACTOR, _DEPTH = 3, 50
_PLACE = ("seq", "start", "end", "first_line", "last_line")


class VectorsPart(DocumentsPart, TokenStats):
    """Vectors of chunks, by embedder fingerprint."""

    #: What `pending` found when it was last asked from the beginning: (embedder, scope, texts).
    _queue: tuple[str, Scope, list[int]] | None

    def has_vectors(self, embedder: str, scope: Scope) -> bool:
        """Whether any document of the scope's collections can be found by vector."""
        where = self._within(Scope(scope.collections))
        return where is not None and bool(self._client.query(vectors(embedder), where, ["id"], limit=1))

    def pending_count(self, embedder: str, scope: Scope) -> int:
        """How many texts of a scope lack vectors."""
        where = self._within(scope)
        if where is None:
            return 0
        documents = self._client.count(DOCUMENTS, where)
        # Most often nothing is pending, and two numbers say so.
        if documents == self._client.count(vectors(embedder), f"{where} and seq == 0"):
            return 0
        return len(self._without(embedder, scope))

    def pending_sizes(self, embedder: str, scope: Scope) -> list[int]:
        """Return the bytes of each text that lacks vectors, without the part that is embedded already."""
        sizes = self._without(embedder, scope)
        begun = self._embedded_from(embedder, sizes)
        texts = self.contents(begun)
        for content, chunk in begun.items():
            sizes[content] = sizes[content] * chunk.start // max(1, len(texts.get(content, "")))
        return list(sizes.values())

    def pending(self, embedder: str, scope: Scope, after: int, limit: int) -> list[Pending]:
        """The next texts that lack vectors, by id, beyond `after`."""
        if self._queue is None or after == 0 or self._queue[:2] != (embedder, scope):
            self._queue = (embedder, scope, sorted(self._without(embedder, scope)))
        waiting = self._queue[2]
        start = bisect_right(waiting, after)
        return self._read(embedder, waiting[start : start + limit], scope)

    def _read(self, embedder: str, contents: Sequence[int], scope: Scope) -> list[Pending]:
        where = self._within(scope)
        if where is None or not contents:
            return []
        fields = ["id", "content", "title", "hash"]
        rows = list(self._client.among(DOCUMENTS, "content", contents, fields, where=where, reading="strong"))
        # Of several documents that have a text, all who ask take the same one's title.
        first = {int(row["content"]): row for row in sorted(rows, key=lambda row: -int(row["id"]))}
        texts = self.contents(contents)
        begun = self._embedded_from(embedder, contents)
        return [
            Pending(
                each,
                str(first[each]["title"]),
                texts[each],
                str(first[each]["hash"]),
                begun[each].seq if each in begun else None,
            )
            for each in contents
            if each in first and each in texts
        ]

    def _without(self, embedder: str, scope: Scope) -> dict[int, int]:
        """Texts of a scope that lack vectors, with their bytes."""
        where = self._within(scope)
        if where is None:
            return {}
        documents = self._client.all(DOCUMENTS, where, ["content", "bytes"])
        sizes = {int(row["content"]): int(row["bytes"]) for row in documents}
        for row in self._client.all(vectors(embedder), f"{where} and seq == 0", ["content"]):
            sizes.pop(int(row["content"]), None)
        return sizes

    def _embedded_from(self, embedder: str, contents: Iterable[int]) -> dict[int, Chunk]:
        """The first chunk that has a vector, for those of some texts of which any has."""
        first: dict[int, Chunk] = {}
        fields = ["content", *_PLACE]
        for row in self._client.among(
            vectors(embedder), "content", contents, fields, where="live == true", reading="strong"
        ):
            content, chunk = int(row["content"]), Chunk(*(int(row[field]) for field in _PLACE))
            if content not in first or chunk.seq < first[content].seq:
                first[content] = chunk
        return first

    def _embedded(self, embedder: str, contents: Iterable[int]) -> set[int]:
        """Those of some texts that have vectors for all their chunks."""
        rows = self._client.among(
            vectors(embedder), "content", contents, ["content"], where="seq == 0", reading="strong"
        )
        return {int(row["content"]) for row in rows}

    def add_vectors(self, into: VectorSet, batch: Sequence[Embedded]) -> None:
        """Store chunks with their vectors, and let every document that has their texts be found by them."""
        embedder = into.fingerprint
        dimension = batch[0].vectors.shape[1] if batch else 0
        self._claim_dimension(into, dimension)
        homes: dict[int, list[Row]] = {}
        fields = ["id", "collection", "content", "author_folded", "date"]
        contents = [item.content for item in batch]
        for row in self._client.among(
            DOCUMENTS, "content", contents, fields, where="live == true", reading="strong"
        ):
            homes.setdefault(int(row["content"]), []).append(row)
        stored: dict[int, set[int]] = {}
        until = max((item.chunks[-1].seq for item in batch), default=0) + 1
        for row in self._client.among(
            vectors(embedder),
            "content",
            contents,
            ["content", "seq"],
            where=f"live == true and seq <= {until}",
            reading="strong",
        ):
            stored.setdefault(int(row["content"]), set()).add(int(row["seq"]))
        left = (new_chunks(item, stored.get(item.content, ())) for item in batch if item.content in homes)
        new = [item for item in left if item is not None]
        if not new:
            return
        shard = self._begin_counting(embedder)
        self._put_chunks(
            embedder,
            [
                chunk_of(document, each)
                for item in new
                for each in _chunks(item, shard)
                for document in homes[item.content]
            ],
        )
        self._end_counting(embedder, shard, new)
        self._free(embedder, [item.content for item in new if item.chunks[0].seq == 0])

    def vectors_of(
        self, embedder: str, hashes: Sequence[str]
    ) -> dict[str, tuple[list[Chunk], NDArray[np.float32]]]:
        """Chunks and vectors of texts by hash; those without are left out."""
        import numpy as np

        wanted = {content_id(each): each for each in hashes}
        fields = ["content", *_PLACE, "vector"]
        known: dict[str, dict[int, Row]] = {}
        for row in self._client.among(vectors(embedder), "content", wanted, fields, page=HEAVY):
            known.setdefault(wanted[int(row["content"])], {})[int(row["seq"])] = row
        found = {}
        for each, rows in known.items():
            chunks = [Chunk(*(int(row[field]) for field in _PLACE)) for _, row in sorted(rows.items())]
            matrix = np.asarray([row["vector"] for _, row in sorted(rows.items())], dtype=np.float32)
            found[each] = chunks, matrix
        return found

    def drop_vectors(self, scope: Scope, embedder: str) -> int:
        """Forget an embedder's vectors of a scope's texts; returns how many chunks."""
        where = self._within(scope)
        if where is None:
            return 0
        self._queue = None
        contents = {int(row["content"]) for row in self._client.all(DOCUMENTS, where, ["content"])}
        rows = self._client.among(
            vectors(embedder), "content", contents, ["content", "seq"], reading="strong"
        )
        dropped = len({(int(row["content"]), int(row["seq"])) for row in rows})
        self._client.delete_among(vectors(embedder), "content", contents)
        if not self._client.count(vectors(embedder), "", reading="strong"):
            self._drop_embedder(embedder)
        return dropped

    def activate_vectors(self, embedder: str, scope: Scope) -> list[str] | None:
        """Where an embedder has every text of a scope, its set is complete, and all others are forgotten.

        The set is marked first: what is cut short after that answers by the new vectors, and is done again by
        the next `embed`.
        """
        self._count_what_was_left(embedder)
        if self._without(embedder, scope) or not self._client.count(vectors(embedder), "", reading="strong"):
            return None
        known = self._embedders("strong")
        dimension = known[embedder].pop("dimension")
        self._put_embedder(VectorSet(**{**known[embedder], "complete": True}), dimension)
        others = [each for each in known if each != embedder]
        held = [each for each in others if self._client.count(vectors(each), "live == true")]
        self._drop_embedders(others)
        return [str(known[each]["name"]) for each in held]

    def _drop_embedders(self, embedders: Iterable[str]) -> None:
        for each in embedders:
            self._drop_embedder(each)
        self._client.flush()

    def _drop_embedder(self, embedder: str) -> None:
        self._client.drop(vectors(embedder))
        self._client.drop(tokens(embedder))
        self._forget_embedder(embedder)

    def vector_sets(self) -> list[VectorSet]:
        """The sets that have vectors."""
        sets = []
        for each, fields in self._embedders().items():
            if self._client.query(vectors(each), "live == true", ["id"], limit=1):
                sets.append(VectorSet(**{key: value for key, value in fields.items() if key != "dimension"}))
        return sets

    def chunk_counts(self) -> dict[str, int]:
        """Fingerprint → chunks, of every set that has vectors; copies of a text count too."""
        counted = {each: self._client.count(vectors(each), "live == true") for each in self._embedders()}
        return {each: chunks for each, chunks in counted.items() if chunks}

    def sample(self, embedder: str, count: int) -> list[Sampled]:
        """First chunks with their vectors, from texts all over the index."""
        import numpy as np

        name, where = vectors(embedder), "seq == 0 and live == true"
        known = sorted(int(row["id"]) for row in self._client.all(name, where, ["id"]))
        chosen = sorted({known[at * len(known) // count] for at in range(count)}) if known else []
        rows = list(
            self._client.among(
                name, "id", chosen, ["document", "content", "start", "end", "vector"], page=HEAVY
            )
        )
        texts = self.contents(int(row["content"]) for row in rows)
        titles = self.documents([int(row["document"]) for row in rows])
        return [
            Sampled(
                titles[int(row["document"])].title,
                texts[int(row["content"])][int(row["start"]) : int(row["end"])],
                np.asarray(row["vector"], dtype=np.float32),
            )
            for row in rows
            if int(row["content"]) in texts and int(row["document"]) in titles
        ]

    def import_statistics(self, copied: VectorSet, chunks: int, counts: Mapping[int, int]) -> None:
        """Make a copied set what it is where it comes from: its token frequencies, and `complete`."""
        known = self._embedders("strong").get(copied.fingerprint)
        if known is not None:
            self._replace_counts(copied.fingerprint, counts, chunks)
            # Copying leases no texts, so nobody lets go of its shard.
            self.release(self._writer)
            self._put_embedder(copied, int(known["dimension"]))

    def dense(self, embedder: str, vector: NDArray[np.float32], scope: Scope, limit: int) -> list[ChunkMatch]:
        """The best documents of a scope by their best chunk's cosine with `vector` (unit length)."""
        self._check_dimension(embedder, vector)
        where = self._within(scope)
        if where is None:
            return []
        wanted = min(MOST, max(_DEPTH, _DEPTH_FACTOR * limit))
        while True:
            fields = ["document", "content", *_PLACE]
            (found,) = self._client.search(
                vectors(embedder), "vector", [vector], where, wanted, fields, depth=max(256, 2 * wanted)
            )
            matches = self._by_document(found)
            # Several chunks of one document can fill the list: look deeper until there are enough.
            if len(matches) >= limit or len(found) < wanted or wanted >= MOST:
                return matches[:limit]
            wanted = min(MOST, 4 * wanted)

    def similarities(
        self, embedder: str, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> dict[int, ChunkMatch]:
        """The best chunk of each of these documents, exactly; documents without vectors are left out."""
        import numpy as np

        self._check_dimension(embedder, vector)
        fields = ["document", "content", *_PLACE, "vector"]
        rows = list(
            self._client.among(vectors(embedder), "document", ids, fields, where="live == true", page=HEAVY)
        )
        if not rows:
            return {}
        cosines = np.asarray([row["vector"] for row in rows], dtype=np.float32) @ vector
        return {
            match.document: match
            for match in self._by_document(list(zip(map(float, cosines), rows, strict=True)))
        }

    def _by_document(self, found: Sequence[tuple[float, Row]]) -> list[ChunkMatch]:
        """Chunks to documents, each once, by its best; without those whose text is another by now."""
        ids = {int(row["document"]) for _, row in found}
        rows = self._client.among(DOCUMENTS, "id", ids, ["id", "content"], where="live == true")
        contents = {int(row["id"]): int(row["content"]) for row in rows}
        best: dict[int, ChunkMatch] = {}
        for cosine, row in sorted(found, key=lambda each: (-each[0], each[1]["document"], each[1]["seq"])):
            document = int(row["document"])
            if document not in best and contents.get(document) == int(row["content"]):
                chunk = Chunk(*(int(row[field]) for field in _PLACE))
                best[document] = ChunkMatch(document, chunk, cosine)
        return list(best.values())

    # -- dimensions ---------------------------------------------------------------------------------------

    def _check_dimension(self, embedder: str, vector: NDArray[np.float32]) -> None:
        """Raises `ModelError` for a vector that cannot be compared with those of the index."""
        known = self._embedders().get(embedder)
        if known is not None and known["dimension"] != len(vector):
            raise other_dimension(known["name"], known["dimension"], len(vector))

    def _claim_dimension(self, made: VectorSet, dimension: int) -> None:
        embedder = made.fingerprint
        known = self._embedders("strong").get(embedder)
        if known is not None and known["dimension"] != dimension:
            if self._client.count(vectors(embedder), "", reading="strong"):
                raise other_dimension(made.name, known["dimension"], dimension)
            self._drop_embedder(embedder)
            known = None
        if known is None:
            self._put_embedder(made, dimension)


def _chunks(item: Embedded, shard: int) -> Iterable[dict[str, Any]]:
    for chunk, vector, ids in zip(item.chunks, item.vectors, item.tokens, strict=True):
        yield {
            **{field: getattr(chunk, field) for field in _PLACE},
            "content": item.content,
            "shard": shard,
            "tokens": sorted(set(map(int, ids)))[:MAX_ARRAY],
            "vector": [float(value) for value in vector],
        }
