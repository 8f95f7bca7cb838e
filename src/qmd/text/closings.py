"""Find closing marks in linear time, however many opening marks have none."""

from __future__ import annotations

from bisect import bisect_left

from qmd.text.regex import lazy

_TICKS = lazy(r"`++")


class Closings:
    """The places of marks in a text. What was searched once is remembered."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, tuple[int, int]] = {}  # by mark: from where it was searched, and its place
        self._paragraph = (0, -1)
        self._runs: dict[int, list[int]] = {}  # of the paragraph: the places of backticks by their number

    def find(self, mark: str, at: int) -> int:
        """Return the first place of `mark` from `at` on, the length of the text if there is none."""
        start, found = self._found.get(mark, (0, -1))
        if not start <= at <= found:
            found = self._text.find(mark, at)
            found = len(self._text) if found < 0 else found
            self._found[mark] = at, found
        return found

    def after(self, mark: str, at: int, high: int) -> int:
        """Return the end of `mark`; `at` if it is not found before `high`."""
        end = self.find(mark, at) + len(mark)
        return end if end <= high else at

    def of_code(self, count: int, at: int, high: int) -> int:
        """Return the end of inline code after `count` backticks; `at` if its paragraph has no such number."""
        start, end = self._paragraph
        if not start <= at <= end:
            start, end = self._paragraph = at, self.find("\n\n", at)
            self._runs = {}
            for run in _TICKS.finditer(self._text, start, end):
                self._runs.setdefault(len(run[0]), []).append(run.start())
        places = self._runs.get(count, [])
        place = bisect_left(places, at)
        return places[place] + count if place < len(places) and places[place] + count <= high else at
