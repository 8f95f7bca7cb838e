"""A text that formats write part by part, with headings, tables and fields."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from qmd.sources.formats.base import MAX_ANCHORS, MAX_TEXT, TOO_LARGE, Unreadable
from qmd.sources.formats.parts import Parts
from qmd.text.markdown.reading import read
from qmd.text.outline import one_line
from qmd.text.regex import lazy
from qmd.types import Anchor, Link
from qmd.types.structure import Heading, Structure

#: Values by field name. Those that are empty are dropped with the checks of all formats.
Fields = dict[str, tuple[str | float | bool, ...]]

_FENCES = lazy(r"^[ \t]*(`{3,})", re.M)


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
        self._length = self._start = 0
        self._anchors: list[Anchor] = []
        self._found = Parts()
        self.links: list[Link] = []  #: Those of the parts that are Markdown

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
        self._start += len(part) + 2

    def add_heading(self, words: str, level: int) -> None:
        """Add a line as a heading. Levels below the lowest count as that."""
        start = self._start
        self.add(words)
        if words.strip():
            self._found.headings.append(Heading(start, min(level, 6), start, start + len(words)))

    def add_markdown(self, part: str, below: int = 0) -> None:
        """Add a part that is Markdown. Its headings are `below` by some levels, and it ends what it opens."""
        start, line = self._start, self._line
        part = part.strip("\n")
        self.add(part)
        if part.strip():
            reading = read(part)
            self._found.shifted(reading.structure, start, below)
            self.links += (replace(link, line=link.line + line - 1) for link in reading.links)

    @property
    def text(self) -> str:
        """The text so far."""
        return "\n\n".join(self._parts) + "\n" if self._parts else ""

    @property
    def structure(self) -> Structure:
        """The structure of the text so far."""
        return self._found.structure(self.text)

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


def properties(author: str | None, date: str | None, keywords: str | None) -> Fields:
    """Return the fields of the properties of a document."""
    words = one_line(keywords or "").replace(";", ",").split(",")
    return {"author": (one_line(author or ""),), "date": (date or "",), "keywords": tuple(words)}


def core_properties(found: Any) -> tuple[str, Fields]:
    """Return the title and the fields of the properties of a document of Microsoft Office."""
    try:
        date = found.modified or found.created
    except ValueError:
        date = None
    title = one_line(found.title or "")
    made_up = title.lower() in ("word document", "powerpoint presentation")
    return "" if made_up else title, properties(found.author, date and date.isoformat(), found.keywords)
