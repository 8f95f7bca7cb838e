"""How long a search may take (E47)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qmd.models.base import Cancelled


class Deadline:
    """A moment by which an answer is due; None seconds is never.

    `cancelled` turns true where the answer is not wanted any more, however much time is left.
    """

    def __init__(self, seconds: float | None, cancelled: Cancelled | None = None) -> None:
        self._due = None if seconds is None else time.monotonic() + seconds
        self._cancelled = cancelled
        self.seconds = seconds

    def remaining(self) -> float | None:
        """Seconds left, at least 0; None without a limit."""
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def passed(self) -> bool:
        """Whether the time is up, or the answer not wanted any more."""
        if self._cancelled is not None and self._cancelled():
            return True
        return self._due is not None and time.monotonic() >= self._due

    def check(self) -> None:
        """Raise `CancelledError` where the answer is not wanted any more."""
        if self._cancelled is not None and self._cancelled():
            from qmd.models.base import CancelledError

            raise CancelledError


class Stopwatch:
    """Milliseconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def milliseconds(self) -> float:
        return round((time.perf_counter() - self._start) * 1000, 2)
