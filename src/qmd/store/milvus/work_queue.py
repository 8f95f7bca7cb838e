"""The texts that a worker embeds next.

A claim takes a second, so a worker claims more texts than it was asked for and hands them out in portions.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qmd.store.base import Pending, Scope
from qmd.store.milvus.ids import number
from qmd.store.milvus.leases import Leases
from qmd.store.milvus.token_stats import TokenStats
from qmd.store.milvus.vectors import Vectors

#: The most texts in one claim. A claim also takes at most this fraction of a worker's share of the queue.
_CLAIM, _FRACTION = 1_024, 2


@dataclass(slots=True)
class _Assignment:
    """The texts of one worker: texts to claim, and leased texts that were not handed out yet."""

    unclaimed: deque[int] = field(default_factory=deque)
    leased: deque[int] = field(default_factory=deque)
    until: float = 0.0


class WorkQueue:
    """Leases texts without vectors to workers."""

    def __init__(self, leases: Leases, token_stats: TokenStats, vectors: Vectors) -> None:
        self._leases = leases
        self._token_stats = token_stats
        self._vectors = vectors
        self._assignments: dict[tuple[str, str, Scope], _Assignment] = {}

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        """Lease up to `limit` texts without vectors to `worker` for `seconds`, small texts first."""
        self._leases.worker, self._leases.seconds = worker, seconds
        assignment = self._assignments.setdefault((worker, embedder, scope), _Assignment())
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
                assignment.leased.extend(self._claim(assignment, embedder, scope, worker, limit, seconds))
            count = min(limit, len(assignment.leased))
            contents = [assignment.leased.popleft() for _ in range(count)]
            # All of them may have been removed since they were leased. There may be more.
            texts = self._vectors.read(embedder, contents, scope)
            if texts or not contents:
                return texts

    def release(self, prefix: str) -> None:
        """Release the leases of workers whose name starts with `prefix`."""
        for key in [key for key in self._assignments if key[0].startswith(prefix)]:
            del self._assignments[key]
        self._token_stats.release(prefix)

    def _claim(
        self,
        assignment: _Assignment,
        embedder: str,
        scope: Scope,
        worker: str,
        limit: int,
        seconds: float,
    ) -> Sequence[int]:
        """Lease more texts. Returns nothing if all texts are embedded or leased to other workers."""
        is_fresh = False
        while True:
            if not assignment.unclaimed:
                if is_fresh:
                    return ()
                sizes = self._vectors.unembedded(embedder, scope)
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
        embedded = self._vectors.embedded(embedder, contents)
        return [content for content in contents if content not in embedded]


def _in_order(sizes: Mapping[int, int], start: int) -> list[int]:
    """Return texts in the order in which a worker claims them, small texts first.

    Among texts of similar size each worker begins at another number, `start`, because workers that claim the
    same texts have to wait for each other.
    """
    return sorted(sizes, key=lambda content: (sizes[content].bit_length(), content < start, content))
