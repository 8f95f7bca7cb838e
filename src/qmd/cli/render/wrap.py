"""Where lines break on a terminal: at blanks, and between the characters of unspaced scripts."""

from __future__ import annotations

from collections.abc import Iterator

from qmd.cli.terminal import char_width, width_of

#: Narrower than this nothing is made to fit.
_LEAST = 8
# What does not begin a line, and what does not end one (kinsoku).
_NOT_FIRST = frozenset(
    "、。，．・：；！？）」』】〉》〕］｝ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ%)]}!?:;,.…’”"
)
_NOT_LAST = frozenset("（「『【〈《〔［｛([{‘“")


def line_spans(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Spans (start, end) of a text without line feeds, each of at most `width` columns.

    The blanks at a break belong to neither line. A word wider than a line is cut.
    """
    width = max(width, _LEAST)
    if width_of(text) <= width:
        yield 0, len(text)
        return
    start = column = 0
    best, best_column = 0, 0
    for at, char in enumerate(text):
        if at > start and _may_break(text[at - 1], char):
            best, best_column = at, column
        taken = char_width(char)
        if char != " " and column + taken > width:
            if not text[start:best].strip(" "):
                best, best_column = at, column
            yield start, start + len(text[start:best].rstrip(" "))
            start, column = best, column - best_column
        column += taken
    yield start, len(text) if column <= width else len(text.rstrip(" "))


def _may_break(before: str, after: str) -> bool:
    """Whether a line may end between two characters."""
    if before == " " or after == " ":
        return before != after and before == " "
    widths = char_width(before), char_width(after)
    # A character without a width belongs to its neighbours.
    return 2 in widths and 0 not in widths and before not in _NOT_LAST and after not in _NOT_FIRST
