"""The blocks of Markdown that indexing needs: front matter, headings, code fences and rules.

Lines must end in line feeds. Every function takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from qmd.text.regex import lazy

_MAX_SETEXT = 1000  # the maximum length of a heading that is underlined with `===` or `---`, in characters
# All quantifiers are possessive, so that matching takes linear time.
_FENCE = r"(?P<fence>`{3,}+(?=[^`\n]*+(?:\n|\Z))|~{3,}+)"
_COMMENT = r"(?P<comment><!--)"
_RAW = r"(?P<raw><(?:[Ss][Cc][Rr][Ii][Pp][Tt]|[Ss][Tt][Yy][Ll][Ee])(?=[ \t\n>]|\Z))"
_BLOCK = rf"""
[ ]{{0,3}}+(?:
    (?P<marks>\#{{1,6}}+)(?![^ \t\n])[ \t]*+(?P<atx>[^\n]*+)
  | {_FENCE}
  | (?P<under>=++|-++)[ \t]*+(?=\n|\Z)
  | (?P<rule>(?P<char>[-*_])[ \t]*+(?:(?P=char)[ \t]*+){{2,}}+(?=\n|\Z))
  | {_COMMENT}
  | {_RAW}
)"""
#: Patterns for the line at the start and for the next line. The line feed lets `re` skip from line to line.
_ALL = (lazy(_BLOCK, re.X), lazy(r"\n" + _BLOCK, re.X))
_ONLY_FENCES = tuple(lazy(rf"{feed}[ ]{{0,3}}+(?:{_FENCE}|{_COMMENT}|{_RAW})") for feed in ("", r"\n"))
#: The beginning of a script or a style sheet, and what ends it, in the line where it is.
RAW = lazy(_RAW)
RAW_END = lazy(r"</(?:script|style)>", re.I)
_FENCE_END = {
    "`": lazy(r"\n[ ]{0,3}+(`{3,}+)[ \t]*+(?=\n|\Z)"),
    "~": lazy(r"\n[ ]{0,3}+(~{3,}+)[ \t]*+(?=\n|\Z)"),
}
_NOT_A_PARAGRAPH = lazy(
    r"[ ]{0,3}(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)|[>|]|<[a-zA-Z/!?]|([-*_])[ \t]*+(?:\1[ \t]*+){2,}+\Z)"
)
_OPENING = lazy(r"(---|\+\+\+)[ \t]*+\n")
_CLOSING = {
    "---": lazy(r"\n(?:---|\.\.\.)[ \t]*+(?:\n|\Z)"),
    "+++": lazy(r"\n\+\+\+[ \t]*+(?:\n|\Z)"),
}
_OBJECT = lazy(r"\{\s*+\"")
#: What follows an object that is front matter: a body. Other objects are data, such as lines of JSON.
_AFTER_OBJECT = lazy(r"[ \t]*+\n(?=\s*+[^\s{])")
#: A longer object is no front matter.
_MAX_OBJECT = 64_000
_FIRST_KEY = lazy(r"(?:[ \t]*+(?:#[^\n]*+)?\n)*+[\"']?\w[\w .\-/]{0,60}[\"']?:(?=[ \t\n])")
_BLANK_LINE = lazy(r"(?:\A|\n)[ \t]*+\n")


class Block(Struct, frozen=True):
    """A heading, code fence, rule, or a script or style sheet: characters [start, end), from a line's start.

    `level` is 1 to 6 for headings, otherwise 0. `content` is the raw text of a heading.
    """

    kind: Literal["heading", "fence", "rule", "raw"]
    start: int
    end: int
    level: int = 0
    content: str = ""


class Head(Struct, frozen=True):
    """The front matter of a text: its content is [start, end), and `body` follows it.

    `kind` is "" if there is none.
    """

    kind: Literal["", "YAML", "TOML", "JSON"] = ""
    start: int = 0
    end: int = 0
    body: int = 0


_NO_HEAD = Head()


def front_matter_end(text: str) -> int:
    """Return the character offset after the front matter; 0 if there is none."""
    return front_matter(text).body


def blocks(text: str, start: int = 0) -> Iterator[Block]:
    """Yield the headings (ATX and setext), code fences and rules of a text from the line at `start`.

    The rules are those of CommonMark for the top level. Blocks inside fences, HTML comments, scripts and
    style sheets are ignored. A fence that is not closed extends to the end of the text. Empty headings are
    skipped.
    """
    return (block for block in _blocks(text, start, *_ALL) if block.kind != "raw")


def fences(text: str, start: int = 0) -> list[tuple[int, int]]:
    """Return the spans of code fences, scripts and style sheets; fast, because most texts have none."""
    if "```" not in text and "~~~" not in text and not RAW.search(text):
        return []
    return [(block.start, block.end) for block in _blocks(text, start, *_ONLY_FENCES)]


def _blocks(text: str, start: int, this_line: re.Pattern[str], next_line: re.Pattern[str]) -> Iterator[Block]:
    floor = start  # the end of the previous block, which no paragraph crosses
    match = this_line.match(text, start) or next_line.search(text, start)
    while match is not None:
        line = match.start() + (text[match.start()] == "\n")
        end = match.end()
        match match.lastgroup:
            case "atx":
                if match["atx"]:
                    yield Block("heading", line, end, len(match["marks"]), match["atx"])
            case "fence":
                end = _fence_end(text, match["fence"], end)
                yield Block("fence", line, end)
                if end < len(text):
                    end -= 1  # the line feed that starts the next line
            case "under":
                mark = match["under"]
                above = _paragraph_start(text, floor, line)
                if above is not None:
                    yield Block("heading", above, end, 1 if mark[0] == "=" else 2, text[above:line])
                elif mark[0] == "-" and len(mark) > 2:
                    yield Block("rule", line, end)
            case "rule":
                yield Block("rule", line, end)
            case "raw":
                closing = RAW_END.search(text, end)
                feed = text.find("\n", closing.end()) if closing else -1
                end = feed if feed >= 0 else len(text)
                yield Block("raw", line, end)
            case _:
                closed = text.find("-->", end)
                end = len(text) if closed < 0 else closed + 3
        floor = end
        match = next_line.search(text, end)


def front_matter(text: str) -> Head:
    """Return the front matter of a text.

    YAML starts with `---` on the first line and ends with `---` or `...`. A text between two rules is no
    front matter if it has blank lines and does not start with a `key:`. TOML is between two lines `+++`, and
    JSON is an object at the beginning, before a text.
    """
    if text[:1] not in ("-", "+", "{"):
        return _NO_HEAD
    if text[0] == "{":
        return _object(text)
    opening = _OPENING.match(text)
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


def _fence_end(text: str, marker: str, position: int) -> int:
    """Return the end of the fence that `marker` opens, after the line feed of its closing line."""
    for match in _FENCE_END[marker[0]].finditer(text, position):
        if len(match[1]) >= len(marker):
            return min(match.end() + 1, len(text))
    return len(text)


def _paragraph_start(text: str, floor: int, underline: int) -> int | None:
    """Return the start of the paragraph directly above `underline`; None if there is none."""
    start = underline
    while start > floor:
        line = max(text.rfind("\n", floor, start - 1) + 1, floor)
        above = text[line : start - 1]
        if not above or above.isspace():
            break
        if underline - line > _MAX_SETEXT or _NOT_A_PARAGRAPH.match(above):
            return None
        start = line
    if start == underline or text.startswith(("    ", "\t"), start):
        return None
    return start
