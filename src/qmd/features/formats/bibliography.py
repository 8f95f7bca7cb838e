"""Bibliographies (`.bib`): the text as it is written, with a section for each entry, called by its key."""

from __future__ import annotations

import re

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.parts import Parts
from qmd.types import Extracted, Link
from qmd.types.structure import Edit, Heading

name = "bibliography"
version = 1
media_type = "text/plain"

_ENTRY = re.compile(r"^[ \t]*@(\w{1,40})[ \t]*[{(][ \t]*([^\s,{}()]{1,200})[ \t]*,", re.M)
_TITLE = re.compile(r"^[ \t]*title[ \t]*=[ \t]*[{\"]+([^\n]{1,1000}?)[}\"]*,?[ \t]*$", re.M | re.I)
_URL = re.compile(r"https?://[^\s{}\",]{1,1000}")
#: Braces and commands, and accents in words.
_MARKS = re.compile(r"\\[A-Za-z]{1,40}(?![A-Za-z])|[{}\"]")
_ACCENT = re.compile(r"\{?\\[\"'`^~=.Hcvurk]\{?(?=[A-Za-z])|(?<=[A-Za-z])\}{1,2}(?=[a-z])")
_NONE = frozenset(("comment", "string", "preamble"))


def extract(file: RawFile) -> Extracted:
    text = file.text()
    parts = Parts()
    entries = [match for match in _ENTRY.finditer(text) if match[1].lower() not in _NONE]
    ends = [*(match.start() for match in entries[1:]), len(text)]
    for entry, end in zip(entries, ends, strict=True):
        title = _TITLE.search(text, entry.end(), end)
        words = title.span(1) if title else entry.span(2)
        parts.headings.append(Heading(entry.start(), 2, *words, entry[2]))
    parts.edits += [Edit(*match.span(), "joined") for match in _ACCENT.finditer(text)]
    parts.markup(match.span() for match in _MARKS.finditer(text))
    links = tuple(
        Link(match[0], "", text.count("\n", 0, match.start()) + 1, "url") for match in _URL.finditer(text)
    )
    return Extracted(text, "", {}, links, structure=parts.structure(text))
