"""Write an extracted text part by part, with the anchors of its parts."""

from __future__ import annotations

import re

from qmd.sources.formats.base import MAX_ANCHORS, MAX_TEXT, TOO_LARGE, Unreadable
from qmd.types import Anchor

_FENCES = re.compile(r"^[ \t]*(`{3,})", re.M)


class Writer:
    """A text made of paragraphs.

    Args:
        kind: The kind of its anchors.

    Raises:
        Unreadable: If the text becomes too large.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._parts: list[str] = []
        self._line = 1
        self._length = 0
        self._anchors: list[Anchor] = []

    def anchor(self, value: int) -> None:
        """Set an anchor before the next part."""
        if len(self._anchors) < MAX_ANCHORS:
            self._anchors.append(Anchor(self._line, self._kind, value))

    def add(self, part: str) -> None:
        """Add a part, with an empty line after it."""
        part = part.strip("\n")
        if not part.strip():
            return
        self._length += len(part)
        if self._length > MAX_TEXT:
            raise Unreadable(TOO_LARGE, f"more than {MAX_TEXT:,} characters of text")
        self._parts.append(part)
        self._line += part.count("\n") + 2

    @property
    def text(self) -> str:
        """The text so far."""
        return "\n\n".join(self._parts) + "\n" if self._parts else ""

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The anchors so far. Those after the last part are after the last line."""
        last = max(1, self._line - 1)
        return tuple(Anchor(min(each.line, last), each.kind, each.value) for each in self._anchors)


def fenced(text: str, language: str = "") -> str:
    """Return a text as a block of code."""
    if not text.strip():
        return ""
    longest = max((len(marks) for marks in _FENCES.findall(text)), default=2)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text.strip(chr(10))}\n{marks}"


def table(rows: list[list[str]]) -> str:
    """Return rows as a table of Markdown; the first row is its head."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    lines = ["| " + " | ".join([*map(_cell, row), *[""] * (width - len(row))]) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
