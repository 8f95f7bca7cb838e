"""Retrieve the lexical and dense lists of a hybrid search side by side, under a deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from qmd.engine.deadline import Deadline, Stopwatch
from qmd.engine.models.provider import ModelProvider
from qmd.errors import QmdError, TimedOutError
from qmd.models.base import Embedder
from qmd.ranking.fusion import RankedList
from qmd.store.base import Store
from qmd.store.values import LexicalMatches, Scope
from qmd.text.query import as_prose, parse
from qmd.types import Chunk, Config, SearchType, Stage, StageStatus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Result = TypeVar("Result")
Task = tuple[Future[Result], Stopwatch]


class SubQuery(Struct, frozen=True):
    """A query text for the retriever of its type, for both if it has none. `weight` is 2 for the original."""

    name: str
    query: str
    type: SearchType | None
    weight: float = 1.0

    @property
    def lexical(self) -> bool:
        return self.type in (None, "lex")

    @property
    def dense(self) -> bool:
        return self.type != "lex"


class LexicalResult(Struct):
    """A list of (document, BM25) for each lexical subquery, and all details of the first one."""

    lists: list[RankedList] = field(default_factory=list)
    first: LexicalMatches | None = None


class DenseResult(Struct):
    """A list of (document, cosine) for each dense subquery.

    `vector` is that of the first subquery, float32 of shape (dimension,). `chunks` are the cosine and the
    position of the best chunk of each document.
    """

    lists: list[RankedList] = field(default_factory=list)
    vector: NDArray[np.float32] | None = None
    chunks: dict[int, tuple[float, Chunk]] = field(default_factory=dict)


def retrieve_lexical(
    store: Store, queries: Sequence[SubQuery], scope: Scope, length: int, *, longer: bool = False
) -> LexicalResult:
    """Search the lexical subqueries by BM25; each list has at most `length` documents.

    Longer words with the same beginning, `longer`, are a last resort: beside vectors they are noise.
    """
    result = LexicalResult()
    for query in queries:
        if not query.lexical:
            continue
        matches = store.lexical.search(parse(query.query), scope, length, longer=longer)
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
    vectors = embedder.embed_queries([as_prose(query.query) for query in queries])
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


class Retrieval(Struct):
    """Runs the stages of one search in threads, and records the outcome of each.

    `failures` are the errors of stages that failed or timed out. Stages and failures are in order.
    """

    store: Store
    models: ModelProvider
    config: Config
    scope: Scope
    deadline: Deadline
    threads: ThreadPoolExecutor
    stages: list[Stage] = field(default_factory=list)
    failures: list[QmdError] = field(default_factory=list)

    def start(self, work: Callable[[], Result]) -> Task[Result]:
        """Start work in a thread, unless the time is up. Raises `CancelledError` if cancelled."""
        self.deadline.check()
        return Future() if self.deadline.passed() else self.threads.submit(work), Stopwatch()

    def gather(
        self, name: str, task: Task[Result], *, share: float = 1.0, failed: StageStatus = "failed"
    ) -> Result | None:
        """Wait for a task, and record its stage; None if it raised an error or was not ready in time.

        `share` is the part of the remaining time to wait, and `failed` the stage's status after an error.
        """
        future, stopwatch = task
        remaining = self.deadline.remaining()
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

    def time_out(self, name: str, seconds: float | None = None) -> None:
        """Record that a stage was not ready within some seconds; None for the time of the whole search."""
        limit = self.deadline.seconds if seconds is None else seconds
        reason = f"not ready within {limit:g} s"
        self.failures.append(TimedOutError(f"the search timed out: {reason}", "give it more time"))
        self.stages.append(Stage(name, "timed_out", reason))

    def skip(self, name: str, reason: str, *, expected: bool = False) -> None:
        """Record that a stage was skipped; `expected` if the user need not do anything about it."""
        self.stages.append(Stage(name, "skipped", reason, expected=expected))

    def cache(self, values: Mapping[str, str]) -> None:
        """Store values in the cache. If the index cannot be written, a stage says so."""
        if self.models.portable:
            return
        try:
            self.store.answers.put(dict(values))
        except QmdError as error:
            self.stages.append(Stage("cache", "failed", error.in_one_line()))
