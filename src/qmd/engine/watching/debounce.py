"""Decide when a burst of changes is over."""

from __future__ import annotations


class Debounce:
    """Waits until there was no change for `quiet` seconds, but at most `longest` seconds from the first.

    Times are seconds from any start.
    """

    def __init__(self, quiet: float, longest: float) -> None:
        self.quiet = quiet
        self.longest = longest
        self._first: float | None = None
        self._due = 0.0

    def touch(self, now: float) -> None:
        """Note a change."""
        if self._first is None:
            self._first = now
        self._due = min(now + self.quiet, self._first + self.longest)

    def delay(self, until: float) -> None:
        """Note that work is left, which is not to be done before a time."""
        self._first = until if self._first is None else self._first
        self._due = max(self._due, until)

    def clear(self) -> None:
        """Note that the changes are dealt with."""
        self._first = None

    @property
    def due(self) -> float | None:
        """The time to deal with the changes; None if there are none."""
        return None if self._first is None else self._due
