"""What changes an index while others read it: one job after another, in the order in which they came."""

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
    """The queue of writes. A job that waits is dropped with its caller; one that has begun is finished.

    Where the server ends first, the job is told so, and what it has not committed is rolled back.
    """

    def __init__(self, resident: IndexHost) -> None:
        self.resident = resident
        # Hands over in the order of those who wait.
        self._turn = anyio.Lock()

    @property
    def waiting(self) -> int:
        """How many jobs there are, the one in progress included."""
        found = self._turn.statistics()
        return found.tasks_waiting + found.locked

    async def call(
        self, work: Callable[[Index, Cancelled], Answer], *, models: bool = False, finish: bool = True
    ) -> Answer:
        """As `IndexHost.call`, once all jobs before this one have ended.

        `finish` says whether the job is finished if its caller is cancelled. If not, it is told; the caller
        must not be cancelled while the server goes on, since another job could begin beside it.
        """
        async with self._turn:
            # The client may leave; the work goes on, and nothing may begin beside it.
            with anyio.CancelScope(shield=finish):
                answer = await self.resident.call(work, models=models)
            return answer  # noqa: RET504 - a scope may end its block, for all that mypy knows


def unless(cancelled: Cancelled) -> OnProgress:
    """Ends a scan after a batch of files once nobody wants it; what was done is kept."""

    def on_progress(collection: str, done: int, total: int) -> None:
        if cancelled():
            raise CancelledError

    return on_progress
