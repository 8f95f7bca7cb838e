"""A text that formats write part by part, with headings, tables and fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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

    Attributes:
        found: What is in the text so far.
        links: Its links.
        line: The first line of the last part.

    Raises:
        Unreadable: If the text becomes too large.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._parts: list[str] = []
        self._length = 0  # of the parts, and of the lines that end in them
        self._anchors: list[Anchor] = []
        self.line = self._ended = 0
        self.found = Parts()
        self.links: list[Link] = []

    def anchor(self, value: int, *, tight: bool = False) -> None:
        """Set an anchor before the next part, which may be `tight`."""
        if len(self._anchors) < MAX_ANCHORS:
            line = self._ended + (1 if tight else 2) if self._parts else 1
            self._anchors.append(Anchor(line, self._kind, value))

    def add(self, part: str, *, tight: bool = False) -> int:
        """Add a part, with an empty line before it unless it is `tight`, and return its place."""
        part = part.strip("\n")
        if not part.strip():
            return self._length
        between = "" if not self._parts else "\n" if tight else "\n\n"
        self._parts += [between, part]
        start = self._length + len(between)
        self._length = start + len(part)
        if self._length > MAX_TEXT:
            raise Unreadable(TOO_LARGE, f"more than {MAX_TEXT:,} characters of text")
        self.line = (self._ended or 1) + len(between)
        self._ended = self.line + part.count("\n")
        return start

    def add_heading(self, words: str, level: int, name: str = "") -> int:
        """Add a line as a heading with a name, and return its place. The lowest level is 6."""
        start = self.add(words)
        if words.strip():
            self.found.headings.append(Heading(start, min(level, 6), start, start + len(words), name))
        return start

    def add_rule(self) -> None:
        """Add a line that divides the text."""
        self.found.rules.append(self.add("* * *"))

    def add_rows(self, rows: Iterable[Sequence[str]]) -> None:
        """Add the rows of a table that are not empty, a line each."""
        lines = (" | ".join(" ".join(cell.split()) for cell in row) for row in rows)
        self.add("\n".join(f"| {line} |" for line in lines if line.strip(" |")))

    def add_markdown(self, part: str, below: int = 0) -> None:
        """Add a part that is Markdown. Its headings are `below` by some levels, and it ends what it opens."""
        part = part.strip("\n")
        if part.strip():
            start, reading = self.add(part), read(part)
            self.found.shifted(reading.structure, start, below)
            self.links += (replace(link, line=link.line + self.line - 1) for link in reading.links)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts) + "\n" if self._parts else ""

    @property
    def structure(self) -> Structure:
        """The structure of the text so far."""
        return self.found.structure(self.text)

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The anchors so far. Those after the last part are after the last line."""
        last = self._ended + 1
        return tuple(Anchor(min(each.line, last), each.kind, each.value) for each in self._anchors)


def fenced(text: str, language: str = "") -> str:
    """Return a text as a block of code."""
    if not text.strip():
        return ""
    longest = max((len(marks) for marks in _FENCES.findall(text)), default=2)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text.strip(chr(10))}\n{marks}"


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
