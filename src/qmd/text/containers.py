"""The lists and quotes of Markdown that a line is in, and the indented code between them.

Lines must end in line feeds. The rules are those of CommonMark and of GitHub's footnotes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator

from qmd.text.regex import lazy

CODE_INDENT = 4
_INDENTED = (" " * CODE_INDENT, "\t", " \t", "  \t", "   \t")
_INDENTED_LINE = lazy(r"^(?:[ ]{4}|[ ]{0,3}\t)[^\n]*+(?:\n|\Z)", re.MULTILINE)
#: The place of a quote among the widths of items.
_QUOTE = -1
_BLANKS = lazy(r"[ \t]*+")
#: A line of text, which has no mark that this module reads and is not indented.
_PLAIN = lazy(r"[^\s>*+\-#\d\[_`~][^\n]*+(?:\n|\Z)")
_ITEM = lazy(r"(?:[-*+]|(?P<number>\d{1,9}+)[.)])(?=[ \t\n]|\Z)|(?P<note>\[\^[^\]\n]++\]:)")
#: The numbers of items that interrupt a paragraph.
_FIRST = (None, "1")
_RULE = lazy(r"([-*_])[ \t]*+(?:\1[ \t]*+){2,}+(?=\n|\Z)")
#: The beginning of a block by itself, so that it is neither a paragraph nor goes on with one.
_NO_PARAGRAPH = lazy(r"\#{1,6}+(?=[ \t\n]|\Z)|`{3,}+(?=[^`\n]*+(?:\n|\Z))|~{3}")


class Containers:
    """The items and quotes that are open at a line of a text, whose lines must be entered in order.

    Attributes:
        code: True if the last line is indented code.
    """

    def __init__(self, text: str, at: int) -> None:
        self._text, self._at = text, at
        self._open: list[int] = []  # how far the contents of items are indented, and `_QUOTE`
        self._paragraph = False
        self._empty = False  # whether the last line is an item without content
        self._skipped: deque[tuple[int, int]] = deque()
        self.code = False

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def quoted(self) -> bool:
        """True if the last line is in a quote."""
        return _QUOTE in self._open

    def skip(self, start: int, end: int, *, indented: bool) -> None:
        """Pass over the lines of a block; one that is not indented closes all containers."""
        if indented:
            self._skipped.append((start, end))
        else:
            self._skipped.clear()
            self._open.clear()
            self._at, self._paragraph = self.line_after(end), False

    def line_after(self, at: int) -> int:
        """Return the start of the first line that does not start before a position."""
        feed = self._text.find("\n", max(0, at - 1))
        return feed + 1 if feed >= 0 else len(self._text)

    def enter(self, line: int) -> tuple[int, int]:
        """Open and close containers up to a line.

        Returns:
            The position of its content after blanks, and how many columns this is indented in its container.
        """
        text = self._text
        while self._at < line:
            if self._skipped and self._at >= self._skipped[0][0]:
                start, end = self._skipped.popleft()
                if self._at == start:
                    self._read(start)
                self._at, self._paragraph = max(self._at, self.line_after(end)), False
                continue
            if plain := _PLAIN.match(text, self._at):
                if not self._paragraph:
                    self._open.clear()
                self._paragraph, self._at = True, plain.end()
                continue
            self._read(self._at)
            self._at = self.line_after(self._at + 1)
        self._at = self.line_after(line + 1)
        return self._read(line)

    def continued(self, line: int) -> tuple[int, int] | None:
        """Return the same as `enter` for a line in all open containers; None if one ends before it."""
        at, column, base, number = self._marks(line)
        ended = self._open[number:]
        if ended and (_QUOTE in ended or not self._is_blank(at)):
            return None
        return at, column - base

    def _is_blank(self, at: int) -> bool:
        return at >= len(self._text) or self._text[at] == "\n"

    def _marks(self, line: int) -> tuple[int, int, int, int]:
        """Read the marks of open containers in a line.

        Returns:
            The position after them and after blanks, its column, the column at which the content of the
            innermost container begins, and how many containers go on.
        """
        at, column = self._skip(line, 0)
        base = 0
        for number, content in enumerate(self._open):
            if content == _QUOTE:
                if column - base >= CODE_INDENT or not self._text.startswith(">", at):
                    return at, column, base, number
                at, column, base = self._quote(at, column)
            elif column - base >= content:
                base += content
            else:
                return at, column, base, number
        return at, column, base, len(self._open)

    def _quote(self, at: int, column: int) -> tuple[int, int, int]:
        """Read a `>`; return the position and column after it, and the column of the text."""
        base = column + 1 + self._text.startswith((" ", "\t"), at + 1)
        return *self._skip(at + 1, column + 1), base

    def _skip(self, at: int, column: int) -> tuple[int, int]:
        """Return the position and the column after blanks."""
        blanks = _BLANKS.match(self._text, at)
        assert blanks is not None
        end = blanks.end()
        if "\t" not in blanks[0]:
            return end, column + end - at
        for character in blanks[0]:
            column += 1 if character == " " else CODE_INDENT - column % CODE_INDENT
        return end, column

    def _read(self, line: int) -> tuple[int, int]:
        at, column, base, number = self._marks(line)
        self.code = False
        is_empty, self._empty = self._empty, False
        if self._is_blank(at):
            self._paragraph = False
            if is_empty:
                self._open.pop()  # an item begins with at most one blank line
            if _QUOTE in self._open[number:]:
                del self._open[self._open.index(_QUOTE, number) :]
            return at, column - base
        text = self._text
        lazily = self._paragraph and number < len(self._open)  # without the marks, a paragraph may go on
        while column - base < CODE_INDENT:
            if text[at : at + 1] == ">":
                after, inner, content = self._quote(at, column)
                opened = _QUOTE
            elif item := _ITEM.match(text, at):
                if text[at] in "-*" and _RULE.match(text, at):
                    break
                end = column + item.end() - at
                after, inner = self._skip(item.end(), end)
                empty = self._is_blank(after)
                if self._paragraph and number == len(self._open) and (empty or item["number"] not in _FIRST):
                    break
                wide = empty or inner - end > CODE_INDENT
                content = column + CODE_INDENT if item["note"] else end + 1 if wide else inner
                opened = content - base
            else:
                break
            del self._open[number:]
            self._open.append(opened)
            number += 1
            at, column, base = after, inner, content
            self._paragraph = lazily = False
            self._empty = opened != _QUOTE and self._is_blank(at)
        indent = column - base
        is_block = indent < CODE_INDENT and bool(_NO_PARAGRAPH.match(text, at) or _RULE.match(text, at))
        if not lazily or is_block:
            del self._open[number:]
        self.code = indent >= CODE_INDENT and not self._paragraph
        self._paragraph = not (self.code or is_block or self._is_blank(at))
        return at, indent


class IndentedCode:
    """The lines of indented code in a text, found when a place in an indented line is asked for."""

    def __init__(self, text: str, start: int, blocks: Iterable[tuple[int, int]]) -> None:
        """Take the spans of other blocks with code."""
        self._text, self._start, self._blocks = text, start, blocks
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
            self._found = list(self._lines())
        before = bisect_right(self._found, (at, len(self._text) + 1)) - 1
        return max(at, self._found[before][1]) if before >= 0 else at

    def _lines(self) -> Iterator[tuple[int, int]]:
        """Yield the lines of indented code outside other blocks."""
        text, line = self._text, self._start
        containers = Containers(text, line)
        for start, end in [*self._blocks, (len(text), len(text))]:
            for match in _INDENTED_LINE.finditer(text, line, max(line, start)):
                containers.enter(match.start())
                if containers.code:
                    yield match.span()
            if start < end:
                containers.skip(start, end, indented=True)
            line = containers.line_after(end)
