"""The index of a server: it stays open, with its models in memory while they are used."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio

from qmd.engine.index import Index
from qmd.engine.watching.watcher import Watcher
from qmd.models.base import Cancelled

if TYPE_CHECKING:
    from qmd.server.readers import ReaderProcesses

Answer = TypeVar("Answer")
#: Takes the index, and a function that returns true after the caller was cancelled.
Work = Callable[[Index, Cancelled], Answer]

#: Maximum number of calls at the same time that use models or whole documents, of those that render or check
#: one, of those that read everything, and of quick ones. Each thread has its own connection to the index.
SLOW_WORKERS = 4
PAGE_WORKERS = 2
WHOLE_WORKERS = 1
QUICK_WORKERS = 4
#: Quick calls follow each other, because threads that wait for the interpreter cost as much processor time as
#: the calls themselves. If one takes longer than these seconds, another may begin beside it.
_HELD_UP = 0.05
#: Models that are unused for this many seconds are freed.
_IDLE_SECONDS = 300.0


def _pool(name: str, workers: int) -> tuple[ThreadPoolExecutor, anyio.CapacityLimiter]:
    """Return threads, and what lets as many calls have one."""
    return ThreadPoolExecutor(workers, thread_name_prefix=f"qmd-{name}"), anyio.CapacityLimiter(workers)


class IndexHost:
    """Opens an index at the first call and keeps it open. Calls run in threads; writes wait in a queue.

    `readers` are processes that may answer in place of it.
    Models that are unused for `idle` seconds are freed. `clock` returns seconds from any start.
    """

    def __init__(
        self,
        open_index: Callable[[], Index],
        *,
        readers: ReaderProcesses | None = None,
        idle: float = _IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_index = open_index
        self.readers = readers
        self._slow = _pool("slow", SLOW_WORKERS)
        self._pages = _pool("page", PAGE_WORKERS)
        self._whole = _pool("whole", WHOLE_WORKERS)
        self._quick = ThreadPoolExecutor(QUICK_WORKERS, thread_name_prefix="qmd-quick")
        self._quick_calls = anyio.CapacityLimiter(1)
        self._idle = idle
        self._clock = clock
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._calls = 0
        self._model_calls = 0
        self._models_used_at: float | None = None
        self._releasing = False
        #: The watcher of this process, while it runs.
        self.watcher: Watcher | None = None
        # The lock is fair: it goes to the task that has waited longest.
        self._writing = anyio.Lock()

    @property
    def index(self) -> Index:
        """The index. If `qmd.open_index` raises an error, the next call tries to open it again."""
        with self._lock:
            if self._index is None:
                self._index = self._open_index()
            return self._index

    @property
    def writes(self) -> int:
        """The number of writes that wait, including the running one."""
        statistics = self._writing.statistics()
        return statistics.tasks_waiting + statistics.locked

    @property
    def watching(self) -> Literal["events", "polling", "standby", "off"]:
        """The notice of changes: `events`, `polling`, `standby` (another may watch) or `off`."""
        if self.watcher is None:
            return "off"
        state = self.watcher.state
        if state is None:
            return "standby"
        return "polling" if state.polled else "events"

    async def call(
        self,
        work: Work[Answer],
        *,
        models: bool = False,
        slow: bool = False,
        page: bool = False,
        whole: bool = False,
    ) -> Answer:
        """Run `work` in a thread and return its result.

        `models` is whether it may use models, `slow` whether it reads whole documents, `page` whether it
        renders one, or compares one with a text, and `whole` whether it reads all of the index: then it is
        run one at a time. Such work never takes the threads of other work.
        """
        cancelled = threading.Event()

        def run() -> Answer:
            with self._counted(models):
                return work(self.index, cancelled.is_set)

        try:
            if not (models or slow or page or whole):
                async with self._quick_calls:
                    with self._another_if_held_up():
                        return await asyncio.get_running_loop().run_in_executor(self._quick, run)
            threads, calls = self._whole if whole else self._pages if page else self._slow
            # A thread that is ready does not begin before the last answer has been taken from it.
            async with calls:
                return await asyncio.get_running_loop().run_in_executor(threads, run)
        finally:
            cancelled.set()

    async def write(self, work: Work[Answer], *, models: bool = False, finish: bool = True) -> Answer:
        """Run `work` as `call` does, after all earlier writes. Reads go on at the same time.

        If the caller is cancelled, a waiting write is dropped, and a running one is finished. If the server
        shuts down first, the write is told to stop, and uncommitted changes are rolled back. Without `finish`
        it is told to stop as soon as its caller is cancelled. That may happen only when the server shuts
        down, because the next write could start before this one has stopped.
        """
        async with self._writing:
            # If the client leaves, the write goes on and keeps the lock.
            with anyio.CancelScope(shield=finish):
                answer = await self.call(work, models=models)
            return answer  # noqa: RET504 - mypy assumes that a scope may suppress exceptions

    @asynccontextmanager
    async def releasing_models(self) -> AsyncIterator[None]:
        """Free idle models inside the context. Inside another of the same index it does nothing."""
        if self._releasing:
            yield
            return

        async def release() -> None:
            while True:
                await anyio.sleep(self.release_idle_models())

        self._releasing = True
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(release)
                yield
                tasks.cancel_scope.cancel()
        finally:
            self._releasing = False

    def release_idle_models(self) -> float:
        """Free the models if they were unused for `idle` seconds. Return the seconds until the next check."""
        with self._lock:
            if self._models_used_at is None or self._model_calls:
                return self._idle
            remaining = self._models_used_at + self._idle - self._clock()
            if remaining > 0:
                return remaining
            self._models_used_at = None
            index = self._index
        if index is not None:
            index.release_models()
        return self._idle

    def finish(self) -> None:
        """Refuse new calls, and wait until all calls have ended."""
        self._refuse(wait=True)

    def close(self) -> bool:
        """Refuse new calls. Return whether all calls have ended, so that the index may be closed."""
        self._refuse(wait=False)
        with self._lock:
            return self._calls == 0

    def _refuse(self, *, wait: bool) -> None:
        for threads in (self._slow[0], self._pages[0], self._whole[0], self._quick):
            threads.shutdown(wait=wait, cancel_futures=True)

    @contextmanager
    def _another_if_held_up(self) -> Iterator[None]:
        """Let another quick call begin if the one inside the context takes long."""
        more = 0

        def allow() -> None:
            nonlocal more
            if self._quick_calls.total_tokens < QUICK_WORKERS:
                more = 1
                self._quick_calls.total_tokens += 1

        timer = asyncio.get_running_loop().call_later(_HELD_UP, allow)
        try:
            yield
        finally:
            timer.cancel()
            self._quick_calls.total_tokens -= more

    @contextmanager
    def _counted(self, models: bool) -> Iterator[None]:
        with self._lock:
            self._calls += 1
            self._model_calls += models
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                self._model_calls -= models
                if models:
                    self._models_used_at = self._clock()


class AnswerParts:
    """The parts of an answer as they come, and the answer behind them.

    `start` gets the function that takes a part, in any thread. Cancel the `answer` if nobody reads on.
    """

    def __init__(self, start: Callable[[Callable[[Any], None]], Awaitable[Any]]) -> None:
        loop, self._parts = asyncio.get_running_loop(), asyncio.Queue[Any]()

        def tell(part: Any) -> None:
            loop.call_soon_threadsafe(self._parts.put_nowait, part)

        self.answer: asyncio.Future[Any] = asyncio.ensure_future(start(tell))
        self.answer.add_done_callback(lambda _: self._parts.put_nowait(None))  # after all parts

    async def __aiter__(self) -> AsyncIterator[Any]:
        while (part := await self._parts.get()) is not None:
            yield part
