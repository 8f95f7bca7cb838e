"""The order in which the lines of a page are read: columns apart, each from the top."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: A gap between columns is as wide as this many heights of a line, and each column has so many lines.
_GUTTER, _LINES = 0.7, 3
#: Lines of a row share this part of their height, and a paragraph ends at a gap of so many heights.
_SHARED, _PARAGRAPH = 0.5, 1.2
#: So many lines have so many letters for a square as high as a line, if the model knows their script: Latin
#: letters 2 to 3, Chinese signs 1. Of other scripts it sees spaces and stops, with much confidence.
_SEVERAL, _DENSE = 4, 0.4
#: A word that is divided at the end of a line.
_DIVIDED = re.compile(r"(?<=[a-zà-öø-ÿ])-\n(?=[a-zà-öø-ÿ])")


class PrintedLine(NamedTuple):
    """A line of text and its box, from the upper left corner of the page."""

    left: float
    top: float
    right: float
    bottom: float
    text: str

    @property
    def height(self) -> float:
        """The height of its box."""
        return self.bottom - self.top


def is_unknown(lines: Sequence[PrintedLine]) -> bool:
    """Tell whether lines have so few letters for their length that their script is unknown to the model."""
    squares = sum((line.right - line.left) / max(line.height, 1.0) for line in lines)
    letters = sum(map(str.isalnum, "".join(line.text for line in lines)))
    return len(lines) >= _SEVERAL and letters < _DENSE * squares


def text_of(lines: Sequence[PrintedLine]) -> str:
    """Return the text of the lines of a page, with empty lines between paragraphs."""
    height = sorted(line.height for line in lines)[len(lines) // 2] if lines else 0.0
    parts: list[str] = []
    end = 0.0
    for row in _rows(_in_columns([*lines], height), height):
        top = min(line.top for line in row)
        if parts:
            parts.append("\n" if -height <= top - end < _PARAGRAPH * height else "\n\n")
        parts.append(" ".join(line.text for line in row))
        end = max(line.bottom for line in row)
    return _DIVIDED.sub("", "".join(parts))


def _in_columns(lines: list[PrintedLine], height: float) -> Iterator[list[PrintedLine]]:
    """Yield the lines of each column. Lines across columns are between those above and below."""
    gutter = _gutter(lines, height)
    if gutter is None:
        yield lines
        return
    across = sorted((line for line in lines if line.left < gutter < line.right), key=lambda line: line.top)
    above = float("-inf")
    for line in [*across, None]:
        below = line.top + line.height / 2 if line else float("inf")
        part = [
            each for each in lines if above <= (each.top + each.bottom) / 2 < below and each not in across
        ]
        for side in (
            [each for each in part if each.right <= gutter],
            [each for each in part if each.left >= gutter],
        ):
            if side:
                yield from _in_columns(side, height)
        if line:
            yield [line]
        above = below


def _gutter(lines: Sequence[PrintedLine], height: float) -> float | None:
    """Return a place between two columns, crossed by few lines; None if there is one column."""
    best: tuple[int, float] | None = None
    edges = sorted({line.right for line in lines})
    for left in edges:
        right = min((line.left for line in lines if line.left >= left), default=left)
        if right - left < _GUTTER * height:
            continue
        at = (left + right) / 2
        sides = [line for line in lines if line.right <= at], [line for line in lines if line.left >= at]
        crossing = len(lines) - sum(map(len, sides))
        if min(map(len, sides)) < _LINES or crossing > len(lines) / 4 or not _are_texts(sides, height):
            continue
        if best is None or crossing < best[0]:
            best = crossing, at
    return best[1] if best else None


def _are_texts(sides: Sequence[Sequence[PrintedLine]], height: float) -> bool:
    """Tell whether both sides are columns of text rather than of the cells of a table."""
    return all(sorted(line.right - line.left for line in side)[len(side) // 2] > 8 * height for side in sides)


def _rows(columns: Iterator[list[PrintedLine]], height: float) -> Iterator[list[PrintedLine]]:
    """Yield the lines that are side by side, from left to right, of one column after the other."""
    for column in columns:
        row: list[PrintedLine] = []
        for line in sorted(column, key=lambda each: (each.top + each.bottom) / 2):
            if row and min(line.bottom, row[-1].bottom) - max(line.top, row[-1].top) < _SHARED * line.height:
                yield sorted(row)
                row = []
            row.append(line)
        if row:
            yield sorted(row)
