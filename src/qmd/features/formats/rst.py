"""reStructuredText: the text as it is written, with underlined titles as sections. No directive is run."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.parts import Parts, numbered_lines
from qmd.text import header_lines
from qmd.text.markdown.links import AFTER_URL, MAX_LINKS
from qmd.text.outline import first_heading
from qmd.types import Extracted, Link, LinkKind
from qmd.types.structure import Edit, Heading

name = "rst"
version = 7
media_type = "text/x-rst"

#: Directives whose contents are code or data, and those of which nothing is read. Of others, such as `note`,
#: the contents are text.
_DIRECTIVES = {
    **dict.fromkeys(
        "code code-block sourcecode parsed-literal doctest testcode testoutput math prompt console graphviz "
        "digraph graph productionlist ipython jupyter-execute mermaid uml plot".split(),
        "verbatim",
    ),
    **dict.fromkeys(
        "index meta raw testsetup testcleanup toctree contents sectnum highlight include literalinclude "
        "image currentmodule module automodule tabularcolumns default-role default-domain role "
        "autosummary".split(),
        "unread",
    ),
}
_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1*\Z")
#: The shortest line below a title that is longer, and the shortest line between paragraphs.
_LONG = 4
#: What begins a line of a block that is no paragraph, and so no title.
_NO_TITLE = re.compile(r"[-+*•‣⁃](?:[ ]|\Z)|>>>(?:[ ]|\Z)|\|(?:[ ]|\Z)|\+-[-+]+\Z|__[ ]")
_MARKER = re.compile(r":(?![: ])(?:[^:\\]|\\.|:(?![ `]|\Z)){1,200}(?<! ):(?:[ ]|\Z)")
_ITEMS = re.compile(r"(?:(?:[-+*•‣⁃]|\(?(?:\d{1,9}|[A-Za-z#]|[ivxlc]{1,9})[.)])[ ]+)*")
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|[^|\n]{1,200}\|[ \t]+)?((?!_)\w[\w.+:-]*?)[ ]?::(?=[ \t]|\Z)")
_TARGET = re.compile(r"\.\.[ \t]+_(?!_)(?:`([^`]+)`|((?:\\.|[^:\\])+)):(?=[ \t]|\Z)")
_NOTE = re.compile(r"\.\.[ \t]+(?:\[[^\[\]\n]+\]|__:)")
#: A field at the top: of a list of fields, or in a comment as Nikola writes it.
_FIELD = re.compile(r"(?P<sign>:|\.\.[ ])(?P<name>[A-Za-z][\w -]{0,40}):[ \t]+(?P<value>\S.*)")
#: Links in a line: `:pep:`8``, `:doc:`text <a>``, `` `text <a>`_ ``, `.. _name: a`, `.. include:: a`, `https://a.b`.
_LINK = re.compile(
    r":(?P<series>pep|rfc):`(?:[^`<>]{0,500}+<)?(?P<number>\d{1,6})(?:#[^`<>]{0,200})?>?`"
    r"|:doc:`(?:(?P<shown>[^`<>]{0,500}+)<)?(?P<doc>[^`<>]{1,500}+)>?`"
    r"|`(?P<text>[^`<>]{0,500}+)<(?P<target>(?=[^`<>]{0,1000}[./#:])[^`<>\s]{1,1000}+)>`_"
    r"|^[ \t]*\.\.[ \t]+(?:_[^:\n]{1,300}:|(?P<part>include::))[ \t]+(?P<named>\S{1,1000}+)"
    r"|(?P<url>https?://[^\s<>\"'`]{1,1000}+)"
)
#: Roles and the addresses of links around their words, and what divides a word.
_MARKS = re.compile(
    r"(?P<before>(?::[\w.+-]{1,80}+(?::[\w.+-]{1,80}+){0,3}:)?`)(?=[^`])[^`<>\n]{1,500}?"
    r"(?P<after>[ ]?(?:<[^`<>\n]{1,1000}>)?`(?!`)_{0,2})"
    r"|(?P<joined>[*`]{0,2}\\[ ][*`]{0,2})"
)
#: Words in a title that are code or emphasized, and the sign before one that is no markup.
_QUOTED = re.compile(r"(?<![\w`*\\])(``|\*\*|\*)(?=\S)((?:(?!\1)[^\n])+)(?<=\S)\1(?!\w)")
_ESCAPE = re.compile(r"\\(?=[^\w\s])")
#: An entry of a table of contents: `a`, or `Title <a>`.
_ENTRY = re.compile(r"[ \t]+(?!:)(?:[^<>]{0,300}<)?([^\s<>*]{1,500}+)>?[ \t]*\Z")
#: Pages that Sphinx makes, and a target in another project: `python:library/re`.
_MADE, _OTHER = (
    frozenset("self genindex modindex py-modindex search".split()),
    re.compile(r"(?!mailto:)[a-z][\w.-]*+:(?!//)", re.I),
)
#: The number of lines in which a header begins.
_HEAD = 40


def extract(file: RawFile) -> Extracted:
    text = file.text()
    scan = _Scan(text)
    structure = scan.parts.structure(text)
    title = scan.fields.pop("title", ("",))[0] or first_heading(text, structure)
    return Extracted(text, title, scan.fields, tuple(scan.links), structure=structure)


class _Line(NamedTuple):
    """A line: its number, place, the place of its text, the columns before it, and the text."""

    number: int
    line: int
    start: int
    indent: int
    text: str

    @classmethod
    def of(cls, number: int, place: int, line: str) -> _Line:
        """Return a line without the blanks around its text."""
        bare = line.lstrip()
        blanks = line[: len(line) - len(bare)]
        return cls(number, place, place + len(blanks), len(blanks.expandtabs()), bare.rstrip())

    @property
    def end(self) -> int:
        """The place after its last sign."""
        return self.start + len(self.text)


class _Block(NamedTuple):
    """Indented lines below one with an `indent`: `verbatim`, `unread`, `toctree` or `comment`."""

    indent: int
    kind: str
    start: int


class _Scan:
    """Reads a text line by line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts = Parts()
        self.links: list[Link] = []
        self.fields: dict[str, tuple[str, ...]] = {}
        self._styles: list[tuple[str, bool]] = []  # a sign, and whether it is above too, in order of level
        self._block: _Block | None = None
        self._at_start = True  # whether the line may begin a block
        self._literal: int | None = None  # the indent below which lines after an empty line are verbatim
        self._last = ""  # the last line of a paragraph
        self._options: int | None = None  # the indent of a directive whose options may follow
        self._id = ""
        self._end = 0  # of the last line that is not empty
        self._lines = [_Line.of(*each) for each in numbered_lines(text)]
        at = self._header()
        while at < len(self._lines):
            at += self._line(at)
        self._close()

    def _header(self) -> int:
        """Read the fields at the top, and return the number of lines of a header that is above all."""
        if header := header_lines.header_of(self.text):
            self._state(header.lines)
            count = self.text.count("\n", 0, header.end)
            self.parts.unread += [(line.start, line.end) for line in self._lines[:count] if line.text]
            return count
        found: list[tuple[str, str]] = []
        for line in self._lines[:_HEAD]:
            match = None if line.indent else _FIELD.match(line.text)
            if match and (match["sign"] == ":" or line.number == len(found) + 1):
                found.append((match["name"].strip(), match["value"].strip()))
                self.parts.unread.append((line.start, line.end))
            elif found and not line.text:
                break
        self._state(found)
        return len(found) if found and self.text.startswith(".. ") else 0

    def _state(self, lines: list[tuple[str, str]]) -> None:
        """Keep the fields of a header."""
        for name, values in header_lines.entries(lines):
            self.fields[name] = (*self.fields.get(name, ()), *values)

    def _line(self, at: int) -> int:
        """Read a line, and return the number of lines that were read."""
        line = self._lines[at]
        if not line.text:
            self._at_start = True
            self._options = None
            if self._last.endswith("::"):
                self._literal = self._lines[at - 1].indent + _items(self._last)
            self._last = ""
            return 1
        if self._block is not None and line.indent <= self._block.indent:
            self._close()
        before, self._end = self._end, line.end
        if self._block is not None:
            self._in_block(self._block, line)
            return 1
        if self._literal is not None and (count := self._after_colons(at, line, self._literal)):
            return count
        if self._options is not None and line.indent > self._options and _MARKER.match(line.text):
            self.parts.unread.append((line.start, line.end))
            return 1
        self._options = None
        self._end = max(before, line.end)
        if line.text.startswith("..") and line.text[2:3] in ("", " ", "\t"):
            return self._explicit(at, line)
        if self._at_start or line.indent != self._lines[at - 1].indent:
            if count := 0 if line.indent else self._title(at, line):
                return count
            if line.text.startswith(">>>"):
                return self._quoted(at)
        self._at_start = False
        self._last = line.text
        self._inline(line)
        return 1

    def _in_block(self, block: _Block, line: _Line) -> None:
        """Read a line of a block: an entry of a table of contents, or an option of its directive."""
        if block.kind == "toctree" and (entry := _ENTRY.match(" " + line.text)) and _is_document(entry[1]):
            self._add(_link(entry[1], "", line.number))
        if self._options is not None and _MARKER.match(line.text):
            self.parts.unread.append((line.start, line.end))
            self._block = block._replace(start=line.end)
        else:
            self._options = None

    def _after_colons(self, at: int, line: _Line, indent: int) -> int:
        """Begin the code after `::`, and return the number of lines that were read; 0 if there is none."""
        self._literal = None
        if line.indent > indent:
            self._block = _Block(indent, "verbatim", line.line)
            return 1
        quoted = self._at_start and line.indent == indent and not line.text[0].isalnum()
        if quoted and not _UNDERLINE.match(line.text) and line.text[:2] != "..":
            return self._quoted(at)
        return 0

    def _quoted(self, at: int) -> int:
        """Read lines until an empty one as code."""
        end = at
        while end < len(self._lines) and self._lines[end].text:
            end += 1
        self.parts.verbatim.append((self._lines[at].line, self._lines[end - 1].end))
        self._end = self._lines[end - 1].end
        return end - at

    def _title(self, at: int, line: _Line) -> int:
        """Read a title with the lines below and above it, or a line between paragraphs."""
        texts = [each.text for each in self._lines[at : at + 3]] + ["", ""]
        over = _UNDERLINE.match(line.text)
        if over and not texts[1]:
            if len(line.text) < _LONG:
                return 0
            self.parts.rules.append(line.start)
            return 1
        if over:
            if texts[2] != line.text or (len(line.text) < _LONG and _width(texts[1]) > len(line.text)):
                return 0
            title, count = self._lines[at + 1], 3
            self.parts.unread.append((line.start, line.end))
        else:
            under = _UNDERLINE.match(texts[1])
            if under is None or self._lines[at + 1].indent or _NO_TITLE.match(line.text):
                return 0
            if _MARKER.match(line.text) or (len(texts[1]) < _LONG and _width(line.text) > len(texts[1])):
                return 0
            title, count = line, 2
        last = self._lines[at + count - 1]
        style = last.text[0], bool(over)
        if style not in self._styles:
            self._styles.append(style)
        level = min(self._styles.index(style) + 1, 6)
        self.parts.headings.append(Heading(title.line, level, title.start, title.end, self._id))
        self._inline(title)
        self.parts.marks(_QUOTED, title.text, title.start)
        self.parts.edits += (
            Edit(title.start + each.start(), title.start + each.end(), "joined")
            for each in _ESCAPE.finditer(title.text)
        )
        self.parts.unread.append((last.start, last.end))
        self._id, self._at_start, self._last, self._end = "", True, "", last.end
        return count

    def _explicit(self, at: int, line: _Line) -> int:
        """Read the line of a directive, target, note or comment."""
        self._last, self._at_start = "", True
        start = line.start
        if match := _DIRECTIVE.match(line.text):
            kind = _DIRECTIVES.get(match[1], "")
            self.parts.unread.append((start, line.end if kind else start + match.end()))
            if kind:
                self._block = _Block(line.indent, "toctree" if match[1] == "toctree" else kind, line.end)
            else:
                self._last = line.text[match.end() :]
            self._options = line.indent
            self._inline(line)
        elif target := _TARGET.match(line.text):
            self.parts.unread.append((start, line.end))
            self._id = target[1] or target[2]
            self._inline(line)
        elif _NOTE.match(line.text):
            self._last = line.text
            self._inline(line)
        else:
            following = self._lines[at + 1] if at + 1 < len(self._lines) else line
            if line.text != ".." or following.text:
                self._block = _Block(line.indent, "comment", line.start)
        return 1

    def _close(self) -> None:
        """End the indented block."""
        if self._block is not None and self._block.start < self._end:
            start = self._block.start
            while self.text[start] == "\n":
                start += 1
            span = start, self._end
            (self.parts.verbatim if self._block.kind == "verbatim" else self.parts.unread).append(span)
            if self._block.kind == "comment":
                self.parts.markup([span])
        self._block, self._at_start = None, True

    def _inline(self, line: _Line) -> None:
        """Keep the links of a line, and what of it is markup."""
        for match in _LINK.finditer(line.text):
            if match["url"]:
                self._add(_link(match["url"].rstrip(AFTER_URL), "", line.number))
            elif match["series"]:
                name = f"{match['series'].upper()} {int(match['number'])}"
                self._add(_link(name, "", line.number, "wikilink"))
            elif _is_document(target := match["doc"] or match["target"] or match["named"]):
                text = (match["shown"] or match["text"] or "").strip()
                kind: LinkKind = "embed" if match["part"] else "markdown"
                self._add(_link(target.strip(), text, line.number, kind))
        start = line.start
        for match in _MARKS.finditer(line.text) if "`" in line.text or "\\ " in line.text else ():
            if match["joined"]:
                self.parts.edits.append(Edit(start + match.start(), start + match.end(), "joined"))
            else:
                spans = match.span("before"), match.span("after")
                self.parts.markup((start + low, start + high) for low, high in spans)

    def _add(self, link: Link) -> None:
        if len(self.links) < MAX_LINKS:
            self.links.append(link)


def _is_document(target: str) -> bool:
    """Tell whether a target is no name, no page that Sphinx makes, and nothing of another project."""
    return not (target.endswith("_") or target.strip().rstrip("\\") in _MADE or _OTHER.match(target))


def _link(target: str, text: str, line: int, kind: LinkKind = "markdown") -> Link:
    return Link(target, text, line, "url" if "://" in target or target.startswith("mailto:") else kind)


def _items(text: str) -> int:
    """Return the width of the signs of items before the words of a line."""
    match = _ITEMS.match(text)
    return match.end() if match else 0


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
