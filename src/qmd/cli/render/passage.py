"""Wrap text to the width of a terminal, with line numbers and highlighted matches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from qmd.cli.render.view import View
from qmd.cli.terminal import BOLD, DIM, RED, char_width, styled, width_of

_TAB = 4
#: Text is not wrapped narrower than this.
_MIN_WIDTH = 8
# Characters that must not start a line, and characters that must not end one (kinsoku).
_NOT_FIRST = frozenset(
    "、。，．・：；！？）」』】〉》〕］｝ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ%)]}!?:;,.…’”"
)
_NOT_LAST = frozenset("（「『【〈《〔［｛([{‘“")


def passage(text: str, first_line: int, view: View) -> str:
    """Return a text for the terminal. `first_line` is its line number in the file."""
    # Expand tabs only on a terminal, to know their width; programs get the original characters.
    text = view.shown(text).expandtabs(_TAB) if view.terminal else view.shown(text)
    marks = view.highlights(text) if view.colours and view.highlights is not None else []
    lines: list[str] = []
    at = 0
    for number, line in enumerate(text.split("\n"), first_line):
        label = f"{number}: " if view.line_numbers else ""
        for start, end in _pieces(line, len(label), view):
            gutter = " " * len(label) if start else view.styled(label.rstrip(), DIM) + label[-1:]
            lines.append(gutter + _marked(text, at + start, at + end, marks))
        at += len(line) + 1
    return "\n".join(lines)


def labelled(label: str, text: str, view: View, *codes: str) -> list[str]:
    """Wrap a text without line feeds after a label, with later lines indented by the label's width."""
    pieces = [view.styled(text[start:end], *codes) for start, end in _pieces(text, len(label), view)]
    return [label + pieces[0], *(" " * len(label) + piece for piece in pieces[1:])]


def _pieces(line: str, taken: int, view: View) -> list[tuple[int, int]]:
    return list(line_spans(line, view.width - taken)) if view.terminal else [(0, len(line))]


def _marked(text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> str:
    """Return `text[start:end]` with the spans in `marks` highlighted."""
    parts = []
    for number in range(bisect_right(marks, start, key=lambda mark: mark[1]), len(marks)):
        low, high = max(start, marks[number][0]), min(end, marks[number][1])
        if low >= end:
            break
        parts += [text[start:low], styled(text[low:high], BOLD, RED)]
        start = high
    return "".join([*parts, text[start:end]])


def line_spans(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield the spans (start, end) of lines of at most `width` columns, from a text without line feeds.

    Lines break at spaces, and between characters of scripts without spaces. The spaces at a break belong to
    neither line. A word that is wider than a line is cut.
    """
    width = max(width, _MIN_WIDTH)
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
    """Return whether a line may end between two characters."""
    if before == " " or after == " ":
        return before != after and before == " "
    widths = char_width(before), char_width(after)
    # A character of width 0 combines with its neighbours.
    return 2 in widths and 0 not in widths and before not in _NOT_LAST and after not in _NOT_FIRST
