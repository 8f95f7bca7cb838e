"""Addresses of places in source files: `p12`, `p12-14`, `c4`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from msgspec.structs import replace

from qmd.text.regex import lazy
from qmd.types import Anchor

#: The kind of anchors after which lines of the text and of the file advance together.
LINE = "line"
_ADDRESS = lazy(r"(.+):([a-z]{1,20})(\d{1,9})(?:-(\d{1,9}))?\Z", re.S)


def split_anchor(reference: str) -> tuple[str, str, int, int] | None:
    """Split `report.pdf:p12-14` into (path, "p", 12, 14); None if it is not such a reference."""
    match = _ADDRESS.match(reference)
    if match is None:
        return None
    path, kind, first, last = match.groups()
    return path, kind, int(first), int(last or first)


def anchor_at(anchors: Sequence[Anchor], line: int) -> Anchor | None:
    """Return the place that a line comes from; None if the line is before the first anchor."""
    at = bisect_right(anchors, line, key=lambda anchor: anchor.line)
    if not at:
        return None
    anchor = anchors[at - 1]
    # Source code: each line of the text below an anchor is one line of the file.
    if anchor.kind != LINE:
        return anchor
    # The line that begins a block of code is before the first line of the file.
    return replace(anchor, line=line, value=max(1, anchor.value + line - anchor.line))


def span(anchors: Sequence[Anchor], kind: str, first: int, last: int, total: int) -> tuple[int, int] | None:
    """Return the first and last line of the places `first` to `last`; None if there are none.

    Of places without text, such as blank pages, the last line is before the first.

    Args:
        anchors: The anchors of the document.
        kind: The kind of the places, or its beginning, such as `p` for `page`.
        first: The value of the first place.
        last: The value of the last place.
        total: The number of lines of the document.
    """
    same = [anchor for anchor in anchors if anchor.kind.startswith(kind)]
    if not same or last < first:
        return None
    if same[0].kind == LINE:
        # Values between two anchors belong to the first of them.
        before = bisect_right(same, first, key=lambda anchor: anchor.value)
        after = bisect_right(same, last, key=lambda anchor: anchor.value)
        begin = same[max(before - 1, 0)]
        start = begin.line + max(0, first - begin.value)
        end = same[max(after - 1, 0)]
        limit = same[after].line - 1 if after < len(same) else total
        return min(start, limit), min(end.line + max(0, last - end.value), limit)
    chosen = [anchor for anchor in same if first <= anchor.value <= last]
    if not chosen:
        return None
    following = next((anchor.line for anchor in same if anchor.value > last), total + 1)
    return chosen[0].line, following - 1
