"""Notes and files that are shown inside of notes: `![[Note]]`, `![[Note#Heading]]`, `![[a.png|600]]`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from qmd.text.head import front_matter_end
from qmd.text.markdown.reading import read
from qmd.text.outline import find_section, sections

#: A note is shown in a note that is shown in a note, but not deeper.
MAX_DEPTH = 2
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_SIZE = re.compile(r"(?:(.{0,1000})\|)?[ ]*(\d{1,4})(?:x(\d{1,4}))?[ ]*", re.S)
#: The elements of files that are shown inside a document, by suffix.
MEDIA: Mapping[str, str] = {
    **dict.fromkeys("png jpg jpeg gif webp avif svg bmp ico".split(), "img"),
    **dict.fromkeys("mp3 mpga wav ogg oga opus m4a flac".split(), "audio"),
    **dict.fromkeys("mp4 webm ogv mov".split(), "video"),
}


def media(path: str) -> str:
    """Return the element that shows a file in a document: `img`, `audio` or `video`; "" if none does."""
    return MEDIA.get(path.rpartition(".")[2].lower(), "")


def sized(text: str) -> tuple[str, dict[str, str]]:
    """Return the caption of an image, and its width and height: `caption|600`, `600x400` or a caption."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return text, {}
    sizes = {"width": match[2], "height": match[3]}
    return match[1] or "", {name: size for name, size in sizes.items() if size}


def part(text: str, fragment: str) -> str | None:
    """Return the part of a text at a heading or `^block`, all of it for "", None if there is none."""
    if not fragment:
        return text[front_matter_end(text) :]
    if fragment.startswith("^"):
        return _block(text, fragment)
    section = find_section(sections(text, read(text).structure), fragment)
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
