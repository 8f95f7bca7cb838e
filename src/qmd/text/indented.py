"""Indented code of Markdown: lines of four blanks or more outside of paragraphs and items of lists."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from qmd.text.regex import lazy

_CODE_INDENT = 4
_INDENTED = (" " * _CODE_INDENT, "\t", " \t", "  \t", "   \t")
_LINE = lazy(
    r"(?P<indent>[ \t]*+)"
    r"(?:(?P<item>(?:[-*+]|\d{1,9}[.)])(?=[ \t\n]|\Z)|(?P<note>\[\^[^\]\n]++\]:))(?P<gap>[ \t]*+))?+"
    r"(?P<heading>\#{1,6}(?=[ \t\n]|\Z))?+(?P<rest>[^\n]*+)(?:\n|(?<!\n)\Z)"
)


class IndentedCode:
    """The lines of indented code in a text, found when a place in an indented line is asked for."""

    def __init__(self, text: str, start: int, fences: Sequence[tuple[int, int]]) -> None:
        self._text, self._start, self._fences = text, start, fences
        self._line = self._asked = 0
        self._found: list[tuple[int, int]] | None = None

    def end(self, at: int) -> int:
        """Return the end of the line of code around a place; `at` if there is none.

        Places must be asked for in order, so that lines are looked for once.
        """
        feed = self._text.rfind("\n", self._asked, at)
        self._line, self._asked = (feed + 1 if feed >= 0 else self._line), at
        if not self._text.startswith(_INDENTED, self._line):
            return at
        if self._found is None:
            self._found = list(_lines(self._text, self._start, self._fences))
        before = bisect_right(self._found, (at, len(self._text) + 1)) - 1
        return max(at, self._found[before][1]) if before >= 0 else at


def _lines(text: str, start: int, fences: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the lines of indented code from `start`, outside fences."""
    contents: list[int] = []  # the columns where the contents of the open items begin
    for low, high in zip(
        (start, *(end for _, end in fences)), (*(at for at, _ in fences), len(text)), strict=True
    ):
        in_paragraph = False
        for line in _LINE.finditer(text, low, high):
            indent, item, note, gap, heading, rest = line.groups()
            if not (item or heading or rest):
                in_paragraph = False
                continue
            column = len(indent.expandtabs(_CODE_INDENT))
            if item or heading or not in_paragraph:
                while contents and column < contents[-1]:
                    contents.pop()
            if column >= (contents[-1] if contents else 0) + _CODE_INDENT:
                if not in_paragraph:
                    yield line.span()
                continue
            if item:
                width = len(gap) if rest and len(gap) <= _CODE_INDENT else 1
                contents.append(column + (_CODE_INDENT if note else len(item) + width))
            in_paragraph = bool(rest) and not heading
