"""Text as a terminal shows it: as wide as that is, lines numbered, matches marked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from qmd.cli.render.view import View
from qmd.cli.render.wrap import line_spans
from qmd.cli.terminal import BOLD, DIM, RED, clean, styled

_TAB = 4


def passage(text: str, first_line: int, view: View) -> str:
    """A text whose first line is the file's `first_line`."""
    # Programs get the document's own characters; on a terminal a tab must have a width that is known.
    text = clean(text).expandtabs(_TAB) if view.terminal else text
    marks = view.highlights(text) if view.highlights is not None else []
    shown: list[str] = []
    at = 0
    for number, line in enumerate(text.split("\n"), first_line):
        label = f"{number}: " if view.line_numbers else ""
        for start, end in _pieces(line, len(label), view):
            gutter = " " * len(label) if start else style(label.rstrip(), view, DIM) + label[-1:]
            shown.append(gutter + _marked(text, at + start, at + end, marks))
        at += len(line) + 1
    return "\n".join(shown)


def labelled(label: str, text: str, view: View, *codes: str) -> list[str]:
    """A label and a text without line feeds, in as many lines as the terminal needs, the others indented."""
    pieces = [style(text[start:end], view, *codes) for start, end in _pieces(text, len(label), view)]
    return [label + pieces[0], *(" " * len(label) + piece for piece in pieces[1:])]


def style(text: str, view: View, *codes: str) -> str:
    """The text in bold, a colour and so on, where colours are shown."""
    return styled(text, *codes) if view.colours else text


def _pieces(line: str, taken: int, view: View) -> list[tuple[int, int]]:
    return list(line_spans(line, view.width - taken)) if view.terminal else [(0, len(line))]


def _marked(text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> str:
    """`text[start:end]` with what `marks` has of it in the colour of matches."""
    parts = []
    for number in range(bisect_right(marks, start, key=lambda mark: mark[1]), len(marks)):
        low, high = max(start, marks[number][0]), min(end, marks[number][1])
        if low >= end:
            break
        parts += [text[start:low], styled(text[low:high], BOLD, RED)]
        start = high
    return "".join([*parts, text[start:end]])
