"""Fields in lines at the top of a text, without `---` around them, as many programs write them.

Those are MultiMarkdown, MkDocs, Pelican, Nikola, TiddlyWiki, Zim, Notion, pandoc, PEPs and mail. Lines of a
conversation or a list look alike, so some field must be one that says what a text is: its title, or two
lines of which one has a date that can be read, an author, or tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from qmd.text import dates
from qmd.text.properties import role_of
from qmd.text.regex import lazy
from qmd.text.values import fold

#: A line with a key and a value, which may go on in lines that are indented.
_LINE = lazy(
    r"(?:\.\.[ ])?(?P<key>[^\W\d_][\w .\-/]{0,40}):(?:[ \t]++(?P<value>\S[^\n]*+)|[ \t]*+)(?:\n|\Z)"
    r"(?P<more>(?:[ \t]++\S[^\n]*+(?:\n|\Z)){0,50}+)"
)
#: What is above the lines, and what is below them.
_SHAPES = {
    "": lazy(r"[ \t]*+(?:\n|\Z)"),
    "<!--": lazy(r"[ \t]*+-->[ \t]*+(?:\n|\Z)"),
}
_COMMENT = lazy(r"<!--[ \t]*+\n")
#: The title, the authors and the date of pandoc. Only the first must be there.
_PERCENT = lazy(
    r"%[ \t]++(?P<title>\S[^\n]*+(?:\n[ \t]++\S[^\n]*+){0,9}+)"
    r"(?:\n%[ \t]*+(?P<author>[^\n]*+(?:\n[ \t]++\S[^\n]*+){0,50}+)(?:\n%[ \t]*+(?P<date>[^\n]*+))?+)?+"
    r"(?:\n|\Z)(?=[ \t]*+(?:\n|\Z))"
)
_MAX_LINES = 100
#: More words that end with a full stop are a sentence.
_MOST_WORDS = 4
_NAMES = {"keywords": "tag", "keyword": "tag", "tags": "tag", "labels": "tag", "subject": "title"}
#: An acronym with a number, which is the name of a text: `PEP: 8`.
_ACRONYM = lazy(r"[A-Z]{2,6}")
#: A time as TiddlyWiki writes it.
_STAMP = lazy(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\d{3}")
_ADDRESS = lazy(r"[ \t]{0,9}<[^<>]{0,200}>")
_SPACED = lazy(r"\[\[([^\[\]]{1,200}+)\]\]|([^\s\[\]]++)")
_SEPARATOR = lazy(r"[,;]")


class HeaderLines(NamedTuple):
    """Lines with fields: they are [start, end), and `body` follows them."""

    start: int
    end: int
    body: int
    lines: list[tuple[str, str]]


def header_of(text: str, start: int = 0) -> HeaderLines | None:
    """Return the header at a position of a text; None if there is none."""
    if percent := _PERCENT.match(text, start):
        lines = [(key, " ".join(value.split())) for key, value in percent.groupdict().items() if value]
        return HeaderLines(start, percent.end(), percent.end(), [*lines])
    comment = _COMMENT.match(text, start)
    header = _lines(text, comment.end() if comment else start, "<!--" if comment else "")
    if header is None:
        return None
    known = {key for key, value in header.lines if _is_telling(key, value)}
    if "title" in known or (known and len(header.lines) > 1):
        return header
    return None


def lines_at(text: str, place: int) -> list[tuple[str, str]]:
    """Return the lines with fields that begin at a place; none if that is not what they are."""
    if (found := _lines(text, place, "")) is None:
        return []
    if not any(_is_telling(*line) for line in found.lines):
        return []
    return [(_NAMES.get(fold(key), key), value) for key, value in found.lines if fold(key) != "subject"]


def _lines(text: str, start: int, above: str) -> HeaderLines | None:
    at, found = start, list[tuple[str, str]]()
    while len(found) < _MAX_LINES and (match := _LINE.match(text, at)):
        at = match.end()
        found.append(
            (" ".join(match["key"].split()), " ".join(f"{match['value'] or ''} {match['more']}".split()))
        )
    below = _SHAPES[above].match(text, at)
    return HeaderLines(start, at, below.end(), found) if found and below else None


def lines_of(text: str) -> HeaderLines | None:
    """Return the lines at the beginning of a text that has a header for sure; None if it has none."""
    return _lines(text, 0, "")


def _is_telling(key: str, value: str) -> bool:
    """Tell whether a line says what a text is, and is no sentence."""
    name = fold(key)
    name = _NAMES.get(name, name)
    if not value or (value[-1] in ".!?" and len(value.split()) > _MOST_WORDS):
        return False
    role, _ = role_of(name) or ("alias", 0)
    is_date = role not in ("author", "alias") and dates.read(_value(value)) is not None
    return is_date or role == "author" or name in ("title", "tag", "category", "categories")


def entries(lines: list[tuple[str, str]], *, spaced: bool = False) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the names and the values of the fields of a header.

    Args:
        lines: The lines of the header.
        spaced: Whether spaces divide tags; otherwise commas do.
    """
    stated = {fold(key) for key, _ in lines}
    for at, (key, written) in enumerate(lines):
        name = fold(key)
        if name != "subject" or "title" not in stated:
            name = _NAMES.get(name, name)
        if name == "tag":
            yield name, (*tags_in(written, spaced=spaced),)
        elif (role := role_of(name)) and role[0] == "author":
            is_list = "<" in written or ";" in written or name.endswith("s")
            bare = _ADDRESS.sub("", written)
            yield name, (*filter(None, map(str.strip, _SEPARATOR.split(bare) if is_list else [bare])),)
        elif written:
            yield name, (_value(written),)
        if not at and written.isdigit() and _ACRONYM.fullmatch(key):
            yield "alias", (f"{key} {int(written)}",)


def tags_in(written: str, *, spaced: bool = False) -> Iterator[str]:
    """Yield the tags in a text, without signs around them: `alpha, two words`, `#a #b`, `a [[two words]]`."""
    if spaced or "[[" in written or all(word[0] == "#" for word in written.split()):
        yield from (match[1] or match[2].strip(",") for match in _SPACED.finditer(written))
    else:
        yield from (tag for part in _SEPARATOR.split(written) if (tag := part.strip("\"'[] ")))


def _value(written: str) -> str:
    """Return a value, with times in the form in which others write them."""
    stamp: re.Match[str] | None = _STAMP.fullmatch(written)
    return "{}-{}-{}T{}:{}:{}".format(*stamp.groups()) if stamp else written
