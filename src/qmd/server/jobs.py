"""What changes an index while others read it: one job after another, in the order in which they came."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio

from qmd.engine.index import Index
from qmd.models.base import Cancelled
from qmd.server.resident import Resident

Answer = TypeVar("Answer")


class Jobs:
    """The queue of writes. A job that waits is dropped with its caller; one that has begun is finished.

    Where the server ends first, the job is told so, and what it has not committed is rolled back.
    """

    def __init__(self, resident: Resident) -> None:
        self._resident = resident
        # Hands over in the order of those who wait.
        self._turn = anyio.Lock()

    @property
    def waiting(self) -> int:
        """How many jobs there are, the one in progress included."""
        found = self._turn.statistics()
        return found.tasks_waiting + found.locked

    async def call(self, work: Callable[[Index, Cancelled], Answer], *, models: bool = False) -> Answer:
        """As `Resident.call`, once all jobs before this one have ended."""
        async with self._turn:
            # The client may leave; the work goes on, and nothing may begin beside it.
            with anyio.CancelScope(shield=True):
                answer = await self._resident.call(work, models=models)
            return answer  # noqa: RET504 - a scope may end its block, for all that mypy knows
