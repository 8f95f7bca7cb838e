"""reStructuredText: headings are underlined, and field lists at the top are fields. No directive is run."""

from __future__ import annotations

import re
import unicodedata

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.writing import first_title, with_headings
from qmd.types import Extracted

name = "rst"
version = 2
media_type = "text/markdown"

_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*\Z")
_FIELD = re.compile(r":([A-Za-z][\w -]{0,40}):[ \t]+(\S.*)")
#: Fields with a meaning, by their name in a field list.
_NAMES = {"author": "author", "authors": "author", "date": "date", "tags": "tag", "keywords": "tag"}


def extract(file: RawFile) -> Extracted:
    lines = file.text().split("\n")
    styles: list[tuple[str, bool]] = []  # an underline and whether there is an overline, in order of level
    headings: dict[int, tuple[int, str]] = {}
    empty: set[int] = set()
    for at in range(1, len(lines)):
        under, title = _UNDERLINE.match(lines[at]), lines[at - 1]
        if under is None or at - 1 in empty or not title.strip() or _UNDERLINE.match(title):
            continue
        if len(lines[at].rstrip()) < _width(title.rstrip()):
            continue
        over = at > 1 and lines[at - 2].rstrip() == lines[at].rstrip()
        if (title[:1].isspace() and not over) or (at > 1 and lines[at - 2].strip() and not over):
            continue
        style = (under[1], over)
        if style not in styles:
            styles.append(style)
        headings[at - 1] = (styles.index(style) + 1, title.strip())
        empty |= {at, at - 2} if over else {at}
    return Extracted(with_headings(lines, headings, empty), first_title(headings), _fields(lines))


def _fields(lines: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the fields of the first field list, which stands in the first lines."""
    found: dict[str, tuple[str, ...]] = {}
    for line in lines[:40]:
        match = _FIELD.match(line)
        if match:
            name = match[1].strip().lower()
            found[_NAMES.get(name, name)] = (match[2].strip(),)
        elif found and not line.strip():
            break
    return found


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
