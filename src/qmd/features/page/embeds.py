"""Notes that are shown inside of other notes: `![[Note]]`, `![[Note#Heading]]`, `![[Note#^block]]`."""

from __future__ import annotations

import re

from qmd.text.blocks import front_matter_end
from qmd.text.outline import find_section, sections

#: A note is shown in a note that is shown in a note, but not deeper.
MAX_DEPTH = 2
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def part(text: str, fragment: str) -> str | None:
    """Return the part of a text at a heading or `^block`, all of it for "", None if there is none."""
    if not fragment:
        return text[front_matter_end(text) :]
    if fragment.startswith("^"):
        return _block(text, fragment)
    section = find_section(sections(text), fragment)
    if section is None:
        return None
    return "\n".join(text.split("\n")[section.first_line - 1 : section.last_line])


def _block(text: str, name: str) -> str | None:
    """Return the paragraph or item that ends with the name of a block, or that the name follows."""
    lines = text.split("\n")
    wanted = name.casefold()
    named = (at for at, line in enumerate(lines) if _is_named(line.casefold().rstrip(), wanted))
    at = next(named, None)
    if at is None:
        return None
    if lines[at].strip().casefold() == wanted:
        at -= 1
        while at > 0 and not lines[at].strip():
            at -= 1
    start = at
    while start > 0 and lines[start - 1].strip() and not _ITEM.match(lines[start]):
        start -= 1
    return "\n".join(lines[start : at + 1])


def _is_named(line: str, name: str) -> bool:
    before = line.removesuffix(name)
    return before != line and (not before or before[-1].isspace() or before.endswith("]]"))
