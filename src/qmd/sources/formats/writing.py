"""A text that formats write part by part, with headings, tables and fields."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

from qmd.sources.formats.base import MAX_ANCHORS, MAX_TEXT, TOO_LARGE, Unreadable
from qmd.text.outline import heading_text, one_line
from qmd.text.regex import lazy
from qmd.types import Anchor

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


def with_headings(lines: list[str], headings: dict[int, tuple[int, str]], empty: Container[int] = ()) -> str:
    """Return a text with the headings of Markdown. Its lines keep their places.

    Args:
        lines: The lines of the text.
        headings: (level from 1, heading) by the number of the line, from 0.
        empty: Numbers of lines that only underline headings.
    """
    written = ["" if number in empty else line for number, line in enumerate(lines)]
    for number, (level, heading) in headings.items():
        written[number] = f"{'#' * min(level, 6)} {heading}"
    return "\n".join(written)


def first_title(headings: dict[int, tuple[int, str]]) -> str:
    """Return the first heading as a title; "" if there is none."""
    return next((heading_text(heading) for _, heading in headings.values()), "")


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
