"""A search that runs: its input, and the outcome of each stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from qmd.engine.deadline import Deadline, Stopwatch
from qmd.engine.models.provider import ModelProvider
from qmd.engine.requests import SearchRequest
from qmd.engine.retrieval.filters import Asked
from qmd.engine.retrieval.found import Found
from qmd.engine.retrieval.queries import LIST_LENGTH
from qmd.errors import QmdError, TimedOutError
from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.types import Config, Ranked, Stage, StageStatus

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Result = TypeVar("Result")
#: Work in a thread; None if the time was up before it could start.
Task = tuple["Future[Result] | None", Stopwatch]

#: The share of the remaining time that an optional step may take, because others follow.
OPTIONAL_SHARE = 0.5


class Plan(Struct, frozen=True):
    """A kind of search, with its steps; `pipeline` has those that all kinds have in common.

    Attributes:
        read: Reads the query document of a request, if this kind has any.
        ask: Reads the query of what `read` returns, with the filters in it.
        find: Finds the documents, and ranks them.
        words: Whether it searches by words (BM25).
        meaning: Whether it searches by meaning (vectors). With `words`, the lists are fused and reranked.
        least: The least length of the lists.
        estimates: Whether scores are estimates also if they are not calibrated.
    """

    read: Callable[[SearchRequest], SearchRequest]
    ask: Callable[[Store, Config, SearchRequest], Asked]
    find: Callable[[Search], tuple[Found, Sequence[Ranked]]]
    words: bool
    meaning: bool
    least: int = LIST_LENGTH
    estimates: bool = False

    @property
    def hybrid(self) -> bool:
        """True if lists of both kinds are fused and reranked."""
        return self.words and self.meaning

    @property
    def complete(self) -> bool:
        """True if the list may have all matches: by meaning, every document is a match."""
        return not self.meaning


class Search(Struct):
    """Runs the stages of one search, and records them.

    `length` is that of the lists, and `depth` the number of documents that may be shown. `failures` are the
    errors of steps that are not optional.
    """

    plan: Plan
    asked: Asked
    store: Store
    models: ModelProvider
    config: Config
    scope: Scope
    length: int
    depth: int
    deadline: Deadline
    threads: Callable[[], ThreadPoolExecutor]
    stages: list[Stage] = field(default_factory=list)
    failures: list[QmdError] = field(default_factory=list)
    #: The set of vectors that is searched, and the scope in which it may lack some.
    vectors: tuple[str, Scope] | None = None

    @property
    def request(self) -> SearchRequest:
        return self.asked.request

    def start(self, work: Callable[[], Result]) -> Task[Result]:
        """Start work in a thread, unless the time is up. Raises `CancelledError` if cancelled."""
        self.deadline.check()
        return None if self.deadline.passed() else self.threads().submit(work), Stopwatch()

    def gather(self, name: str, task: Task[Result], *, optional: bool = False) -> Result | None:
        """Wait for a task, and record its stage; None if it raised an error or was not ready in time.

        An `optional` one counts as skipped if it fails, and has only a share of the remaining time.
        """
        future, stopwatch = task
        remaining = self.deadline.remaining()
        timeout = OPTIONAL_SHARE * remaining if optional and remaining is not None else remaining
        try:
            if future is None:
                raise TimeoutError
            result = future.result(timeout=timeout)
        except TimeoutError:
            if future is not None:
                future.cancel()
            self.time_out(name, round(timeout, 1) if optional and timeout is not None else None)
            return None
        except QmdError as error:
            status: StageStatus = "skipped" if optional else "failed"
            self.stages.append(Stage(name, status, error.in_one_line(), stopwatch.milliseconds()))
            if not optional:
                self.failures.append(error)
            return None
        self.stages.append(Stage(name, "ran", None, stopwatch.milliseconds()))
        return result

    def time_out(self, name: str, seconds: float | None = None) -> None:
        """Record that a stage was not ready within some seconds; None for the time of the whole search."""
        limit = self.deadline.seconds if seconds is None else seconds
        reason = f"not ready within {limit:g} s"
        self.stages.append(Stage(name, "timed_out", reason))
        if seconds is None:
            self.failures.append(TimedOutError(f"the search timed out: {reason}", "give it more time"))

    def skip(self, name: str, reason: str, *, expected: bool = False) -> None:
        """Record that a stage was skipped; `expected` if the user need not do anything about it."""
        self.stages.append(Stage(name, "skipped", reason, expected=expected))

    def cache(self, *writes: Callable[[], None]) -> None:
        """Store in the index what need not be done again. If it cannot be written, a stage says so."""
        if self.models.portable:
            return
        try:
            for write in writes:
                write()
        except QmdError as error:
            self.stages.append(Stage("cache", "failed", error.in_one_line()))


def what_makes_vectors(location: str) -> str:
    """Say what makes the missing vectors of an index: a process, or the user."""
    # Most searches need none of them.
    from qmd.engine.embedding.batches import is_running
    from qmd.engine.watching.election import find_watcher

    if is_running(location):
        return "they are being made"
    watcher = find_watcher(location)
    will_be = watcher is not None and watcher.embedding in ("running", "waiting", "idle")
    return f"{watcher.command} makes them" if watcher and will_be else "run 'qmd embed'"
