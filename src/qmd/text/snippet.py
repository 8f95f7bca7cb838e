"""Show a passage of a document as a snippet: whole lines or words, with their line numbers."""

from __future__ import annotations

from msgspec import Struct

from qmd.text.data_uris import with_names
from qmd.types import Snippet, Window

#: The length of a snippet, in characters.
WIDTH = 300
#: A snippet around a window ends with a line that ends in its last characters, or else with a word. If all
#: lines were whole, snippets of texts with long lines would be shorter (measured, see bench/README.md).
_LAST = 40


class Cut(Struct, frozen=True):
    """A snippet with the [start, end) span of its characters in the text, and the place of its line."""

    snippet: Snippet
    start: int
    end: int
    place: int


def snippet(text: str, plain: str, body: int, window: Window, place: int, *, lines: int | None = None) -> Cut:
    """Return the lines or words around a window, about `WIDTH` characters or the window if it is longer.

    `plain` is the text with blanks in place of what is not read, and `body` the end of its front matter. With
    `lines`, return the line of `place` with that number of lines before and after it.
    """
    floor = body if window.start >= body else 0
    if lines is not None:
        return _lines_around(text, plain, place, lines, floor)
    return _around(text, plain, window.start, window.end, place, WIDTH, floor)


def opening(text: str, plain: str, start: int, end: int, *, lines: int | None = None) -> Cut:
    """Return the beginning of a part of a text: the first heading near its start, or its first words.

    A chunk starts with the end of the previous chunk, so its own subject often starts at its first heading.
    """
    heading = text.find("\n#", start, start + (end - start) * 2 // 5) if start else -1
    first = heading + 1 if heading >= 0 else _skip_blank(plain, start, end)
    if lines is not None:
        return _lines_around(text, plain, first, lines, start)
    return _numbered(text, plain, first, _line_end(text, first, min(first + WIDTH, end)), first)


def _lines_around(text: str, plain: str, place: int, count: int, floor: int) -> Cut:
    """Return the line at a position with `count` lines before and after it."""
    begin = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    for _ in range(count):
        begin = text.rfind("\n", 0, max(0, begin - 1)) + 1
        end = text.find("\n", end + 1) if end >= 0 else end
    return _numbered(text, plain, max(floor, begin), len(text) if end < 0 else end, place)


def _around(text: str, plain: str, low: int, high: int, first: int, width: int, floor: int) -> Cut:
    """Extend a place to `width` characters and to whole lines or words, but not before `floor`."""
    spare = max(0, width - (high - low))
    line_start = max(floor, text.rfind("\n", 0, low) + 1)
    if low - line_start <= max(spare, width // 3):
        begin = line_start
        if begin > floor and spare - (low - begin) > width // 3:
            # Include the line before, which is often a heading.
            above = max(floor, text.rfind("\n", 0, len(text[:begin].rstrip("\n"))) + 1)
            if begin - above <= width // 3:
                begin = above
    else:
        begin = _word_start(text, max(floor, low - spare // 3), low)
    most = max(high, begin + width)
    return _numbered(text, plain, begin, _line_end(text, max(high, most - _LAST), most), first)


def _line_end(text: str, least: int, most: int) -> int:
    """Return the last line end between `least` and `most`, or the last word end if there is none."""
    if most >= len(text):
        return len(text)
    if text[most] == "\n":
        return most
    cut = text.rfind("\n", least, most)
    return cut if cut >= 0 else _word_end(text, most, least)


def _numbered(text: str, whole: str, begin: int, end: int, first: int) -> Cut:
    plain = whole[begin:end].rstrip()
    if plain.strip():
        end = begin + len(plain)
        blank = len(plain) - len(plain.lstrip())
        line = begin + plain.rfind("\n", 0, blank) + 1
        # The blanks before a line belong to it, a tag does not.
        begin = begin + blank if text[line : begin + blank].strip() else line
    passage = text[begin:end]
    stripped = passage.lstrip("\n")
    begin += len(passage) - len(stripped)
    stripped = stripped.rstrip()
    if not stripped and (lead := len(text) - len(text.lstrip())) < len(text):
        # The text is a title, or other properties, and nothing else.
        return _numbered(text, text, lead, _line_end(text, lead, lead + WIDTH), lead)
    end = begin + len(stripped)
    place, first_line = min(max(first, begin), end), text.count("\n", 0, begin) + 1
    line = first_line + text.count("\n", begin, place)
    return Cut(Snippet(with_names(text, begin, end), first_line, line), begin, end, place)


def _skip_blank(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start if start < end else min(start, max(0, end - 1))


def _word_start(text: str, position: int, limit: int) -> int:
    """Return the first position from `position` to `limit` that does not cut a word."""
    space = text.find(" ", position, limit)
    return space + 1 if 0 <= space - position < 30 else position


def _word_end(text: str, position: int, least: int) -> int:
    """Return the last position from `least` to `position` that does not cut a word."""
    space = text.rfind(" ", max(least, position - 30), position)
    return space if space >= least else position


def numbered(text: str, first_line: int) -> str:
    """Prefix every line with its number, as `N: content`."""
    return "\n".join(f"{number}: {line}" for number, line in enumerate(text.split("\n"), first_line))
