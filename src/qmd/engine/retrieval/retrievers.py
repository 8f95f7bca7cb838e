"""Retrieve the lexical and dense lists of a hybrid search side by side, under a deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from qmd.engine.retrieval.deadline import Deadline, Stopwatch
from qmd.errors import QmdError, TimedOutError
from qmd.models.base import Embedder
from qmd.ranking.fusion import RankedList
from qmd.store.base import LexicalMatches, Scope, Store
from qmd.text.query import parse
from qmd.types import Chunk, Stage, StageStatus

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    import numpy as np
    from numpy.typing import NDArray

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SubQuery:
    """A query text and the retrievers that get it. `weight` is 2 for the original query, otherwise 1."""

    name: str
    query: str
    lexical: bool
    dense: bool
    weight: float


@dataclass(slots=True)
class LexicalResult:
    """A list of (document, BM25) for each lexical subquery.

    Attributes:
        lists: The lists.
        first: The matches of the first subquery, with their details.
    """

    lists: list[RankedList] = field(default_factory=list)
    first: LexicalMatches | None = None


@dataclass(slots=True)
class DenseResult:
    """A list of (document, cosine) for each dense subquery.

    Attributes:
        lists: The lists.
        vector: The vector of the first subquery, float32 of shape (dimension,).
        chunks: The cosine and the position of the best chunk of each document.
    """

    lists: list[RankedList] = field(default_factory=list)
    vector: NDArray[np.float32] | None = None
    chunks: dict[int, tuple[float, Chunk]] = field(default_factory=dict)


def retrieve_lexical(store: Store, queries: Sequence[SubQuery], scope: Scope, length: int) -> LexicalResult:
    """Search the lexical subqueries by BM25; each list has at most `length` documents."""
    result = LexicalResult()
    for query in queries:
        if not query.lexical:
            continue
        # Longer words with the same beginning are a last resort of keyword search, and noise beside vectors.
        matches = store.lexical.search(parse(query.query), scope, length, longer=False)
        if result.first is None:
            result.first = matches
        # Sorted by BM25 alone: the store puts documents with all terms first, which would count twice here.
        rows = [(match.document, match.score) for match in matches.matches]
        rows.sort(key=lambda row: (-row[1], row[0]))
        result.lists.append(RankedList(f"lexical:{query.name}", "lexical", rows, query.weight))
    return result


def retrieve_dense(
    store: Store, embedder: Embedder, fingerprint: str, queries: Sequence[SubQuery], scope: Scope, length: int
) -> DenseResult:
    """Embed the dense subqueries in one batch and search them; each list has at most `length` documents."""
    result = DenseResult()
    queries = [query for query in queries if query.dense]
    if not queries:
        return result
    # A hypothetical answer reads like a document, but is embedded as a query like the others.
    vectors = embedder.embed_queries([query.query for query in queries])
    result.vector = vectors[0]
    for query, vector in zip(queries, vectors, strict=True):
        matches = store.vectors.search(fingerprint, vector, scope, length)
        for match in matches:
            best = result.chunks.get(match.document)
            if best is None or match.similarity > best[0]:
                result.chunks[match.document] = (match.similarity, match.chunk)
        rows = [(match.document, match.similarity) for match in matches]
        result.lists.append(RankedList(f"vector:{query.name}", "dense", rows, query.weight))
    return result


class Retrieval:
    """Runs the stages of a search in threads, and records the outcome of each.

    Attributes:
        stages: The outcomes, in order.
        failures: The errors of stages that failed or timed out, in order.
    """

    def __init__(self, threads: ThreadPoolExecutor, deadline: Deadline) -> None:
        self._threads = threads
        self._deadline = deadline
        self.stages: list[Stage] = []
        self.failures: list[QmdError] = []

    def start(self, work: Callable[[], Result]) -> tuple[Future[Result], Stopwatch]:
        """Start work in a thread. Raises `CancelledError` if the search is cancelled."""
        self._deadline.check()
        return self._threads.submit(work), Stopwatch()

    def gather(
        self,
        name: str,
        task: tuple[Future[Result], Stopwatch],
        *,
        share: float = 1.0,
        failed: StageStatus = "failed",
    ) -> Result | None:
        """Wait for a task, and record its stage.

        Args:
            name: The name of the stage.
            task: The return value of `start`.
            share: The part of the remaining time to wait.
            failed: The status of the stage if the task raises an error.

        Returns:
            The result of the task; None if it raised an error or was not ready in time.
        """
        future, stopwatch = task
        remaining = self._deadline.remaining()
        timeout = None if remaining is None else share * remaining
        try:
            result = future.result(timeout=timeout)
        except TimeoutError:
            future.cancel()
            self.time_out(name, None if timeout is None or share == 1.0 else round(timeout, 1))
            return None
        except QmdError as error:
            self.failures.append(error)
            self.stages.append(Stage(name, failed, error.in_one_line(), stopwatch.milliseconds()))
            return None
        self.stages.append(Stage(name, "ran", None, stopwatch.milliseconds()))
        return result

    def expired(self) -> bool:
        """Tell whether the time is up or the search is cancelled. Long work asks between its steps."""
        return self._deadline.passed()

    def time_out(self, name: str, seconds: float | None = None) -> None:
        """Record that a stage was not ready within some seconds; None for the time of the whole search."""
        limit = self._deadline.seconds if seconds is None else seconds
        reason = f"not ready within {limit:g} s"
        self.failures.append(TimedOutError(f"the search timed out: {reason}", "give it more time"))
        self.stages.append(Stage(name, "timed_out", reason))

    def skip(self, name: str, reason: str, *, expected: bool = False) -> None:
        """Record that a stage was skipped; `expected` if the user need not do anything about it."""
        self.stages.append(Stage(name, "skipped", reason, expected=expected))

    def cache(self, store: Store, values: Mapping[str, str]) -> None:
        """Store values in the cache. If the index cannot be written, a stage says so."""
        try:
            store.answers.put(dict(values))
        except QmdError as error:
            self.stages.append(Stage("cache", "failed", error.in_one_line()))
