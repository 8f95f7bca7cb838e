"""The blocks of Markdown that indexing needs: front matter, headings, code, comments and rules.

They are found as CommonMark says, also in lists and quotes. Lines must end in line feeds. Every function
takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct

from qmd.text.containers import CODE_INDENT, Containers
from qmd.text.regex import lazy

_TICKS = lazy(r"`++")


class Closings:
    """The places of marks in a text. Each is searched for once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, tuple[int, int]] = {}  # by mark: from where it was searched, and its place
        self._paragraph = (0, -1)
        self._runs: dict[int, list[int]] = {}  # of the paragraph: the places of backticks by their number

    def find(self, mark: str, at: int) -> int:
        """Return the first place of `mark` from `at` on, the length of the text if there is none."""
        start, found = self._found.get(mark, (0, -1))
        if not start <= at <= found:
            found = self._text.find(mark, at)
            found = len(self._text) if found < 0 else found
            self._found[mark] = at, found
        return found

    def after(self, mark: str, at: int, high: int) -> int:
        """Return the end of `mark`; `at` if it is not found before `high`."""
        end = self.find(mark, at) + len(mark)
        return end if end <= high else at

    def of_code(self, count: int, at: int, high: int) -> int:
        """Return the end of inline code after `count` backticks; `at` if its paragraph has no such number."""
        start, end = self._paragraph
        if not start <= at <= end:
            start, end = self._paragraph = at, self.find("\n\n", at)
            self._runs = {}
            for run in _TICKS.finditer(self._text, start, end):
                self._runs.setdefault(len(run[0]), []).append(run.start())
        places = self._runs.get(count, [])
        place = bisect_left(places, at)
        return places[place] + count if place < len(places) and places[place] + count <= high else at


_MAX_SETEXT = 1000  # the maximum length of a heading that is underlined with `===` or `---`, in characters
_MAX_HTML = 2000  # the maximum length of a heading in HTML, in characters
#: The most columns that a fence is indented, and the most characters that it has, if its end is looked for
#: without the lists and quotes around it.
_MAX_ALIGNED, _MAX_FENCE = 12, 100_000
#: The end of a comment, by its beginning: of HTML, MDX, Hugo, Jekyll and Obsidian. If it is not closed, the
#: first extends to the end of the text, as in HTML, and the others are no comments.
COMMENTS: Mapping[str, str] = {
    "<!--": "-->",
    "{/*": "*/}",
    "{{/*": "*/}}",
    "{% comment %}": "{% endcomment %}",
    "%%": "%%",
}
#: The end of code, by its beginning, in Jekyll and Hugo.
_HIGHLIGHTED: Mapping[str, str] = {
    "{% highlight ": "{% endhighlight %}",
    "{%- highlight ": "endhighlight",
    "{{< highlight ": "{{< /highlight >}}",
    "{{<highlight ": "/highlight",
}
# All quantifiers are possessive, so that matching takes linear time.
_ATX = r"(?P<marks>\#{1,6}+)(?![^ \t\n])[ \t]*+(?P<atx>[^\n]*+)"
_FENCE = r"(?P<fence>`{3,}+(?=[^`\n]*+(?:\n|\Z))|~{3,}+)"
_SETEXT = r"(?P<under>=++|-++)[ \t]*+(?=\n|\Z)"
_RULE = r"(?P<rule>(?P<char>[-*_])[ \t]*+(?:(?P=char)[ \t]*+){2,}+(?=\n|\Z))"
_COMMENT = rf"(?P<comment>{'|'.join(map(re.escape, [*COMMENTS, *_HIGHLIGHTED]))})"
_RAW = r"(?P<raw><(?:[Ss][Cc][Rr][Ii][Pp][Tt]|[Ss][Tt][Yy][Ll][Ee]%s)(?=[ \t\n>]|\Z))"
_VERBATIM = _RAW % "|[Pp][Rr][Ee]|[Tt][Ee][Xx][Tt][Aa][Rr][Ee][Aa]"
_HTML = r"(?P<html><[hH][1-6](?=[ \t\n>]))"
_CODE = rf"{_FENCE}|{_COMMENT}|{_VERBATIM}"
_NESTED = rf"{_ATX}|{_CODE}|{_HTML}"
#: The beginnings of blocks, without their names.
_ANY_CODE = re.sub(r"\?P<\w+>", "?:", _CODE)
_ANY = re.sub(r"\?P<\w+>", "?:", _NESTED)
#: Signs before a block in a list or a quote, or in HTML that is indented.
_PREFIX = (
    r"(?P<nested>(?:[ ]{0,3}+(?:>|(?:[-*+]|\d{1,9}+[.)])(?=[ \t])|\t)|[ ]{4})"
    r"(?:[ \t]++|>|(?:[-*+]|\d{1,9}+[.)])(?=[ \t]))*+)"
)
_ALL = (
    rf"(?=[ \t>#`~=\-*_+<{{%\d])(?:"
    rf"[ ]{{0,3}}+(?:{_ATX}|{_FENCE}|{_SETEXT}|{_RULE}|{_COMMENT}|{_VERBATIM}|{_HTML})|{_PREFIX}(?={_ANY}))"
)
_ONLY_CODE = rf"(?=[ \t>`~\-*+<{{%\d])(?:[ ]{{0,3}}+(?:{_CODE})|{_PREFIX}(?={_ANY_CODE}))"
#: Patterns for the line at the start and for the next line. The line feed lets `re` skip from line to line.
_ALL_LINES = (lazy(_ALL), lazy(rf"\n{_ALL}"))
_CODE_LINES = (lazy(_ONLY_CODE), lazy(rf"\n{_ONLY_CODE}"))
_NESTED_BLOCK = lazy(_NESTED)
_MAY_BE_VERBATIM = lazy(_VERBATIM)
#: The beginning of a script or a style sheet, and its end, in the same line.
RAW = lazy(_RAW % "")
RAW_END = lazy(r"</(?:script|style)>", re.I)
_VERBATIM_END = lazy(r"</(?:script|style|pre|textarea)>", re.I)
_HTML_END = lazy(r"</h[1-6]\s*+>", re.I)
_CLOSING_MARKS = r"(?P<marks>%s{3,}+)[ \t]*+(?=\n|\Z)"
#: The end of a fence, at the beginning of a line in its container.
_FENCE_ENDS = {mark: lazy(r"\n[ ]{0,3}+" + _CLOSING_MARKS % mark) for mark in "`~"}
_NESTED_ENDS = {mark: lazy(_CLOSING_MARKS % mark) for mark in "`~"}
#: A line that begins or ends a fence, also in lists and quotes.
_FENCE_LINE = lazy(rf"^[ \t>]*+(?:[-*+][ \t]++)?+{_FENCE}(?P<rest>[^\n]*+)$", re.MULTILINE)
_NOT_A_PARAGRAPH = lazy(
    r"[ ]{0,3}(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)|[>|]|<[a-zA-Z/!?]|([-*_])[ \t]*+(?:\1[ \t]*+){2,}+\Z)"
)
#: The address of a link, which is no paragraph.
_DEFINITION = lazy(r"[ ]{0,3}\[(?!\^)[^\[\]\n]{1,300}\]:[ \t]*\S")
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
_BLANK_LINE = lazy(r"(?:\A|\n)[ \t]*+\n")


class Block(Struct, frozen=True):
    """A heading, code fence, rule, comment or verbatim HTML: characters [start, end), from a line's start.

    Attributes:
        level: 1 to 6 for headings, otherwise 0.
        content: The raw text of a heading.
    """

    kind: Literal["heading", "fence", "rule", "comment", "raw"]
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
    """Yield the blocks of a text from the line at `start`, in order; no other block is inside one.

    Headings may be ATX, setext or HTML, but not empty and not in quotes. A fence that is not closed extends
    to the end of its item, its quote or the text.
    """
    return _blocks(text, start, *_ALL_LINES)


def fences(text: str, start: int = 0) -> list[tuple[int, int]]:
    """Return the spans of code fences and verbatim HTML, such as scripts; fast if there are none."""
    marks = ("```", "~~~", " highlight ", "<highlight ")
    if not any(mark in text for mark in marks) and not _MAY_BE_VERBATIM.search(text, start):
        return []
    return code_of(_blocks(text, start, *_CODE_LINES))


def code_of(found: Iterable[Block]) -> list[tuple[int, int]]:
    """Return the spans of the code fences and verbatim HTML among the blocks of a text."""
    return [(block.start, block.end) for block in found if block.kind in ("fence", "raw")]


def fences_of_part(part: str) -> list[tuple[int, int]]:
    """Return the spans of code fences in some lines of a text, which may begin inside a fence."""
    marks = [*_FENCE_LINE.finditer(part)]
    if len(marks) % 2 and not marks[0]["rest"].strip():
        end = marks[0].end()
        return [(0, end), *fences(part, min(end + 1, len(part)))]
    return fences(part)


def _blocks(text: str, start: int, this_line: re.Pattern[str], next_line: re.Pattern[str]) -> Iterator[Block]:
    scan = _Scan(text, start)
    match = this_line.match(text, start) or next_line.search(text, start)
    while match is not None:
        block = scan.block(match)
        resume = match.end()
        if block is not None:
            if block.content or block.kind != "heading":
                yield block
            # A fence ends after the line feed that the next line starts with.
            resume = block.end - (block.kind == "fence" and block.end < len(text))
        match = next_line.search(text, resume)


class _Scan:
    """Reads the blocks of a text, whose marks must be given in order."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._floor = start  # the end of the previous block, which no paragraph crosses
        self._containers, self._closings = Containers(text, start), Closings(text)
        self._unaligned: dict[tuple[int, str], int] = {}  # how far fences have no aligned end

    def block(self, match: re.Match[str]) -> Block | None:
        """Return the block that begins in the line of a match; None if its marks are text."""
        text = self._text
        line = match.start() + (text[match.start()] == "\n")
        nested = match.lastgroup == "nested"
        mark = _NESTED_BLOCK.match(text, match.end()) if nested else match
        assert mark is not None
        indented = nested or text[line] == " "
        block: Block | None
        if indented:
            if mark.lastgroup == "fence" and (end := self._aligned_end(line, mark)):
                block = Block("fence", line, end)
            else:
                block = self._contained(line, mark, nested)
        else:
            block = self._read(line, mark, contained=False)
        if block is not None:
            self._containers.skip(block.start, block.end, indented=indented)
            self._floor = block.end
        return block

    def _contained(self, line: int, mark: re.Match[str], nested: bool) -> Block | None:
        """Read a block that may be in a list or a quote."""
        at, indent = self._containers.enter(line)
        if nested and at != mark.start():
            return None
        if indent >= CODE_INDENT and (self._containers.code or mark.lastgroup != "html"):
            return None
        block = self._read(line, mark, contained=bool(self._containers))
        if block is not None and block.kind == "heading" and self._containers.quoted:
            return Block("heading", block.start, block.end)  # a heading of the quote, not of the document
        return block

    def _read(self, line: int, mark: re.Match[str], *, contained: bool) -> Block | None:
        """Return the block that a mark begins; None if it begins none. Headings without content are empty."""
        text, end = self._text, mark.end()
        match mark.lastgroup:
            case "atx":
                return Block("heading", line, end, len(mark["marks"]), mark["atx"])
            case "fence":
                return Block("fence", line, self._fence_end(mark["fence"], end, contained))
            case "under":
                level = 1 if mark["under"][0] == "=" else 2
                above = _paragraph_start(text, self._floor, line)
                if above is not None:
                    return Block("heading", above, end, level, text[above:line])
                return Block("rule", line, end) if level == 2 and len(mark["under"]) > 2 else None
            case "rule":
                return Block("rule", line, end)
            case "comment":
                if code := _HIGHLIGHTED.get(mark["comment"], ""):
                    closed = self._closings.find(code, end)
                    feed = text.find("\n", closed)
                    return (
                        Block("fence", line, feed if feed >= 0 else len(text)) if closed < len(text) else None
                    )
                closing = COMMENTS[mark["comment"]]
                closed = self._closings.find(closing, end)
                if closed == len(text) and closing != "-->":
                    return None
                return Block("comment", line, min(closed + len(closing), len(text)))
            case "raw":
                ending = _VERBATIM_END.search(text, end)
                feed = text.find("\n", ending.end()) if ending else -1
                return Block("raw", line, feed if feed >= 0 else len(text))
            case _:
                opened = text.find(">", end - 1, end + _MAX_HTML) + 1
                ending = _HTML_END.search(text, opened, opened + _MAX_HTML) if opened else None
                content = text[opened : ending.start()].strip() if ending else ""
                return Block("heading", line, ending.end(), int(mark["html"][2]), content) if ending else None

    def _fence_end(self, marks: str, at: int, contained: bool) -> int:
        """Return the end of the fence that `marks` open, after the line feed of its closing line."""
        text = self._text
        if not contained:
            for match in _FENCE_ENDS[marks[0]].finditer(text, at):
                if len(match["marks"]) >= len(marks):
                    return min(match.end() + 1, len(text))
            return len(text)
        closing = _NESTED_ENDS[marks[0]]
        while line := text.find("\n", at) + 1:
            content = self._containers.continued(line)
            if content is None:
                return line
            at, indent = content
            end = closing.match(text, at) if indent < CODE_INDENT else None
            if end and len(end["marks"]) >= len(marks):
                return min(end.end() + 1, len(text))
        return len(text)

    def _aligned_end(self, line: int, mark: re.Match[str]) -> int:
        """Return the end of a fence whose lines are indented at least as much as its marks; 0 if it has none.

        It is the same in any list. If it is not in a list and indented by four blanks, the lines are code in
        CommonMark and a fence in MDX.
        """
        text, marks = self._text, mark["fence"]
        indent = mark.start("fence") - line
        if indent > _MAX_ALIGNED or text[line : line + indent].strip(" "):
            return 0
        if self._unaligned.get((indent, marks), 0) > line:
            return 0
        most = line + _MAX_FENCE
        for match in _aligned(indent, marks[0]).finditer(text, mark.end(), most):
            if match["marks"] is None:
                most = match.end()
                break
            if len(match["marks"]) >= len(marks):
                return min(match.end() + 1, len(text))
        self._unaligned[indent, marks] = most
        return 0


@cache
def _aligned(indent: int, mark: str) -> re.Pattern[str]:
    """Return the pattern of the end of an indented fence, or of a line before it whose list must be known."""
    unknown = rf"[ ]{{0,{indent - 1}}}[^ \n]|[ ]{{{indent + 1},{indent + 3}}}{mark}{{3}}"
    return re.compile(rf"\n(?:[ ]{{{indent}}}{_CLOSING_MARKS % mark}|(?={unknown}))")


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


def _paragraph_start(text: str, floor: int, underline: int) -> int | None:
    """Return the start of the paragraph directly above `underline`; None if there is none."""
    start = underline
    while start > floor:
        line = max(text.rfind("\n", floor, start - 1) + 1, floor)
        above = text[line : start - 1]
        if not above or above.isspace() or _DEFINITION.match(above):
            break
        if underline - line > _MAX_SETEXT or _NOT_A_PARAGRAPH.match(above):
            return None
        start = line
    if start == underline or text.startswith(("    ", "\t"), start):
        return None
    return start
