"""The queue of writes to an index. Reads go on at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio

from qmd.engine.index import Index
from qmd.engine.indexing.scan import OnProgress
from qmd.models.base import Cancelled, CancelledError
from qmd.server.index_host import IndexHost

Answer = TypeVar("Answer")


class Jobs:
    """The queue of writes, in the order of their arrival.

    If the caller of a waiting job is cancelled, the job is dropped. A running job is finished. If the server
    shuts down first, the job is told to stop, and uncommitted changes are rolled back.
    """

    def __init__(self, host: IndexHost) -> None:
        self.host = host
        # The lock is fair: it goes to the task that has waited longest.
        self._lock = anyio.Lock()

    @property
    def waiting(self) -> int:
        """The number of jobs, including the running one."""
        statistics = self._lock.statistics()
        return statistics.tasks_waiting + statistics.locked

    async def call(
        self, work: Callable[[Index, Cancelled], Answer], *, models: bool = False, finish: bool = True
    ) -> Answer:
        """Run `work` as `IndexHost.call` does, after all earlier jobs.

        Args:
            work: The job.
            models: Whether `work` may use models.
            finish: Whether to finish the job if its caller is cancelled. If false, the job is told to stop.
                Its caller may then be cancelled only when the server shuts down, because the next job could
                start before this one has stopped.
        """
        async with self._lock:
            # If the client leaves, the job goes on and keeps the lock.
            with anyio.CancelScope(shield=finish):
                answer = await self.host.call(work, models=models)
            return answer  # noqa: RET504 - mypy assumes that a scope may suppress exceptions


def stop_if(cancelled: Cancelled) -> OnProgress:
    """Return a progress callback that stops a cancelled scan after a batch; finished batches are kept."""

    def on_progress(collection: str, done: int, total: int) -> None:
        if cancelled():
            raise CancelledError

    return on_progress
