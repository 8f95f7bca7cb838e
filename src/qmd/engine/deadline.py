"""How long a search may take (E47)."""

from __future__ import annotations

import time


class Deadline:
    """A moment by which an answer is due; None seconds is never."""

    def __init__(self, seconds: float | None) -> None:
        self._due = None if seconds is None else time.monotonic() + seconds
        self.seconds = seconds

    def remaining(self) -> float | None:
        """Seconds left, at least 0; None without a limit."""
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def passed(self) -> bool:
        """Whether the time is up."""
        return self._due is not None and time.monotonic() >= self._due


class Stopwatch:
    """Milliseconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def milliseconds(self) -> float:
        return round((time.perf_counter() - self._start) * 1000, 2)
