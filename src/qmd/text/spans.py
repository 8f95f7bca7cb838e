"""Spans of a text: parts [start, end) in characters, in order and apart."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from qmd.types.structure import Span


def apart(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, without those that begin in one before them."""
    found, at = list[Span](), 0
    for start, end in sorted(spans):
        if start >= at and end > start:
            found.append((start, end))
            at = end
    return found


def blanked(text: str, spans: Iterable[Span]) -> str:
    """Return a text with blanks in place of spans that are in order and apart, so that positions stay."""
    parts, at = list[str](), 0
    for start, end in spans:
        parts += [text[at:start], blanks(text[start:end])]
        at = end
    return "".join([*parts, text[at:]]) if at else text


def blanks(text: str) -> str:
    """Return blanks for a text, with its ends of lines."""
    if "\n" not in text:
        return " " * len(text)
    return "\n".join(" " * len(line) for line in text.split("\n"))


def inside(spans: Iterable[Span], start: int, end: int) -> tuple[Span, ...]:
    """Return what spans have of a part [start, end) of a text, by its places in that part."""
    return tuple(
        (max(0, low - start), min(high, end) - start) for low, high in spans if high > start and low < end
    )


class Closed:
    """Spans that are closed to a search; they may touch and overlap."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def end(self, at: int) -> int:
        """Return the end of the span around a position; the position itself if none is around it."""
        place = bisect_right(self._starts, at) - 1
        return max(at, self._ends[place]) if place >= 0 else at

    def matches(self, pattern: re.Pattern[str], text: str, start: int = 0) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern that begin outside of the spans."""
        at = start
        while match := pattern.search(text, at):
            first = match.start()
            at = self.end(first)
            if at == first:
                at = max(match.end(), first + 1)
                yield match


def is_inside_word(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text is between two letters or digits."""
    return start > 0 and text[start - 1].isalnum() and text[end : end + 1].isalnum()
