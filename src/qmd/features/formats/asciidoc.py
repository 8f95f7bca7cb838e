"""AsciiDoc: the text as it is written, with its titles as sections. Nothing is included."""

from __future__ import annotations

import re

from msgspec.structs import replace

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.parts import Parts, numbered_lines
from qmd.text import front_matter
from qmd.text.header_lines import entries
from qmd.text.markdown.links import AFTER_URL, MAX_LINKS
from qmd.text.outline import first_heading
from qmd.types import Extracted, Link
from qmd.types.structure import Heading, Span

name = "asciidoc"
version = 7
media_type = "text/asciidoc"

#: The kinds of blocks between two equal lines, by the signs of these lines: they have blocks inside, are
#: verbatim, or are comments. All but `--` may be longer.
_DELIMITERS = {
    **dict.fromkeys(("====", "****", "____", "--"), "nested"),
    **dict.fromkeys(("|===", ",===", ":===", "!==="), "table"),
    **dict.fromkeys(("----", "....", "++++", "```"), "verbatim"),
    "////": "comment",
}
#: Styles of blocks by what they make of a block between `--`, or of a paragraph.
_STYLES = {
    **dict.fromkeys(("source", "listing", "literal", "pass", "stem", "latexmath", "asciimath"), "verbatim"),
    "comment": "comment",
}
_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
#: The signs below a title by its level.
_UNDERLINE = re.compile(r"(=+|-+|~+|\^+|\++)\Z")
_LEVELS = "=-~^+"
_TITLE = re.compile(r"(?!\.)[^\n]*?\w")
_ATTRIBUTE = re.compile(r":!?\w[^:]*:(?:[ \t]|\Z)")
_BLOCK_ATTRIBUTES = re.compile(
    r"\[(?:\[(?P<anchor>[\w:][\w:.-]{0,200}+)[^\[\]]{0,500}+\]|(?P<list>(?:[\w{,.#\"'%].*)?))\]\Z"
)
_STATED_ID = re.compile(r"#(?P<short>[^.,%\s\]]+)|\bid=[\"']?(?P<long>[^\"',\]]+)")
_ANCHOR = re.compile(r"\[\[([\w:][\w:.-]{0,200}+)[^\[\]]{0,500}+\]\]|\[#([\w:.-]{1,200}+)\]##")
#: A file of a module of Antora that is no page.
_MODULE = re.compile(r"(?:[^\n]*/)?modules/([^/\n]+)/(?!pages/)")
_DIRECTIVE = re.compile(r"(?:include|ifdef|ifndef|ifeval|endif)::[^\s\[]*+\[.*\]\Z")
_MACRO = re.compile(r"[a-z]\w*+::[^\s\[]*+\[.*\]\Z")
_RULE = re.compile(r"'{3,}\Z|(?:-[ ]?-[ ]?-|\*[ ]?\*[ ]?\*)\Z")
_FIELD = re.compile(r":([A-Za-z][\w-]{0,40}):[ \t]+(\S.*)")
_AUTHOR = re.compile(r"([^<:;]{2,80}?)[ \t]*<[^>]*>")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
#: `xref:a.adoc#b[text]`, `link:a.html[text]`, `<<a.adoc#b,text>>`, `include::a.adoc[]`, `https://a.b[text]`.
_LINK = re.compile(
    r"\b(?P<macro>xref|link|include|image)::?(?P<target>[^\s\[\]{}]{1,1000}+)\[(?P<text>[^\]\n]{0,500}+)\]"
    r"|<<(?P<page>[^\s<>,{}]{1,500}+)(?:,(?P<shown>[^<>\n]{0,500}+))?>>"
    r"|(?P<url>https?://[^\s\[\]<>\"']{1,1000}+)(?:\[(?P<label>[^\]\n]{0,500}+)\])?"
)
#: The target of `<<a.adoc#b>>`; others are places in the same file.
_PAGE = re.compile(r"[^\s<>,#{}]{1,500}\.\w{2,8}+(?:\#[^<>,\s]{0,300}+)?+")
_NAMES = {"revdate": "date"}
#: Words in a title that are code or emphasized.
_QUOTED = re.compile(r"(?<![\w`*_+\\])(``|\*\*|__|[`*_+])(?=\S)((?:(?!\1)[^\n])+)(?<=\S)\1(?!\w)")
#: What automatic ids leave out.
_NOT_IN_ID = re.compile(r"<[^>]+>|&(?:[a-z]{2,}\d{0,2}|#\d{2,5}|#x[\da-f]{2,5});|[^ \w.-]+?")


def extract(file: RawFile) -> Extracted:
    text = file.text()
    head = front_matter.of(text)
    scan = _Scan(text, head.body)
    structure = scan.parts.structure(text)
    title = head.stated.get("title") or first_heading(text, structure)
    fields = {**head.fields, **_fields(text[head.body :])}
    links = tuple(_in_module(file.path, link) for link in scan.links)
    return Extracted(text, title, fields, links, omitted=(*head.omitted,), structure=structure)


class _Scan:
    """Reads a text line by line."""

    def __init__(self, text: str, body: int) -> None:
        self.text = text
        self.parts = Parts()
        self.parts.body = body
        self.links: list[Link] = []
        self._ids: dict[str, int] = {}
        self._prefix = self._separator = "_"
        self._open: list[tuple[str, str, int]] = []  # the delimiter, kind and start of blocks in blocks
        self._paragraph = ""  # the kind of the paragraph that the line goes on; "" between blocks
        self._continued = False  # whether the value of an attribute goes on
        self._style = self._id = ""  # what lines of attributes state for the block that follows
        lines = [*numbered_lines(text, body)]
        skip = 0
        for at, (number, start, line) in enumerate(lines):
            if skip:
                skip -= 1
                continue
            following = lines[at + 1][2].rstrip() if at + 1 < len(lines) else ""
            skip = self._line(number, start, line.rstrip(), following)
        for _, kind, start in self._open[-1:]:
            self._close(kind, start, len(text))

    def _line(self, number: int, start: int, line: str, following: str) -> int:
        """Read a line, and return the number of lines after it that belong to it."""
        end = start + len(line)
        inside = self._open[-1][1] if self._open else ""
        opener = next((at for at, block in enumerate(self._open) if block[0] == line), None)
        if opener is not None:
            if opener < len(self._open) - 1:  # what is open inside ends with it
                self._close(*self._open[-1][1:], start)
            self._close(*self._open[opener][1:], min(end + 1, len(self.text)))
            del self._open[opener:]
            self.parts.unread.append((start, end))
            self._paragraph = ""
        elif _DIRECTIVE.match(line) and inside != "comment":
            self.parts.unread.append((start, end))
            self._link_line(number, start, line)
        elif inside in ("verbatim", "comment"):
            pass
        elif not line:
            self._paragraph, self._continued = "", False
        elif self._continued:
            self.parts.unread.append((start, end))
            self._continued = line.endswith(" \\")
        elif line.startswith("//") and not line.startswith("///"):
            self.parts.unread.append((start, end))
            self.parts.markup([(start, min(end + 1, len(self.text)))])
        elif delimiter := self._delimiter(line):
            self._begin(*delimiter, start, end)
        elif self._paragraph in ("verbatim", "comment"):
            self._close(self._paragraph, start, min(end + 1, len(self.text)))
        elif match := _BLOCK_ATTRIBUTES.match(line):
            self._attributes(match, start, end)
        elif self._paragraph:
            self._link_line(number, start, line)
        else:
            return self._block(number, start, line, following)
        return 0

    def _delimiter(self, line: str) -> tuple[str, str] | None:
        """Return the line that closes the block that a line opens, and its kind."""
        sign = line[:3] if line.startswith("```") else line[:4]
        kind = _DELIMITERS.get(sign)
        if kind is None or (len(sign) > 3 and line[1:] != line[3] * (len(line) - 1)):
            return None
        if kind == "nested" and (sign == "--" or self._style == "comment"):
            kind = _STYLES.get(self._style, kind)
        return (sign if sign == "```" else line), kind

    def _begin(self, closing: str, kind: str, start: int, end: int) -> None:
        self.parts.unread.append((start, end))
        self._open.append((closing, kind, start))
        self._style = self._id = self._paragraph = ""

    def _close(self, kind: str, start: int, end: int) -> None:
        if kind == "verbatim":
            self.parts.verbatim.append((start, end))
        elif kind == "comment":
            self.parts.unread.append((start, end))
            self.parts.markup([(start, end)])

    def _attributes(self, match: re.Match[str], start: int, end: int) -> None:
        """Keep what a line such as `[#id.role]`, `[[id]]` or `[source,sql]` states for the next block."""
        self.parts.unread.append((start, end))
        self._paragraph = ""
        stated = _STATED_ID.search(match["list"] or "")
        self._id = match["anchor"] or (stated and (stated["short"] or stated["long"])) or self._id
        style = re.match(r"[a-z]+", match["list"] or "")
        self._style = (
            style[0] if style else "source" if (match["list"] or "").startswith(",") else self._style
        )

    def _block(self, number: int, start: int, line: str, following: str) -> int:
        """Read the first line of a block."""
        end = start + len(line)
        if _ATTRIBUTE.match(line):
            self.parts.unread.append((start, end))
            self._continued = line.endswith(" \\")
            field = _FIELD.match(line)
            if line.startswith(":idprefix:"):
                self._prefix = field[2] if field else ""
            elif line.startswith(":idseparator:"):
                self._separator = field[2] if field else ""
            return 0
        if not self._open:
            if heading := _HEADING.match(line):
                low = start + heading.start(2)
                words = _without_closing(heading[2], heading[1])
                return self._heading(number, start, len(heading[1]), low, words)
            underline = _UNDERLINE.match(following)
            if underline and abs(len(line) - len(following)) < 2 and _TITLE.match(line):
                self._heading(number, start, _LEVELS.index(following[0]) + 1, start, line)
                self.parts.unread.append((end + 1, end + 1 + len(following)))
                return 1
        if _MACRO.match(line):
            self.parts.unread.append((start, end))
            self._link_line(number, start, line)
        elif _RULE.match(line):
            self.parts.rules.append(start)
        elif line == "<<<":
            self.parts.unread.append((start, end))
        else:
            titled = line[0] == "." and line[1:2] not in ("", " ", "\t", ".")
            if not titled:
                self._paragraph = _STYLES.get(self._style, "text")
                if self._paragraph != "text":
                    self._close(self._paragraph, start, min(end + 1, len(self.text)))
                    self._style = self._id = ""
                    return 0
                self._style = self._id = ""
            self._link_line(number, start, line)
        return 0

    def _heading(self, number: int, start: int, level: int, low: int, words: str) -> int:
        stated, self._id, self._style = self._id, "", ""
        while anchor := _ANCHOR.match(words):
            stated = stated or anchor[1] or anchor[2]
            low += anchor.end()
            words = words[anchor.end() :]
        low += len(words) - len(words.lstrip())
        words = words.strip()
        if anchor := re.search(r"[ \t]*\[\[([\w:][\w:.-]*)[^\[\]]*\]\]\Z", words):
            stated = stated or anchor[1]
            words = words[: anchor.start()]
        self.parts.headings.append(
            Heading(start, level, low, low + len(words), stated or self._automatic_id(words))
        )
        self.parts.marks(_QUOTED, words, low)
        self._link_line(number, low, words)
        self._paragraph = ""
        return 0

    def _automatic_id(self, words: str) -> str:
        """Return the id that Asciidoctor makes of a title."""
        bare = _NOT_IN_ID.sub("", words.lower())
        sign = self._separator
        base = re.sub(r"[ .-]+" if sign else "[ ]+", sign, bare)
        if sign:
            base = re.sub(f"(?:{re.escape(sign)})+", sign, base).removesuffix(sign)
            base = base if self._prefix else base.removeprefix(sign)
        found = self._prefix + base.removeprefix(sign if self._prefix.endswith(sign or "\n") else "")
        count = self._ids[found] = self._ids.get(found, 0) + 1
        return found if count == 1 else f"{found}{sign or '_'}{count}"

    def _link_line(self, number: int, start: int, line: str) -> None:
        """Keep the links of a line, and what of them is not read."""
        for match in _LINK.finditer(line):
            link = _link(match, number)
            if link is not None and len(self.links) < MAX_LINKS:
                self.links.append(link)
            self.parts.markup(
                (start + low, start + high)
                for group in ("text", "shown", "label")
                if (match[group] or "").strip()
                for low, high in _around(match, group)
            )


def _around(match: re.Match[str], group: str) -> tuple[Span, Span]:
    """Return the parts of a match before and after a group."""
    return (match.start(), match.start(group)), (match.end(group), match.end())


def _link(match: re.Match[str], line: int) -> Link | None:
    """Return the link of a match; None if it leads to a place in the same file."""
    if match["url"]:
        return Link(match["url"].rstrip(AFTER_URL), "", line, "url")
    target, text = (match["target"] or match["page"]), (match["text"] or match["shown"] or "").strip()
    if "://" in target or target.startswith("mailto:"):
        return Link(target, text, line, "url")
    if match["page"] and not _PAGE.fullmatch(target):
        return None
    if match["macro"] == "xref" and not re.search(r"\.\w{2,8}(?:#|\Z)", target):
        return None
    *others, page = target.split(":")
    family, marked, name = page.partition("$")
    if marked or any(others):  # Antora: `component:module:partial$name`; the families are folders of modules
        module = others[-1].rpartition("@")[2] if others else ""
        page = f"/{module}/{family}s/{name}" if marked else f"/{module}/pages/{page}"
        page = page.replace("//", "/")
    return Link(page, text, line, "embed" if match["macro"] in ("include", "image") else "markdown")


def _in_module(path: str, link: Link) -> Link:
    """Return a link of Antora's navigation or of a partial, which leads to a page of its module."""
    module = _MODULE.match(path)
    if module and link.kind == "markdown" and not link.target.startswith(("/", ".")):
        return replace(link, target=f"/{module[1]}/pages/{link.target}")
    return link


def _without_closing(heading: str, marks: str) -> str:
    """Return a heading without the `==` that may stand after it."""
    bare = heading.rstrip().removesuffix(marks)
    return bare.rstrip() if bare[-1:] in (" ", "\t") else heading.rstrip()


def _fields(text: str) -> dict[str, tuple[str, ...]]:
    """Return the fields of the header, which ends at the first empty line."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.split("\n", 40)[:40]:
        if not line.strip():
            break
        if match := _FIELD.match(line):
            key = match[1].lower()
            found.update(entries([(_NAMES.get(key, key), match[2].strip())]))
        elif (author := _AUTHOR.match(line)) and "author" not in found:
            found["author"] = (author[1].strip(),)
        elif (date := _DATE.search(line)) and "date" not in found and not line.startswith("="):
            found["date"] = (date[0],)
    return found
