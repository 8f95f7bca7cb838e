"""reStructuredText: headings are underlined, and field lists at the top are fields. No directive is run."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.writing import first_title, with_headings
from qmd.text.markdown.links import AFTER_URL, MAX_LINKS
from qmd.types import Extracted, Link, LinkKind

name = "rst"
version = 3
media_type = "text/markdown"

_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*\Z")
_FIELD = re.compile(r":([A-Za-z][\w -]{0,40}):[ \t]+(\S.*)")
#: Links in a line: `:doc:`text <a>``, `` `text <a>`_ ``, `.. _name: a`, `.. include:: a`, `https://a.b`.
_LINK = re.compile(
    r":doc:`(?:(?P<shown>[^`<>]{0,500}+)<)?(?P<doc>[^`<>]{1,500}+)>?`"
    r"|`(?P<text>[^`<>]{0,500}+)<(?P<target>[^`<>\s]{1,1000}+)>`_"
    r"|^[ \t]*\.\.[ \t]+(?:_[^:\n]{1,300}:|(?P<part>include::))[ \t]+(?P<named>\S{1,1000}+)"
    r"|(?P<url>https?://[^\s<>\"'`]{1,1000}+)"
)
_TOCTREE = re.compile(r"([ \t]*)\.\.[ \t]+toctree::")
#: An entry of a table of contents: `a`, or `Title <a>`.
_ENTRY = re.compile(r"[ \t]+(?!:)(?:[^<>]{0,300}<)?([^\s<>*]{1,500}+)>?[ \t]*\Z")
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
    links = tuple(islice(_links(lines), MAX_LINKS))
    return Extracted(with_headings(lines, headings, empty), first_title(headings), _fields(lines), links)


def _links(lines: list[str]) -> Iterator[Link]:
    """Yield the links of a text, and the entries of its tables of contents."""
    indent: int | None = None  # of a table of contents
    for at, line in enumerate(lines, 1):
        if start := _TOCTREE.match(line):
            indent = len(start[1])
        elif indent is not None and line.strip():
            if len(line) - len(line.lstrip()) <= indent:
                indent = None
            elif entry := _ENTRY.match(line):
                yield _link(entry[1], "", at)
                continue
        for match in _LINK.finditer(line):
            if match["url"]:
                yield _link(match["url"].rstrip(AFTER_URL), "", at)
            elif not (target := match["doc"] or match["target"] or match["named"]).endswith("_"):
                text = (match["shown"] or match["text"] or "").strip()
                yield _link(target.strip(), text, at, "embed" if match["part"] else "markdown")


def _link(target: str, text: str, line: int, kind: LinkKind = "markdown") -> Link:
    return Link(target, text, line, "url" if "://" in target or target.startswith("mailto:") else kind)


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
