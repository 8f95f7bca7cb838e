"""Limit and measure the time of a search."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qmd.models.base import Cancelled


class Deadline:
    """The time by which a search must respond, in seconds from now; None for no limit.

    `cancelled` returns true as soon as the response is no longer needed.
    """

    def __init__(self, seconds: float | None, cancelled: Cancelled | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._cancelled = cancelled or (lambda: False)
        self.seconds = seconds

    def remaining(self) -> float | None:
        """Return the seconds left, at least 0; None if there is no limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def passed(self) -> bool:
        """Tell whether the time is up or the search is cancelled."""
        return self._cancelled() or (self._end is not None and time.monotonic() >= self._end)

    def check(self) -> None:
        """Raise `CancelledError` if the search is cancelled."""
        if self._cancelled():
            from qmd.models.base import CancelledError

            raise CancelledError


class Stopwatch:
    """Measures the time since its creation."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def milliseconds(self) -> float:
        return round((time.perf_counter() - self._start) * 1000, 2)
