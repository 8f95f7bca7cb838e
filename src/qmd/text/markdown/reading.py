"""Read a Markdown text once: its blocks, links and tags, and the structure that is stored beside it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec import Struct

from qmd.text.data_uris import data_spans, is_drawing
from qmd.text.head import front_matter_end
from qmd.text.markdown import links, marks, sites
from qmd.text.markdown.parser import Event, events
from qmd.text.outline import stated_id
from qmd.text.regex import lazy
from qmd.text.spans import Closed, apart, blanked
from qmd.types import Link
from qmd.types.structure import Edit, Heading, Span, Structure

#: A longer heading that is underlined with `===` or `---` is a paragraph.
_MAX_SETEXT = 1_000
_VERBATIM = lazy(r"<(?:script|style|pre|textarea)(?=[ \t\n>]|\Z)", re.I)
_HTML_HEADING = lazy(r"<h([1-6])(?=[ \t\n>])[^>]{0,2000}>(.{0,2000}?)</h[1-6]\s*>", re.S | re.I)
_ATX = lazy(r"#{1,6}[ \t]*")
_SETEXT = lazy(r"\n[ \t>]*(?:=+|-+)[ \t]*\Z")
#: What a part of HTML may contain that is Markdown for most programs, though not for CommonMark.
_MARKDOWN_IN_HTML = lazy(r"\]\(|\[\[|`|~~~|^[ \t]{0,3}#{1,6}[ \t]", re.M)
#: What lines that are indented have if they are not code, as in CommonMark, but Markdown of MDX: a component,
#: or a fence that is closed.
_COMPONENT_LINE = lazy(r"^[ \t]*</?[A-Z]", re.M)
_FENCE_LINE = lazy(r"^[ \t]*(?:```|~~~)", re.M)
#: The kinds of emphasis, which are marks inside a word if letters are on both sides.
_EMPHASIS = frozenset({"Emphasis", "Strong", "Strikethrough"})


class Block(Struct, frozen=True):
    """A heading, code fence, rule, comment or verbatim HTML: characters [start, end), from a line's start.

    Attributes:
        level: 1 to 6 for headings, otherwise 0.
        low: The start of the words of a heading.
        content: These words, as they are written.
    """

    kind: Literal["heading", "fence", "rule", "comment", "raw"]
    start: int
    end: int
    level: int = 0
    low: int = 0
    content: str = ""


class MarkdownReading(NamedTuple):
    """What is read from a text: its blocks, structure, links and tags, and what was left out."""

    blocks: tuple[Block, ...]
    structure: Structure
    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()


@lru_cache(maxsize=4)
def read(text: str) -> MarkdownReading:
    """Return what is read from a Markdown text, with line feeds as line ends. Never raises an exception."""
    body = front_matter_end(text)
    scan = _MarkdownScan(text)
    scan.read(body)
    return scan.result(body)


class _Opened(NamedTuple):
    """A link or an image that is not closed yet; places are bytes."""

    event: Event
    start: int
    is_image: bool


class _MarkdownScan:
    """Reads a text part by part, and keeps what it finds."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks: list[Block] = []
        self.links: list[links.FoundLink] = []
        self.code: list[Span] = []  # inline code, and indented code
        self.html: list[Span] = []
        self.tags: list[Span] = []  # those of HTML
        self.edits: list[Edit] = []
        self.unread: list[Span] = []

    def read(self, start: int) -> None:
        """Read the text from a position on: first without what only other programs read."""
        text = self.text
        data = [span[:2] for span in data_spans(text)]
        body = blanked(text, data)[start:] if data else text[start:]
        if others := self._of_others(body, start):
            body = blanked(body, [(each.start - start, each.end - start) for each in others])
        self._walk(body, _after(start))
        if others:
            self.blocks = sorted([*self.blocks, *others], key=lambda block: block.start)
        self.unread += data

    def _of_others(self, body: str, start: int) -> list[Block]:
        """Return the comments and code of other programs, outside of code and comments of CommonMark."""
        if not sites.may_have_blocks(body) or is_drawing(self.text):
            return []  # Obsidian hides the texts of drawings as comments
        first = _MarkdownScan(body)
        first._walk(body, _after(0))  # what is inside code has no signs
        code = Closed([*first._closed(), *first.code])
        return [Block(kind, start + low, start + high) for kind, low, high in sites.blocks(body, code)]

    def _closed(self) -> list[Span]:
        return [(each.start, each.end) for each in self.blocks if each.kind in ("fence", "raw", "comment")]

    def _walk(self, part: str, shift: Callable[[int], int], *, nested: bool = False) -> None:
        """Read a part of the text; `shift` turns a position in it into one in the text."""
        found, place = events(part)
        opened: list[_Opened] = []
        quotes = before = 0  # `before` is the end of the event before, in bytes
        for event, span in found:
            low = span["start"]
            if event.__class__ is not dict:
                if event == "Rule":
                    self._rule(shift(place(low)), shift(place(span["end"])))
                continue
            if "Text" in event:
                before = span["end"]
                continue
            ((kind, value),) = event.items()
            if kind == "Start":
                before = low
                if value.__class__ is dict:
                    ((name, values),) = value.items()
                    if name in ("Link", "Image"):
                        opened.append(_Opened(values, low, name == "Image"))
                    elif name == "Heading":
                        level = int(values["level"][1])
                        self._heading(shift(place(low)), shift(place(span["end"])), level, quotes)
                    elif name == "CodeBlock":
                        self._code(shift(place(low)), shift(place(span["end"])), values, nested)
                    elif name == "BlockQuote":
                        quotes += 1
                elif value in _EMPHASIS:
                    self._mark(shift(place(low)), 1)
                elif value == "HtmlBlock":
                    self._html(shift(place(low)), shift(place(span["end"])), nested)
            elif kind == "End":
                if value in ("Link", "Image"):
                    self._close(opened, shift, place, before, span["end"])
                elif value.__class__ is dict:
                    quotes -= "BlockQuote" in value
                elif value in _EMPHASIS:
                    self._mark(shift(place(span["end"])), -1)
                before = span["end"]
            else:
                before = span["end"]
                here = shift(place(low)), shift(place(before))
                if kind == "Code":
                    self.code.append(here)
                elif kind == "InlineHtml":
                    self.html.append(here)
                    self.tags.append(here)
                elif kind == "FootnoteReference":
                    self.edits.append(Edit(*here, "markup"))

    def _rule(self, low: int, high: int) -> None:
        line = self.text.rfind("\n", 0, low) + 1
        self.blocks.append(Block("rule", line, high - (self.text[high - 1 : high] == "\n")))

    def _heading(self, low: int, high: int, level: int, quotes: int) -> None:
        text = self.text
        line = text.rfind("\n", 0, low) + 1
        end = high - (text[high - 1 : high] == "\n")
        if quotes:
            return  # a heading of the quote, not of the document
        raw = text[low:end]
        if atx := _ATX.match(raw):
            low += atx.end()
            content = raw[atx.end() :]
        else:
            content = _SETEXT.sub("", raw)
            if len(content) > _MAX_SETEXT:
                return
        if content.strip():
            self.blocks.append(Block("heading", line, end, level, low, content))

    def _code(self, low: int, high: int, kind: object, nested: bool) -> None:
        text = self.text
        line = text.rfind("\n", 0, low) + 1
        if kind.__class__ is dict:  # a fence, with its language
            end = high if text[high - 1 : high] == "\n" else min(high + 1, len(text))
            self.blocks.append(Block("fence", line, end))
        elif not nested and (
            _COMPONENT_LINE.search(text, line, high) or len(_FENCE_LINE.findall(text, line, high)) > 1
        ):
            raw = text[line:high]
            self._indented(line, high, self._tags(raw, line))
        else:
            self.code.append((line, high))

    def _indented(self, low: int, high: int, tags: list[Span]) -> None:
        """Read lines without the blanks before them, as Markdown in HTML and MDX is indented."""
        lines = blanked(self.text[low:high], tags).split("\n")
        starts, places, at = list[int](), list[int](), 0
        for line, bare in zip(lines, map(str.lstrip, lines), strict=True):
            starts.append(at)
            places.append(low + len(line) - len(bare))
            low += len(line) + 1
            at += len(bare) + 1

        def shift(place: int) -> int:
            number = bisect_right(starts, place) - 1
            return places[number] + place - starts[number]

        self._walk("\n".join(map(str.lstrip, lines)), shift, nested=True)

    def _html(self, low: int, high: int, nested: bool) -> None:
        text = self.text
        line = text.rfind("\n", 0, low) + 1
        raw = text[low:high]
        if raw.startswith("<!--"):
            close = text.find("-->", low)
            end = close + 3 if close >= 0 else len(text)
            self.blocks.append(Block("comment", line, end))
            if end < high:
                self._html_text(end, high, nested)
        elif _VERBATIM.match(raw):
            self.blocks.append(Block("raw", line, high - raw.endswith("\n")))
        else:
            self._html_text(low, high, nested)

    def _html_text(self, low: int, high: int, nested: bool) -> None:
        """Read HTML that is not verbatim: its headings, and Markdown in it if there is any."""
        text = self.text
        self.html.append((low, high))
        raw = text[low:high]
        for match in _HTML_HEADING.finditer(raw):
            at = low + match.start()
            line, words = text.rfind("\n", 0, at) + 1, match[2].strip()
            if words:
                start = low + raw.find(words, match.start(2))
                self.blocks.append(Block("heading", line, low + match.end(), int(match[1]), start, words))
        tags = self._tags(raw, low)
        if not nested and _MARKDOWN_IN_HTML.search(raw):
            self._indented(low, high, tags)

    def _tags(self, raw: str, low: int) -> list[Span]:
        """Keep the tags of HTML, and return their [start, end) in it."""
        tags = [match.span() for match in marks.ANY_TAG.finditer(raw)]
        self.tags += [(low + start, low + end) for start, end in tags]
        return tags

    def _mark(self, at: int, side: int) -> None:
        """Keep the marks of emphasis that begin or end at a position, if letters are on both sides."""
        text = self.text
        sign = text[at : at + 1] if side > 0 else text[at - 1 : at]
        low = high = at
        while side > 0 and text[high : high + 1] == sign:
            high += 1
        while side < 0 and text[low - 1 : low] == sign:
            low -= 1
        if low and text[low - 1].isalpha() and text[high : high + 1].isalpha():
            self.edits.append(Edit(low, high, "joined"))

    def _close(
        self,
        opened: list[_Opened],
        shift: Callable[[int], int],
        place: Callable[[int], int],
        inner_end: int,
        end: int,
    ) -> None:
        """Keep a link or an image, and what of it is not read: its address and the name of its target."""
        link = opened.pop()
        text = self.text
        low, high = shift(place(link.start)), shift(place(end))
        label_start = low + 1 + link.is_image
        label_end = shift(place(inner_end)) if inner_end > link.start else label_start
        kind, target = link.event["link_type"], link.event["dest_url"]
        wiki = kind.__class__ is dict and "WikiLink" in kind
        if kind == "Email":
            return
        label = label_start, label_end
        found = links.FoundLink(low, high, label, target, link.is_image, wiki, kind == "Autolink")
        if wiki:
            name, bar, _ = text[low:high].partition("|")
            if bar:
                self.edits.append(Edit(low, low + len(name) + 1, "markup"))
            self._tail(high - 2, high, high - 2)
        elif kind in ("Inline", "Reference", "Collapsed", "ReferenceUnknown"):
            self._tail(label_end + 1, high, label_end)
        if link.is_image and marks.is_badge(target):
            whole = opened and shift(place(opened[-1].start)) + 1 == low and text[high : high + 2] == "]("
            close = text.find(")", high) if whole else -1
            self.unread.append((low - 1, close + 1) if close >= 0 else (low, high))
        self.links.append(found)

    def _tail(self, start: int, end: int, label_end: int) -> None:
        """Keep the end of a link as markup. Letters behind it belong to its last word."""
        text = self.text
        if text[label_end - 1 : label_end].isalnum() and text[end : end + 1].isalpha():
            self.edits.append(Edit(label_end, end, "joined"))
        elif start < end and start != label_end:
            self.edits.append(Edit(start, end, "markup"))

    def result(self, body: int) -> MarkdownReading:
        """Return what was found."""
        text = self.text
        blocks = tuple(sorted(self.blocks, key=lambda block: (block.start, block.end)))
        verbatim = [(each.start, each.end) for each in blocks if each.kind in ("fence", "raw")]
        comments = [(each.start, each.end) for each in blocks if each.kind == "comment"]
        closed = Closed([*verbatim, *comments, *self.code])
        comments += [] if is_drawing(text) else sites.inline_comments(text, body, closed)
        components = marks.components(text, body, closed)
        opaque = [*verbatim, *comments, *self.code, *self.tags, *components]
        found, tags, omitted = links.collect(text, body, self.links, opaque, verbatim, self.code)
        unread = marks.unread(text, body, self.html, closed, verbatim)
        edits = [*self.edits, *(Edit(*span, "markup") for span in (*comments, *components))]
        structure = Structure.of(
            body,
            [_heading_of(text, each) for each in blocks if each.level],
            verbatim,
            apart([*self.unread, *comments, *components, *unread]),
            marks.edits(text, body, edits, self.html, closed),
            [each.start for each in blocks if each.kind == "rule"],
        )
        return MarkdownReading(blocks, structure, found, tags, omitted)


def _heading_of(text: str, block: Block) -> Heading:
    raw = text[block.start : block.end]
    stated = "{#" in raw or "{/*" in raw or "<" in raw
    high = block.low + len(block.content)
    return Heading(block.start, block.level, block.low, high, stated_id(raw) if stated else "")


def _after(base: int) -> Callable[[int], int]:
    return base.__add__


#: What only the generator of a site reads: imports, components, containers, tags of templates, attributes.
_OF_SITES = lazy(r"(?:import|export)\b|</?[A-Z]\w*[a-z]|[ \t>]*+:::|\{[%:#/{]")


def without_site_markup(text: str) -> str:
    """Return a text without what only the generator of a site reads, such as `<Tabs>` and `:::note`.

    The numbers of lines stay; the title of a container is a paragraph.
    """
    parts, at = list[str](), 0
    for start, end in read(text).structure.unread_spans():
        if _OF_SITES.match(text, start):
            parts += [text[at:start], "\n" * text.count("\n", start, end)]
            at = end
            if text[end - 1] == "[":  # of a container: its title ends with the line
                line_end = text.find("]\n", end)
                parts.append(text[end:line_end] if line_end >= 0 else text[end:])
                at = line_end + 1 if line_end >= 0 else len(text)
    return "".join([*parts, text[at:]])
