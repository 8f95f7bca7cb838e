"""Columns of a page that is drawn row by row: each is read to its end before the next."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

#: Two parts of a row are apart if the gap between them is wider than this share of their height.
_GAP = 1.2
#: The fewest rows with columns, the smallest share of the longest row of a column that most rows have (the
#: cells of tables are shorter), and how many of the rows are most of them.
_ROWS, _FULL, _MOSTLY = 3, 0.6, 0.7
#: How wide a column is at least, in heights of its rows.
_WIDTH = 9


class RowPart(NamedTuple):
    """A part of a row of text, in points from the lower left corner of the page."""

    left: float
    bottom: float
    right: float
    top: float


def in_columns(parts: Sequence[RowPart], read: Callable[[RowPart], str]) -> str | None:
    """Return the text of a page whose columns are drawn row by row; None if there are none.

    Args:
        parts: The parts of rows, as they are drawn.
        read: Returns the text in a part of the page.
    """
    rows = [*_rows(parts)]
    counts = Counter(len(row) for row in rows if len(row) > 1)
    most, times = counts.most_common(1)[0] if counts else (0, 0)
    if times < _ROWS or (gutters := _gutters([row for row in rows if len(row) == most], most)) is None:
        return None
    lines: list[str] = []
    columns: list[list[str]] = [[] for _ in range(most)]
    for row in rows:
        if any(part.left < gutter < part.right for part in row for gutter in gutters):
            lines += [*chain.from_iterable(columns), " ".join(map(read, row))]
            columns = [[] for _ in range(most)]
        else:
            for part in row:
                columns[bisect_left(gutters, part.right)].append(read(part))
    return "\n".join([*lines, *chain.from_iterable(columns)])


def _rows(parts: Sequence[RowPart]) -> Iterator[list[RowPart]]:
    """Yield the rows of a page from left to right, of parts with gaps between them."""
    row: list[RowPart] = []
    for part in parts:
        if row and not _is_beside(row[-1], part):
            yield _joined(row)
            row = []
        row.append(part)
    if row:
        yield _joined(row)


def _is_beside(part: RowPart, other: RowPart) -> bool:
    shared = min(part.top, other.top) - max(part.bottom, other.bottom)
    return shared > min(part.top - part.bottom, other.top - other.bottom) / 2


def _joined(row: Sequence[RowPart]) -> list[RowPart]:
    """Return the parts of a row, with those as one that have no gap between them."""
    found: list[RowPart] = []
    for part in sorted(row):
        if found and part.left - found[-1].right < _GAP * (part.top - part.bottom):
            found[-1] = _around(found[-1], part)
        else:
            found.append(part)
    return found


def _around(one: RowPart, other: RowPart) -> RowPart:
    return RowPart(
        min(one.left, other.left),
        min(one.bottom, other.bottom),
        max(one.right, other.right),
        max(one.top, other.top),
    )


def _gutters(rows: Sequence[Sequence[RowPart]], count: int) -> list[float] | None:
    """Return where columns divide, if most rows with so many parts are rows of columns of prose."""
    columns = [*zip(*rows, strict=True)]
    gutters = [
        (max(part.right for part in one) + min(part.left for part in other)) / 2
        for one, other in pairwise(columns)
    ]
    fits = [
        row
        for row in rows
        if all(row[at].right < gutter < row[at + 1].left for at, gutter in enumerate(gutters))
    ]
    if len(fits) < _ROWS or len(fits) < _MOSTLY * len(rows):
        return None
    return gutters if all(_is_prose([row[at] for row in fits]) for at in range(count)) else None


def _is_prose(column: Sequence[RowPart]) -> bool:
    """Return whether the rows of a column begin in one place, and most of them fill it."""
    widths = [part.right - part.left for part in column]
    height = sum(part.top - part.bottom for part in column) / len(column)
    start = sorted(part.left for part in column)[len(column) // 2]
    aligned = sum(abs(part.left - start) < height for part in column)
    full = sum(width >= _FULL * max(widths) for width in widths)
    return min(aligned, full) >= _MOSTLY * len(column) and max(widths) >= _WIDTH * height
