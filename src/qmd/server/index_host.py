"""An index that stays open for as long as a server runs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

import anyio

from qmd.engine.index import Index
from qmd.models.base import Cancelled

Answer = TypeVar("Answer")

#: Calls that work at once; more wait. Each has a connection to the index of its own.
WORKERS = 8
#: Models that nothing used for this long are let go, in seconds.
IDLE_SECONDS = 300.0


class IndexHost:
    """Opens an index at the first call and keeps it. Calls work in threads, beside each other.

    `clock` gives seconds, from any beginning.
    """

    def __init__(
        self,
        open_index: Callable[[], Index],
        *,
        workers: int = WORKERS,
        idle: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_index = open_index
        self._threads = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="qmd-call")
        self._idle = idle
        self._clock = clock
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._calls = 0
        self._model_calls = 0
        self._models_used_at: float | None = None

    @property
    def index(self) -> Index:
        """The index. Raises as `qmd.open_index` does; the next call then tries again."""
        with self._lock:
            if self._index is None:
                self._index = self._open_index()
            return self._index

    async def call(self, work: Callable[[Index, Cancelled], Answer], *, models: bool = False) -> Answer:
        """Do work in a thread; `models` says whether it may use them.

        Where the caller is cancelled, `work` is told by the second argument, and its answer is dropped.
        """
        unwanted = threading.Event()

        def run() -> Answer:
            with self._counted(models):
                return work(self.index, unwanted.is_set)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, run)
        finally:
            unwanted.set()

    def release_idle_models(self) -> float:
        """Let the models go if nothing used them for `idle` seconds; returns in how many to ask again."""
        with self._lock:
            if self._models_used_at is None or self._model_calls:
                return self._idle
            left = self._models_used_at + self._idle - self._clock()
            if left > 0:
                return left
            self._models_used_at = None
            index = self._index
        if index is not None:
            index.release_models()
        return self._idle

    @asynccontextmanager
    async def tended(self) -> AsyncIterator[None]:
        """A time in which models that nothing uses are let go."""

        async def tend() -> None:
            while True:
                await anyio.sleep(self.release_idle_models())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tend)
            yield
            tasks.cancel_scope.cancel()

    def finish(self) -> None:
        """Start no further call, and wait until all have ended."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def close(self) -> bool:
        """Start no further call; returns whether all have ended, and the index may be closed."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            return self._calls == 0

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
