"""Notes of TiddlyWiki (`.tid`): the text as it is written, below its fields."""

from __future__ import annotations

import re

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.parts import Parts, numbered_lines
from qmd.text import header_lines
from qmd.types import Extracted, Link, LinkKind
from qmd.types.structure import Heading

name = "tiddlywiki"
version = 1
media_type = "text/plain"

_HEADING = re.compile(r"(!{1,6})[ \t]*(\S.*)")
_LINK = re.compile(r"\[\[(?:([^\[\]|\n]{1,500})\|)?([^\[\]|\n]{1,500})\]\]")
_CODE = re.compile(r"^```.*?^```", re.M | re.S)
#: Marks of emphasis around words.
_MARKS = re.compile(r"(//|''|__|~~|\^\^|,,|`)(?=\S)((?:(?!\1)[^\n]){1,500})(?<=\S)\1")


def extract(file: RawFile) -> Extracted:
    text = file.text()
    header = header_lines.lines_of(text)
    fields = dict(header_lines.entries(header.lines, spaced=True)) if header else {}
    parts, links = Parts(), list[Link]()
    body = parts.body = header.body if header else 0
    parts.verbatim += [match.span() for match in _CODE.finditer(text, body)]
    for number, start, line in numbered_lines(text, body):
        if any(low <= start < high for low, high in parts.verbatim):
            continue
        if heading := _HEADING.match(line):
            span = start + heading.start(2), start + len(line.rstrip())
            parts.headings.append(Heading(start, len(heading[1]), *span))
        for match in _LINK.finditer(line):
            kind: LinkKind = "url" if "://" in match[2] else "wikilink"
            links.append(Link(match[2].strip(), (match[1] or "").strip(), number, kind))
            shown = match.span(1 if match[1] else 2)
            around = (match.start(), shown[0]), (shown[1], match.end())
            parts.markup((start + low, start + high) for low, high in around)
        parts.marks(_MARKS, line, start)
    title = fields.get("title", ("",))[0]
    return Extracted(text, title, fields, tuple(links), structure=parts.structure(text))
