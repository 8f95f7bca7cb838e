"""The texts that lack vectors, and those that a worker embeds next.

A claim takes a second, so a worker claims more texts than it was asked for and hands them out in portions.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.msgpack import encode

from qmd.features.milvus.chunks import CHUNK_FIELDS, to_chunk
from qmd.features.milvus.documents import Documents
from qmd.features.milvus.field_rows import read_structures, read_texts
from qmd.features.milvus.parts import MilvusPart, Shared
from qmd.features.milvus.schema import DOCUMENTS, LIVE, number, vector_table
from qmd.store import base
from qmd.store.values import Pending, Scope
from qmd.types import Chunk

#: The most texts in one claim. A claim also takes at most this fraction of a worker's share of the queue.
_CLAIM, _FRACTION = 1_024, 2


class _Assignment(Struct):
    """The texts of one worker: texts to claim, and leased texts that were not handed out yet."""

    worker: str
    embedder: str
    scope: Scope
    unclaimed: deque[int] = field(default_factory=deque)
    leased: deque[int] = field(default_factory=deque)
    until: float = 0.0


class PendingTexts(MilvusPart, base.PendingTexts):
    """Texts without vectors, leased to workers."""

    def __init__(self, shared: Shared, documents: Documents) -> None:
        super().__init__(shared)
        self._documents = documents
        self._assignments: dict[tuple[str, str, Scope], _Assignment] = {}
        #: The texts that `texts` found when it was last called from the beginning: (embedder, scope, ids).
        self._queue: tuple[str, Scope, list[int]] | None = None

    def count(self, embedder: str, scope: Scope) -> int:
        found = self._filters.of(scope)
        if found is None:
            return 0
        documents = self._client.count(DOCUMENTS, found.documents)
        # Usually nothing is pending, and comparing two counts is enough to know it.
        if documents == self._client.count(vector_table(embedder), f"{found.chunks} and seq == 0"):
            return 0
        return len(self.unembedded(embedder, scope))

    def sizes(self, embedder: str, scope: Scope) -> list[int]:
        sizes = self.unembedded(embedder, scope)
        first_chunks = self._first_embedded(embedder, sizes)
        texts = read_texts(self._client, first_chunks)
        for content, chunk in first_chunks.items():
            sizes[content] = sizes[content] * chunk.start // max(1, len(texts.get(content, "")))
        return list(sizes.values())

    def texts(self, embedder: str, scope: Scope, after: int, limit: int) -> list[Pending]:
        if self._queue is None or after == 0 or self._queue[:2] != (embedder, scope):
            self._queue = (embedder, scope, sorted(self.unembedded(embedder, scope)))
        contents = self._queue[2]
        start = bisect_right(contents, after)
        return self._read(embedder, contents[start : start + limit], scope)

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        self._leases.worker, self._leases.seconds = worker, seconds
        key = (worker, embedder, scope)
        assignment = self._assignments.setdefault(key, _Assignment(*key))
        if time.monotonic() < assignment.until:
            self._leases.renew(embedder, worker, seconds)
        else:
            # Other workers may have leased these texts since.
            assignment.leased.clear()
            self._leases.release_worker(embedder, worker)
        assignment.until = time.monotonic() + seconds
        if not limit:
            return []
        while True:
            if not assignment.leased:
                assignment.leased.extend(self._claim(assignment, limit, seconds))
            count = min(limit, len(assignment.leased))
            contents = [assignment.leased.popleft() for _ in range(count)]
            # All of them may have been removed since they were leased. There may be more.
            texts = self._read(embedder, contents, scope)
            if texts or not contents:
                return texts

    def earlier(self, embedder: str, text: str) -> tuple[str, str] | None:
        return None

    def release(self, prefix: str) -> None:
        for key in [key for key in self._assignments if key[0].startswith(prefix)]:
            del self._assignments[key]
        self._token_stats.release(prefix)

    def _read(self, embedder: str, contents: Sequence[int], scope: Scope) -> list[Pending]:
        """Return texts to embed by their ids, without texts that no document of the scope has any more."""
        found = self._filters.of(scope) if contents else None
        if found is None:
            return []
        fields, where = ["id", "content", "title", "hash"], found.documents
        rows = self._client.among(DOCUMENTS, "content", contents, fields, where=where, reading="strong")
        # If several documents have a text, all workers must use the title of the same document.
        documents = {row["content"]: row for row in sorted(rows, key=lambda row: -row["id"])}
        texts = read_texts(self._client, contents)
        known = read_structures(self._client, contents)
        first_chunks = self._first_embedded(embedder, contents)
        return [
            Pending(
                content,
                documents[content]["title"],
                texts[content],
                documents[content]["hash"],
                first_chunks[content].seq if content in first_chunks else None,
                encode(known[content]) if content in known else b"",
            )
            for content in contents
            if content in documents and content in texts
        ]

    def unembedded(self, embedder: str, scope: Scope) -> dict[int, int]:
        """Return the bytes of each text of a scope that lacks vectors, by id."""
        found = self._filters.of(scope)
        if found is None:
            return {}
        documents = self._client.all(DOCUMENTS, found.documents, ["content", "bytes"])
        sizes = {row["content"]: row["bytes"] for row in documents}
        for row in self._client.all(vector_table(embedder), f"{found.chunks} and seq == 0", ["content"]):
            sizes.pop(row["content"], None)
        return sizes

    def _first_embedded(self, embedder: str, contents: Iterable[int]) -> dict[int, Chunk]:
        """Return the first chunk with a vector of each text, without texts that have no vectors."""
        first: dict[int, Chunk] = {}
        fields = ["content", *CHUNK_FIELDS]
        for row in self._client.among(
            vector_table(embedder), "content", contents, fields, where=LIVE, reading="strong"
        ):
            content, chunk = row["content"], to_chunk(row)
            if content not in first or chunk.seq < first[content].seq:
                first[content] = chunk
        return first

    def _claim(self, assignment: _Assignment, limit: int, seconds: float) -> Sequence[int]:
        """Lease more texts. Returns nothing if all texts are embedded or leased to other workers."""
        embedder, worker = assignment.embedder, assignment.worker
        is_fresh = False
        while True:
            if not assignment.unclaimed:
                if is_fresh:
                    return ()
                sizes = self.unembedded(embedder, assignment.scope)
                assignment.unclaimed.extend(_in_order(sizes, number("worker", worker)))
                is_fresh = True
            share = len(assignment.unclaimed) // (_FRACTION * self._token_stats.writers(embedder))
            size = limit * max(1, min(_CLAIM, share) // limit)
            chosen = [assignment.unclaimed.popleft() for _ in range(min(size, len(assignment.unclaimed)))]
            candidates = self._left(embedder, chosen)
            leased = self._leases.claim(embedder, candidates, worker, len(candidates), seconds)
            # Checked again under the lease: a worker may have embedded a text and released it since.
            left = self._left(embedder, [content for content in candidates if content in leased])
            self._leases.release_numbers(embedder, leased - set(left))
            if left:
                return left

    def _left(self, embedder: str, contents: Sequence[int]) -> list[int]:
        """Return the texts that lack vectors for some of their chunks."""
        rows = self._client.among(
            vector_table(embedder), "content", contents, ["content"], where="seq == 0", reading="strong"
        )
        embedded = {row["content"] for row in rows}
        return [content for content in contents if content not in embedded]


def _in_order(sizes: Mapping[int, int], start: int) -> list[int]:
    """Return texts in the order in which a worker claims them, small texts first.

    Among texts of similar size each worker begins at another number, `start`, because workers that claim the
    same texts have to wait for each other.
    """
    return sorted(sizes, key=lambda content: (sizes[content].bit_length(), content < start, content))
