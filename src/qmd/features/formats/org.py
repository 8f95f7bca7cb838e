"""Org: the text as it is written. Keywords, properties, tags and planning dates are fields."""

from __future__ import annotations

import re
from collections import defaultdict

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.parts import Parts, numbered_lines
from qmd.text.header_lines import tags_in
from qmd.text.markdown.links import MAX_LINKS
from qmd.text.outline import first_heading, one_line
from qmd.text.properties import is_dated
from qmd.types import Extracted, Link
from qmd.types.structure import Heading

name = "org"
version = 7
media_type = "text/org"

_HEADLINE = re.compile(r"(\*++)[ \t]++(\S.*+)")
_TAGS = re.compile(r"(?:\A|[ \t]{1,20}+)(:[\w@#%:]{1,500}:)[ \t]{0,20}\Z")
_STATES = ("TODO", "DONE", "NEXT", "WAITING", "CANCELLED")
#: The states that a file names for itself: `#+TODO: OPEN(o) | CLOSED(c)`.
_OWN_STATES = re.compile(r"^[ \t]*#\+(?:seq_|typ_)?todo:(.*)", re.I | re.M)
#: The key of a state in such a list.
_SHORTCUT = re.compile(r"\([^()\n]{0,20}+\)")
_PRIORITY = re.compile(r"\[#\w{1,2}\][ \t]*")
_COMMENT = re.compile(r"COMMENT(?:[ \t]+|\Z)")
_COOKIE = re.compile(
    r"[ \t]{0,20}+\[(?:\d{0,9}/\d{0,9}|\d{0,9}%)\][ \t]{0,20}+\Z"
    r"|\A\[(?:\d{0,9}/\d{0,9}|\d{0,9}%)\][ \t]{0,20}+"
)
_KEYWORD = re.compile(r"[ \t]*#\+([\w@-]+)(?:\[[^\]\n]*\])?:[ \t]*(.*)")
_PROPERTY = re.compile(r"[ \t]*:([\w-]{1,60})\+?:[ \t]+(\S.*)")
_PLANNING = re.compile(r"\b(SCHEDULED|DEADLINE|CLOSED):[ \t]*[<\[](\d{4}-\d{2}-\d{2})")
#: The beginning of a link whose words go on in the next line.
_OPEN = re.compile(r"\[\[[^\[\]]+\]\[[^\[\]]*\Z")
_LINK = re.compile(r"\[\[([^\[\]]+)\](?:\[([^\[\]]*)\])?\]")
#: Words in a headline that are code or emphasized.
_QUOTED = re.compile(r"(?<![\w*/=~+])([*/=~+_])(?=\S)((?:(?!\1)[^\n])+)(?<=\S)\1(?!\w)")
_BLOCK = re.compile(r"[ \t]*#\+(begin|end)_(\w+)", re.I)
_DRAWER = re.compile(r"[ \t]*:([\w-]{1,60}):[ \t]*\Z")
#: Lines that are not read: comments, and times at which work began and ended.
_UNREAD = re.compile(r"[ \t]*(?:#(?:[ \t]|\Z)|CLOCK:)")
_FIXED = re.compile(r"[ \t]*:(?:[ ]|\Z)")
_RULE = re.compile(r"-{5,}[ \t]*\Z")
_SCHEME = re.compile(r"(?!file:|id:)[A-Za-z][\w+.-]{1,30}:")
#: Blocks that are code or data, and one that is a comment; others contain text.
_VERBATIM = frozenset(("src", "example", "export", "latex", "html"))
#: Drawers of which nothing is read; others contain text.
_HIDDEN = frozenset(("PROPERTIES", "LOGBOOK"))


def extract(file: RawFile) -> Extracted:
    text = file.text()
    scan = _Scan(text)
    structure = scan.parts.structure(text)
    return Extracted(
        text,
        scan.title or first_heading(text, structure),
        {name: tuple(values) for name, values in scan.fields.items()},
        tuple(scan.links[:MAX_LINKS]),
        structure=structure,
    )


class _Scan:
    """Reads a text line by line."""

    def __init__(self, text: str) -> None:
        self.parts = Parts()
        self.fields = defaultdict[str, list[str]](list)
        self.links: list[Link] = []
        self.title = ""
        own = " ".join(_OWN_STATES.findall(text))
        named = [
            word for word in _SHORTCUT.sub("", own).split() if word.isalnum() or "_" in word or "-" in word
        ]
        states = "|".join(re.escape(state) for state in (*named[:50], *_STATES))
        self._state = re.compile(rf"({states})(?:[ \t]+|\Z)")
        self._lines = [*numbered_lines(text)]
        self._ends = _ends(self._lines)
        at = 0
        while at < len(self._lines):
            at = self._line(at)

    def _line(self, at: int) -> int:
        """Read a line, and return the number of the one after what was read."""
        number, start, line = self._lines[at]
        span = start, start + len(line)
        last = self._ends.get(at)
        if headline := _HEADLINE.match(line):
            self._headline(number, start, headline)
        elif mark := _BLOCK.match(line):
            kind = mark[2].lower()
            self.parts.unread.append(span)
            if last is not None and (kind in _VERBATIM or kind == "comment"):
                return self._closed(at, last, "verbatim" if kind in _VERBATIM else "comment")
        elif keyword := _KEYWORD.match(line):
            self.parts.unread.append(span)
            self._keyword(keyword[1].lower(), keyword[2].strip())
        elif last is not None or ((drawer := _DRAWER.match(line)) and drawer[1].upper() == "END"):
            self.parts.unread.append(span)
            if last is not None and line.strip(" \t:").upper() in _HIDDEN:
                return self._drawer(at, last)
        elif _UNREAD.match(line):
            self.parts.unread.append(span)
            self.parts.markup([span])
        elif _FIXED.match(line):
            self.parts.verbatim.append(span)
        elif _RULE.match(line):
            self.parts.rules.append(start)
        else:
            for kind, date in _PLANNING.findall(line):
                self.fields[kind.lower()].append(date)
            self._inline(number, start, line)
            if (opened := _OPEN.search(line)) and (after := self._lines[at + 1 : at + 2]):
                rest = after[0][2]
                self._inline(number, start + opened.start(), f"{opened[0]}\n{rest[: rest.find(']]') + 2]}")
        return at + 1

    def _closed(self, first: int, last: int, kind: str) -> int:
        """Add the lines of a block of code, or of a comment."""
        _, end, line = self._lines[last]
        span = self._lines[first][1], end + len(line)
        (self.parts.verbatim if kind == "verbatim" else self.parts.unread).append(span)
        if kind == "verbatim":
            self.parts.unread.append((end, end + len(line)))
        else:
            self.parts.markup([span])
        return last + 1

    def _drawer(self, first: int, last: int) -> int:
        """Read the properties of a headline or of the file, and the log of its changes."""
        for _, start, line in self._lines[first + 1 : last + 1]:
            self.parts.unread.append((start, start + len(line)))
            found = _PROPERTY.match(line)
            if found and "PROPERTIES" in self._lines[first][2].upper():
                self.fields[found[1].lower()].append(found[2].strip())
                if found[1].upper() == "CUSTOM_ID" and self.parts.headings:
                    self.parts.headings[-1] = self.parts.headings[-1]._replace(id=found[2].strip())
        return last + 1

    def _headline(self, number: int, start: int, match: re.Match[str]) -> None:
        """Add a headline: its state, priority, tags and cookies are no words of it."""
        low, words = start + match.start(2), match[2].rstrip()
        if tags := _TAGS.search(words):
            self.fields["tag"] += filter(None, tags[1].split(":"))
            words = words[: tags.start()]
        if state := self._state.match(words):
            self.fields["todo"].append(state[1])
        for part in (self._state, _PRIORITY, _COMMENT, _COOKIE):
            if (before := part.match(words)) and before.end():
                low += before.end()
                words = words[before.end() :]
        if cookie := _COOKIE.search(words):
            words = words[: cookie.start()]
        level, high = min(len(match[1]), 6), low + len(words.rstrip())
        self.parts.headings.append(Heading(start, level, low, high))
        # What is beside the words is read for itself.
        end = start + len(match[0].rstrip())
        self.parts.markup([(start + match.start(2), low), (high, end)])
        self._inline(number, low, words)
        self.parts.marks(_QUOTED, words, low)

    def _inline(self, number: int, start: int, line: str) -> None:
        """Keep the links of a line, and what of them is not read."""
        for match in _LINK.finditer(line):
            self.links.append(_link(match[1], one_line(match[2] or ""), number))
            low, high = match.span(2 if match[2] else 1)
            spans = (match.start(), low), (high, match.end())
            self.parts.markup((start + each[0], start + each[1]) for each in spans)

    def _keyword(self, name: str, value: str) -> None:
        """Keep a keyword such as `#+AUTHOR:` as a field, and `#+TITLE:` as the title."""
        if not value:
            return
        match name:
            case "title":
                self.title = one_line(value)
            case _ if is_dated(name):
                self.fields[name].append(value)
            case "filetags":
                self.fields["tag"] += (tag for tag in re.split(r"[:\s]", value) if tag)
            case "keywords":
                self.fields["tag"] += tags_in(value)
            case "author" | "category" | "description" | "language":
                self.fields[name].append(value)


def _ends(lines: list[tuple[int, int, str]]) -> dict[int, int]:
    """Return the last line of each block and drawer by its first. Those that are not closed are text."""
    found: dict[int, int] = {}
    opened: dict[str, int] = {}  # the first lines by kind
    drawer: int | None = None
    for at, (_, _, line) in enumerate(lines):
        if mark := _BLOCK.match(line):
            kind = mark[2].lower()
            if mark[1].lower() == "begin":
                opened[kind] = at
            elif kind in opened:
                found[opened.pop(kind)] = at
        elif name := _DRAWER.match(line):
            if name[1].upper() != "END":
                drawer = at
            elif drawer is not None:
                found[drawer], drawer = at, None
        elif line.startswith("*") and _HEADLINE.match(line):
            drawer = None
    return found


def _link(target: str, text: str, line: int) -> Link:
    """Return a link to a file, to the note with an id, to a place in the same file, or to a URL."""
    if _SCHEME.match(target):
        return Link(target, text, line, "url")
    bare = target.removeprefix("file:").removeprefix("id:").partition("::")[0]
    if target == bare and not {"/", "."} & {*target} and not target.startswith("#"):
        bare = f"#{target.lstrip('*')}"
    return Link(bare, text, line, "wikilink")
