"""The front matter at the beginning of a text: where it is, and how it is written."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from qmd.text.regex import lazy

_OPENING = lazy(r"(---|\+\+\+)[ \t]*+\n")
_CLOSING = {
    "---": lazy(r"\n(?:---|\.\.\.)[ \t]*+(?:\n|\Z)"),
    "+++": lazy(r"\n\+\+\+[ \t]*+(?:\n|\Z)"),
}
_OBJECT = lazy(r"\{\s*+\"")
#: The text after an object that is front matter: a body. Other objects are data, such as lines of JSON.
_AFTER_OBJECT = lazy(r"[ \t]*+\n(?=\s*+[^\s{])")
#: A longer object is no front matter.
_MAX_OBJECT = 64_000
_FIRST_KEY = lazy(r"(?:[ \t]*+(?:#[^\n]*+)?\n)*+[\"']?\w[\w .\-/]{0,60}[\"']?:(?=[ \t\n])")
#: Empty lines and comments, which may be above it.
_ABOVE = lazy(r"(?:[ \t]*+\n|<!--(?:[^\-]|-(?!->)){0,2000}+-->[ \t]*+\n){0,20}+")
_BLANK_LINE = lazy(r"(?:\A|\n)[ \t]*+\n")


class Head(Struct, frozen=True):
    """The front matter of a text: its content is [start, end), and `body` follows it.

    `kind` is "" if there is none, and "lines" for fields without lines around them; see `header_lines`.
    """

    kind: Literal["", "YAML", "TOML", "JSON", "lines"] = ""
    start: int = 0
    end: int = 0
    body: int = 0


_NO_HEAD = Head()


def front_matter_end(text: str) -> int:
    """Return the character offset after the front matter; 0 if there is none."""
    return head_of(text).body


def head_of(text: str) -> Head:
    """Return the front matter of a text.

    YAML starts with `---` on the first line and ends with `---` or `...`. A text between two rules is no
    front matter if it has blank lines and does not start with a `key:`. TOML is between two lines `+++`, and
    JSON is an object at the beginning, before a text. Empty lines and comments may be above a first `key:`.
    """
    first = text[:1]
    if first in ("-", "+"):
        return _fenced(text, 0)
    if first == "{":
        return _object(text)
    above = _ABOVE.match(text) if first == "<" or first.isspace() else None
    if above and text.startswith(("---", "+++"), above.end()):
        found = _fenced(text, above.end())
        return found if found.kind == "TOML" or _FIRST_KEY.match(text, found.start, found.end) else _NO_HEAD
    return _in_lines(text, *([above.end()] if above else ()))


def _in_lines(text: str, *places: int) -> Head:
    for at in (0, *places):
        colon = text.find(":", at, at + 45)  # most texts begin otherwise
        if (colon <= at or "\n" in text[at:colon]) and not text.startswith(("<!--", "% "), at):
            continue
        from qmd.text.header_lines import header_of

        if found := header_of(text, at):
            return Head("lines", at, found.end, found.body)
    return _NO_HEAD


def _fenced(text: str, at: int) -> Head:
    """Return the front matter between two lines, of which the first is at a position."""
    opening = _OPENING.match(text, at)
    if opening is None:
        return _NO_HEAD
    start = opening.end()
    closing = _CLOSING[opening[1]].search(text, start - 1)
    if closing is None:
        return _NO_HEAD
    end = closing.start() + 1
    if opening[1] == "+++":
        return Head("TOML", start, end, closing.end())
    if not _FIRST_KEY.match(text, start, end) and _BLANK_LINE.search(text[start:end]):
        return _NO_HEAD
    return Head("YAML", start, end, closing.end())


def _object(text: str) -> Head:
    """Return the JSON object at the beginning of a text as its front matter."""
    if not _OBJECT.match(text):
        return _NO_HEAD
    from json import JSONDecoder

    try:
        _, end = JSONDecoder().raw_decode(text[:_MAX_OBJECT])
    except (ValueError, RecursionError):
        return _NO_HEAD
    after = _AFTER_OBJECT.match(text, end)
    return Head("JSON", 0, end, after.end()) if after else _NO_HEAD
