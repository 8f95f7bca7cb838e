"""The lists that a hybrid search fuses: lexical ones and dense ones, each a leg that can fail alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class SubQuery:
    """One query text and the lists it goes to. `weight` 2 for the original, 1 for the others (E41)."""

    name: str
    query: str
    lexical: bool
    dense: bool
    weight: float


@dataclass(slots=True)
class LexicalResult:
    """BM25 lists, one a query text, raw scores; the matches of the first one in full."""

    lists: list[RankedList] = field(default_factory=list)
    first: LexicalMatches | None = None


@dataclass(slots=True)
class DenseResult:
    """Cosine lists, one a query text; the first query's vector; each document's best chunk."""

    lists: list[RankedList] = field(default_factory=list)
    vector: NDArray[np.float32] | None = None
    chunks: dict[int, tuple[float, Chunk]] = field(default_factory=dict)


def lexical_leg(store: Store, wanted: Sequence[SubQuery], scope: Scope, length: int) -> LexicalResult:
    """Search every text that goes to BM25."""
    leg = LexicalResult()
    for item in wanted:
        if not item.lexical:
            continue
        # Longer words that only begin alike are a last resort of keyword search, and noise beside vectors.
        matches = store.lexical(parse(item.query), scope, length, longer=False)
        if leg.first is None:
            leg.first = matches
        # By raw BM25, so that a document with all terms is not ranked for having them twice.
        rows = [(match.document, match.score) for match in matches.matches]
        ordered = sorted(rows, key=lambda row: (-row[1], row[0]))
        leg.lists.append(RankedList(f"lexical:{item.name}", "lexical", ordered, item.weight))
    return leg


def dense_leg(
    store: Store, embedder: Embedder, fingerprint: str, wanted: Sequence[SubQuery], scope: Scope, length: int
) -> DenseResult:
    """Embed every text that goes to vectors, in one batch, and search each."""
    leg = DenseResult()
    asked = [item for item in wanted if item.dense]
    if not asked:
        return leg
    # A hypothetical answer reads like a document, but all are compared with documents as queries.
    vectors = embedder.embed_queries([item.query for item in asked])
    leg.vector = vectors[0]
    for item, vector in zip(asked, vectors, strict=True):
        matches = store.dense(fingerprint, vector, scope, length)
        for match in matches:
            known = leg.chunks.get(match.document)
            if known is None or match.similarity > known[0]:
                leg.chunks[match.document] = (match.similarity, match.chunk)
        rows = [(match.document, match.similarity) for match in matches]
        leg.lists.append(RankedList(f"vector:{item.name}", "dense", rows, item.weight))
    return leg


class Retrieval:
    """Runs legs side by side and keeps a record of what became of each."""

    def __init__(self, pool: ThreadPoolExecutor, deadline: Deadline) -> None:
        self._pool = pool
        self._deadline = deadline
        self.stages: list[Stage] = []
        #: Why legs have no answer, in the order in which they failed.
        self.failures: list[QmdError] = []

    def start(self, work: Callable[[], Answer]) -> tuple[Future[Answer], Stopwatch]:
        """Begin a leg in a thread of its own. Raises `CancelledError` where nobody waits any more."""
        self._deadline.check()
        return self._pool.submit(work), Stopwatch()

    def gather(
        self,
        name: str,
        started: tuple[Future[Answer], Stopwatch],
        *,
        share: float = 1.0,
        failed: StageStatus = "failed",
    ) -> Answer | None:
        """Wait for a leg until the deadline; None where it failed or was late, with the stage saying so.

        `share` of the time left is all that one gets which others wait for; `failed` is what to call it where
        it failed.
        """
        future, watch = started
        left = self._deadline.remaining()
        patience = None if left is None else share * left
        try:
            answer = future.result(timeout=patience)
        except TimeoutError:
            future.cancel()
            self.late(name, None if patience is None or share == 1.0 else round(patience, 1))
            return None
        except QmdError as error:
            self.failures.append(error)
            self.stages.append(Stage(name, failed, error.in_one_line(), watch.milliseconds()))
            return None
        self.stages.append(Stage(name, "ran", None, watch.milliseconds()))
        return answer

    def late_already(self) -> bool:
        """Whether the time is up: work that takes long asks between its steps."""
        return self._deadline.passed()

    def late(self, name: str, seconds: float | None = None) -> None:
        """Note that a stage did not end in time: within so many seconds, all that the search had if None."""
        given = self._deadline.seconds if seconds is None else seconds
        reason = f"not ready within {given:g} s"
        self.failures.append(TimedOutError(f"the search timed out: {reason}", "give it more time"))
        self.stages.append(Stage(name, "timed_out", reason))

    def skip(self, name: str, reason: str, *, expected: bool = False) -> None:
        """Note that a stage was left out, and why; `expected` where nothing is lacking."""
        self.stages.append(Stage(name, "skipped", reason, expected=expected))
