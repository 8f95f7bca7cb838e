"""Render Markdown to HTML that is safe whatever a document contains.

There are two locks. This module writes elements only for Markdown, and for tags of a small set; links have
known schemes. Then nh3 removes everything that is not in `_ALLOWED`. The policy of the page is the third.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from itertools import chain, islice
from typing import Any
from urllib.parse import quote, unquote

import nh3
from msgspec import Struct, field
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from qmd.features.page import html_tags
from qmd.features.page.budget import CODE, FORMULA, PER_TEX, SECONDS, Budget
from qmd.features.page.diagrams import DIAGRAMS, described
from qmd.features.page.embeds import media, sized
from qmd.features.page.rendered import LINES, PageHeading, Rendered
from qmd.features.page.syntax import ATOM, BLOCK_ID, CALLOUT, CALLOUTS, SIGN, TASK, TASKS, prepared
from qmd.text.markdown.links import AFTER_URL, HTML_TAG, TAG, tag_name
from qmd.text.markdown.parser import page_events

#: Characters of code that are coloured in a document. The rest is shown as it is.
_MAX_COLOURED = 30_000
#: Characters that a lexer gets at once, in whole lines.
_PIECE = 1_000
#: Blocks and emphasis inside of each other. Cleaning takes longer with each.
_MAX_DEPTH = 50
_TEXT_TAGS = "p h1 h2 h3 h4 h5 h6 blockquote ul ol li hr br em strong s del code pre mark sup sub section"
_ALLOWED = {*_TEXT_TAGS.split(), "audio", "video", "tbody"}
_ALLOWED |= html_tags.INLINE | html_tags.BLOCKS | html_tags.MATH_ELEMENTS
_ATTRIBUTES = {
    "*": {"class", "id", "dir", "data-lines"},
    "a": {"href", "title", "target"},
    "img": {"src", "alt", "title", "width", "height", "loading"},
    "audio": {"src", "title", "controls", "preload"},
    "video": {"src", "title", "controls", "preload", "width", "height"},
    "ol": {"start"},
    "span": {"role", "aria-label", "title"},
    "details": {"open"},
    "th": {"colspan", "rowspan"},
    "td": {"colspan", "rowspan"},
    "pre": {"tabindex"},
    "div": {"tabindex", "role"},
    **html_tags.MATH_ATTRIBUTES,
}
#: The scheme of an address.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_SAFE_SCHEMES = ("http:", "https:", "mailto:")
#: An address that contains an image.
_INLINE_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]{1,200000}", re.I)
#: The elements of blocks and emphasis; those of other events are written by methods.
_BLOCKS: Mapping[str, tuple[str, str]] = {
    "BlockQuote": ("<blockquote{}>\n", "</blockquote>\n"),
    "Item": ("<li{}>", "</li>\n"),
    "Table": ('<div class="table" tabindex="0" role="group"{}><table>\n', "</tbody>\n</table></div>\n"),
    "TableHead": ("<thead>\n<tr{}>\n", "</tr>\n</thead>\n<tbody>\n"),
    "TableRow": ("<tr{}>\n", "</tr>\n"),
}
_EMPHASIS = {"Emphasis": "em", "Strong": "strong", "Strikethrough": "s"}
#: The place of a reference to a note, whose number is not known yet.
_NOTE = re.compile(f"{ATOM}([^{ATOM}]*){ATOM}")
#: The marks of a quote before its lines; an element that is a block; anything to see; a tag at the beginning.
_QUOTED = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.M)
_BLOCK_TAG = re.compile(rf"</?(?:{'|'.join(html_tags.BLOCKS - {'img'})})[ >]")
_SHOWN = re.compile(r"(?:^|>)[^<]*[^<\s]|<(?:img|audio|video)")
_FIRST_TAG = re.compile(r"\A(\s*<\w+)")
_LINE_END = re.compile(rf"[ \t]*(?:[\n{ATOM}]|\Z)")
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


class RenderContext(Struct):
    """The surroundings of a document, for rendering.

    Attributes:
        link: Returns the address of the page for the target of a link; None if it leads to no document.
        file: Returns the address of a file beside the document, such as an image; None if there is none.
        first_line: The line of the text's first line.
        remote_images: Whether images on other hosts are loaded.
        say: Translates a text of the page to the language of the reader.
        budget: The budget of the page.
        embed: Returns the note for the target of an embed; None if it is not shown here.
        page: The address of a document that is shown in another one, in which its lines and ids mean nothing.
    """

    link: Callable[[str], str | None]
    file: Callable[[str], str | None]
    first_line: int = 1
    remote_images: bool = False
    say: Callable[[str], str] = str
    budget: Budget = field(default_factory=Budget)
    embed: Callable[[str], EmbeddedNote | None] = lambda target: None
    page: str = ""
    headings: list[PageHeading] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    blocked: int = 0
    coloured: int = 0


class EmbeddedNote(Struct, frozen=True):
    """A part of another note: its text, and its surroundings for rendering."""

    text: str
    context: RenderContext


def render(text: str, context: RenderContext) -> Rendered:
    """Return a Markdown text as HTML; the rest when the budget is spent is plain text in it."""
    html = nh3.clean(
        _HtmlWriter(text, context).html(),
        tags=_ALLOWED,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer",
        attribute_filter=_filter,
    )
    return Rendered.of(html, context.headings, context.blocked, short=context.budget.short)


def slug(text: str) -> str:
    """Return the id of a heading. It has a prefix, so that it is never a name that scripts use."""
    return "h-" + re.sub(r"[^\w]+", "-", text.casefold()).strip("-")[:80]


def anchor(fragment: str) -> str:
    """Return the id of the element that the fragment of a link names: a heading or a block."""
    last = fragment.rstrip("#").rpartition("#")[2].strip()
    return _block_anchor(last[1:]) if last.startswith("^") else slug(last)


def _block_anchor(name: str) -> str:
    return "b-" + name.casefold()


def _filter(tag: str, name: str, value: str) -> str | None:
    if name == "href" and value.lower().lstrip().startswith("data:"):
        return None
    if name == "src" and value.startswith("data:") and not _INLINE_IMAGE.fullmatch(value):
        return None
    return value


def _is_safe(url: str) -> bool:
    """Return whether a link may have an address."""
    scheme = _SCHEME.match(re.sub(r"[\x00-\x20\x7f]+", "", unquote(url)).lower())
    return scheme is None or scheme[0] in _SAFE_SCHEMES


#: The pieces of HTML in a line that are still to be written, each with its text.
_Pieces = Iterator[tuple[str, str]]


class _SourceLine:
    """The content of a paragraph, heading, cell, item or link: a text with `ATOM` for each piece of HTML."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.pieces: list[tuple[str, str]] = []

    def add(self, html: str, text: str = "") -> None:
        self.texts.append(ATOM)
        self.pieces.append((html, text))

    def take(self) -> tuple[str, list[tuple[str, str]]]:
        return "".join(self.texts), self.pieces


class _HtmlWriter:
    """Writes the HTML of a text from the events of the parser."""

    def __init__(self, text: str, context: RenderContext) -> None:
        self._source = prepared(text)
        self._context = context
        self._starts = [0, *(match.end() for match in re.finditer(f"[\n{ATOM}]", self._source))]
        self._out: list[str] = []
        self._ends: list[str] = []  # of the blocks that are open
        self._line = _SourceLine()
        self._around: list[
            tuple[_SourceLine, Any]
        ] = []  # the lines around a link or image, with what it leads to
        self._element = ("", "")  # of the line: its name and attributes
        self._code: list[str] | None = None  # the parts of the current one
        self._columns: tuple[str, ...] = ()  # their alignments
        self._column = 0
        self._emphasis = 0  # how many are open
        self._embed = ""  # the target of the last embed of a note
        self._notes: dict[str, str] = {}
        self._note = "", 0  # the name of the open one, and where it begins
        self._at = 0  # the end of the last event
        self._ids = context.ids  # with the number of the last heading that would have had the same
        self._tags = html_tags.Tags(self._source, self._html_link, self._html_file)
        self._hidden = 0, 0  # the part of the text that is in an element without content for readers

    def html(self) -> str:
        budget, whole = self._context.budget, True
        for event, start, end in page_events(self._source):
            value: Any
            name, value = next(iter(event.items())) if isinstance(event, dict) else (event, None)
            if self._hidden[0] < start and end <= self._hidden[1]:
                continue
            if not budget.take():
                whole = False
                break
            if name in ("Start", "End"):
                kind, detail = next(iter(value.items())) if isinstance(value, dict) else (value, None)
                (self._start if name == "Start" else self._end)(kind, detail, start, end)
                self._at = start if name == "Start" else end
            elif self._code is not None:
                self._code.append(value)
            else:
                self._inline(name, value, start, end)
                self._at = end
        if self._code is not None:
            self._element = "", ""
        while self._around:
            self._end("Link", None, self._at, self._at)
        self._flush()
        self._out += reversed(self._ends)
        if not whole:
            rest = escape(self._source[self._at :].replace(ATOM, "\n"))
            self._ends.clear()
            lines = self._lines(self._at, len(self._source))
            self._out.append(f'<pre class="rest" tabindex="0"{lines}>{rest}</pre>\n')
        return self._with_notes("".join(self._out))

    def _lines(self, start: int, end: int) -> str:
        """Return the attribute of a block with its lines."""
        if self._context.page or len(self._ends) >= _MAX_DEPTH:
            return ""
        last = start + len(self._source[start:end].rstrip(" \t>\n")) - 1
        lines = (
            bisect_right(self._starts, place) + self._context.first_line
            for place in (start, max(start, last))
        )
        return f' {LINES}="{next(lines) - 1} {next(lines)}"'

    def _start(self, kind: str, detail: Any, start: int, end: int) -> None:
        if kind in _EMPHASIS:
            self._emphasis += 1
            self._line.add(f"<{_EMPHASIS[kind]}>" if self._emphasis <= _MAX_DEPTH else "")
            return
        if kind in ("Link", "Image"):
            self._around.append((self._line, detail))
            self._line = _SourceLine()
            return
        self._flush()
        lines = self._lines(start, end)
        if kind == "Paragraph":
            self._element = "p", lines
        elif kind == "Heading":
            self._element = detail["level"].lower(), lines
        elif kind == "TableCell":
            self._element = self._cell()
        elif kind == "CodeBlock":
            self._code = []
            self._element = detail["Fenced"] if isinstance(detail, dict) else "", lines
        elif kind == "HtmlBlock":
            self._html_block(start, end, lines)
        elif kind == "FootnoteDefinition":
            self._note = detail, len(self._out)
        elif kind == "List":
            name = "ul" if detail is None else "ol"
            first = f' start="{detail}"' if detail not in (None, 1) else ""
            self._open(f"<{name}{first}{lines}>\n", f"</{name}>\n")
        elif kind in _BLOCKS:
            self._columns, self._column = detail if kind == "Table" else self._columns, 0
            opening, ending = _BLOCKS[kind]
            self._open(opening.format(lines), ending)
            if kind == "BlockQuote" and detail is not None:
                self._callout(detail, "", html=detail)

    def _cell(self) -> tuple[str, str]:
        """Return the name and the attributes of the next cell of a row."""
        side = self._columns[self._column] if self._column < len(self._columns) else "None"
        self._column += 1
        name = "th" if self._ends[-1] == _BLOCKS["TableHead"][1] else "td"
        return name, "" if side == "None" else f' class="{side.lower()}"'

    def _open(self, opening: str, ending: str) -> None:
        shallow = len(self._ends) < _MAX_DEPTH
        self._out.append(opening if shallow else "")
        self._ends.append(ending if shallow else "")

    def _end(self, kind: str, detail: Any, start: int, end: int) -> None:
        if kind in _EMPHASIS:
            self._line.add(f"</{_EMPHASIS[kind]}>" if self._emphasis <= _MAX_DEPTH else "")
            self._emphasis -= 1
        elif kind in ("Link", "Image"):
            text, pieces = self._line.take()
            self._line, target = self._around.pop()
            (self._link if kind == "Link" else self._image)(text, pieces, target, self._source[start:end])
        elif self._code is not None:
            content, self._code = "".join(self._code).replace(ATOM, "\n"), None
            (info, lines), self._element = self._element, ("", "")
            self._out.append(_code(content, info.strip().partition(" ")[0], lines, self._context))
        else:
            self._flush()
            if kind == "FootnoteDefinition":
                label, begin = self._note
                self._notes[label.casefold()] = "".join(self._out[begin:])
                del self._out[begin:]
            elif kind == "List" or kind in _BLOCKS:
                self._out.append(self._ends.pop())

    def _inline(self, name: str, value: Any, start: int, end: int) -> None:
        line = self._line
        match name:
            case "Text":
                literal = value == self._source[start:end]
                shown = value.replace(ATOM, "\n")
                if literal and self._at != start and self._source[start - 1 : start] == "\\":
                    line.add(escape(shown[0], False), shown[0])
                    shown = shown[1:]
                if literal:
                    line.texts.append(shown)
                else:  # an entity
                    line.add(escape(shown, False), shown)
            case "SoftBreak":
                line.texts.append("\n")
            case "HardBreak":
                line.add("<br>")
                line.texts.append("\n")
            case "Code":
                shown = value.replace(ATOM, " ")
                line.add(f"<code>{escape(shown, False)}</code>", shown)
            case "InlineMath" if (
                self._source[start - 1 : start].isdigit() or self._source[end : end + 1].isdigit()
            ):
                line.texts.append(f"${value}$")  # two amounts of money
            case "InlineMath" | "DisplayMath":
                self._formula(value.replace(ATOM, "\n").strip(), start, end, block=name == "DisplayMath")
            case "InlineHtml":
                if tag := HTML_TAG.fullmatch(value):
                    if hidden := self._tags.hidden(tag, end):
                        self._hidden = start, hidden
                    else:
                        line.add(self._tags.html(tag))
            case "TaskListMarker":
                line.texts.append(f"{self._source[start:end]} ")
            case "FootnoteReference":
                line.add(f"{ATOM}{value.casefold()}{ATOM}")
            case "Rule":
                self._flush()
                self._out.append(f"<hr{self._lines(start, end)}>\n")

    def _formula(self, tex: str, start: int, end: int, *, block: bool) -> None:
        name = self._element[0]
        html = _mathml(tex, self._context, block=block)
        line_start = self._starts[bisect_right(self._starts, start) - 1]
        alone = not self._source[line_start:start].strip(" \t>-*+.)0123456789") and _LINE_END.match(
            self._source, end
        )
        if not (block and alone and name in ("p", "")):
            html = html or f'<code class="math">{escape(tex)}</code>'
        else:
            html = html or f"<pre><code>{escape(tex)}</code></pre>"
            html = f'<div class="math" tabindex="0" role="group"{self._lines(start, end)}>{html}</div>'
            html = f"</p>\n{html}\n<p>" if name else html
        self._line.add(html, tex)

    def _flush(self) -> None:
        """Write the line that is read, in its element if it has one."""
        text, given = self._line.take()
        (name, attributes), embed = self._element, self._embed
        self._line, self._element, self._embed = _SourceLine(), ("", ""), ""
        if not name and not text.strip():
            return
        pieces, before, opening = iter(given), "", self._out[-1] if self._out else ""
        if opening.startswith("<blockquote") and name and (title := CALLOUT.match(text)):
            self._callout(title[1], title[2], html=self._html(title[3].strip(), pieces))
            text = text[title.end() :]
            if not text:
                return
        elif opening.startswith("<li") and (task := TASK.match(text)):
            text, before = text[task.end() :], self._task(task[1])
        found = BLOCK_ID.search(text)
        names = ""
        if found:
            text, names = text[: found.start()], f' id="{_block_anchor(found[1])}"'
            if not name and opening.startswith("<li"):
                self._out[-1] = self._out[-1].replace("<li", f"<li{names}", 1)
        if name[:1] == "h":
            names = self._heading(" ".join(_plain(text.replace("==", ""), given).split()), int(name[1]))
        html = before + self._html(text, pieces)
        if embed and text.strip() == ATOM and name in ("p", ""):
            html = self._embedded(embed, html, attributes)
        elif name:
            names = "" if self._context.page else names
            html = f"<{name}{names}{attributes}>{html}</{name}>\n"
            if "</div>\n<p>" in html:  # a formula
                html = html.replace(f"<p{attributes}></p>\n", "").replace("<p></p>\n", "")
        self._out.append(html)

    def _task(self, mark: str) -> str:
        """Turn the item that has just begun into a task, and return the element with its state."""
        self._out[-1] = self._out[-1].replace("<li", '<li class="task-item"', 1)
        state = TASKS.get(mark, "")
        label, sign = (self._context.say(state), "") if state else (mark, mark)
        look = f'class="task {state or "other"}" role="img" aria-label="{escape(label)}"'
        return f"<span {look}>{escape(sign)}</span>"

    def _heading(self, text: str, level: int) -> str:
        """Keep a heading for the outline. Return the attribute with its id."""
        if self._context.page:
            return ""
        name = base = slug(text)
        while name in self._ids:
            self._ids[base] += 1
            name = f"{base}-{self._ids[base]}"
        self._ids[name] = 1
        self._context.headings.append(PageHeading(text, level, name))
        return f' id="{name}"'

    def _callout(self, kind: str, fold: str, *, html: str) -> None:
        """Turn the quote that has just begun into a callout with a title."""
        name, title = ("details", "summary") if fold else ("div", "p")
        colour, sign = CALLOUTS.get(kind.lower(), CALLOUTS["note"])
        look = f'<{name} class="callout {colour}"{" open" if fold == "+" else ""}'
        if self._ends[-1]:
            self._out[-1] = self._out[-1].replace("<blockquote", look, 1)
            self._ends[-1] = f"</{name}>\n"
        text = f'<span class="icon" role="presentation">{sign}</span>{html or escape(kind.capitalize())}'
        self._out.append(f'<{title} class="callout-title">{text}</{title}>\n')

    def _embedded(self, target: str, link: str, attributes: str) -> str:
        """Return a note, or the link to it, in place of a paragraph."""
        context, found = self._context, self._context.embed(target)
        if found is None:
            return f"<p{attributes}>{link}</p>\n"
        html = _HtmlWriter(found.text, found.context).html()
        context.blocked += found.context.blocked
        context.coloured += found.context.coloured
        return f'<section class="embed"{attributes}><p class="embed-title">{link}</p>{html}</section>\n'

    def _html_block(self, start: int, end: int, lines: str) -> None:
        text = self._source[start:end]
        if any(each != _BLOCKS["Item"][1] for each in self._ends):
            text = _QUOTED.sub(lambda match: " " * len(match[0]), text)
        html, at = self._tags.block(text, start, max(0, self._hidden[1] - start))
        self._hidden = (start, at) if at > end else self._hidden
        if not _BLOCK_TAG.search(html) and _SHOWN.search(html):
            html = f"<p>{html.strip()}</p>\n"
        self._out.append(_FIRST_TAG.sub(rf"\1{lines}", html, count=1))

    def _html_link(self, given: Mapping[str, str]) -> str:
        target = given.get("href")
        return self._linked(target, "", wikilink=False).removesuffix("</a>") if target else "<a>"

    def _html_file(self, given: Mapping[str, str]) -> str:
        sizes = {name: given[name] for name in ("width", "height") if given.get(name, "").isdecimal()}
        html, side = _media(given["src"], given.get("alt", ""), sizes, self._context), given.get("align")
        return html.replace("<img", f'<img class="{side}"', 1) if side in ("left", "right") else html

    def _link(self, text: str, pieces: list[tuple[str, str]], given: Mapping[str, Any], source: str) -> None:
        target, kind = given["dest_url"], given["link_type"]
        wikilink = isinstance(kind, dict)
        if wikilink:
            target = target.removesuffix("\\").strip()
            if not kind["WikiLink"]["has_pothole"]:
                text, pieces = target.replace("#", " › ").strip(" ›"), []
        elif kind == "Email":
            target = f"mailto:{target}"
        html = self._html(text, iter(pieces), linked=True)
        self._line.add(self._linked(target, html, wikilink=wikilink), _plain(text, pieces))

    def _linked(self, target: str, html: str, *, wikilink: bool) -> str:
        address, css = _resolve(target, self._context, wikilink=wikilink)
        if address is None or not _is_safe(address):
            return f'<a class="unresolved">{html}</a>'
        css = f' class="{css}" target="_blank"' if css else ""
        return f'<a href="{escape(address)}"{css}>{html}</a>'

    def _image(self, text: str, pieces: list[tuple[str, str]], given: Mapping[str, Any], source: str) -> None:
        target = given["dest_url"]
        if not isinstance(given["link_type"], dict):
            alt, sizes = sized(_plain(text, pieces))
            self._line.add(_media(target, alt, sizes, self._context), alt)
            return
        target, shown = target.removesuffix("\\").strip(), source.partition("|")[2][:-2].strip()
        path = target.partition("#")[0].strip()
        if not media(path):
            text = shown or target.replace("#", " › ").strip(" ›")
            self._embed = target
            self._line.add(self._linked(target, escape(text), wikilink=True), text)
            return
        alt, sizes = sized(shown)
        html = _media(path, alt, sizes, self._context)
        caption = f'<span class="caption">{escape(alt)}</span>'
        self._line.add(f'<span class="figure">{html}{caption}</span>' if alt else html, alt)

    def _html(self, text: str, pieces: _Pieces, *, linked: bool = False) -> str:
        """Return a part of a line as HTML, with its tags and addresses as links if it is in none."""
        parts, at = [], 0
        while match := SIGN.search(text, at):
            parts.append(escape(text[at : match.start()], False))
            at = match.end()
            if match["atom"]:
                parts.append(next(pieces)[0])
            elif not self._context.budget.take():
                parts.append(escape(match[0][0], False))
                at = match.start() + 1
            elif match["marked"]:
                parts.append(
                    f'<span class="marker">{self._html(match["marked"], pieces, linked=linked)}</span>'
                )
            elif match["comment"]:
                deque(islice(pieces, match["comment"].count(ATOM)), 0)
            elif match["note"]:
                self._notes[label := f"^{len(self._notes)}"] = f"<p>{self._html(match['note'], pieces)}</p>"
                parts.append(f"{ATOM}{label}{ATOM}")
            elif linked:
                parts.append(escape(match[0][0], False))
                at = match.start() + 1
            elif match["url"]:
                url = match["url"].partition(ATOM)[0].rstrip(AFTER_URL)
                parts.append(self._linked(url, escape(url, False), wikilink=False))
                at = match.start() + len(url)
            else:
                tag = TAG.match(text, match.start())
                name = tag_name(tag) if tag else ""
                shown = escape(match[0], False)
                parts.append(
                    f'<a href="/?q=tag:{quote(name, safe="")}" class="tag">{shown}</a>' if name else shown
                )
        return "".join((*parts, escape(text[at:], False)))

    def _with_notes(self, html: str) -> str:
        """Number the references to notes, and add the notes in the order of their numbers."""
        numbers: dict[str, int] = {}
        order: list[str] = []
        own = not self._context.page  # a document in another one has no ids

        def numbered(match: re.Match[str]) -> str:
            name, number = "", numbers.setdefault(match[1], len(numbers) + 1)
            if number > len(order):
                order.append(match[1])
                name = f' id="fnref{number}"'
            shown = f'<a href="#fn{number}"{name}>[{number}]</a>' if own else f"[{number}]"
            return f'<sup class="footnote-ref">{shown}</sup>'

        html, notes = _NOTE.sub(numbered, html), []
        for label in chain(order, [*self._notes]):  # a note can refer to another one
            if (note := self._notes.pop(label, None)) is not None:
                number = numbers.get(label, 0)
                back = f' <a href="#fnref{number}" class="footnote-backref">↩︎</a>' if own and number else ""
                note, end, rest = _NOTE.sub(numbered, note).rpartition("</p>")
                name = f' id="fn{number}"' if own and number else ""
                notes.append(f'<li{name} class="footnote-item">{note}{back}{end}{rest}</li>\n')
        if not notes:
            return html
        return (
            f'{html}<hr class="footnotes-sep">\n<section class="footnotes">\n<ol class="footnotes-list">\n'
            f"{''.join(notes)}</ol>\n</section>\n"
        )


def _plain(text: str, pieces: Iterable[tuple[str, str]]) -> str:
    """Return a line without its markup."""
    rest = iter(pieces)
    return re.sub(ATOM, lambda _: next(rest)[1], text)


def _code(code: str, language: str, lines: str, context: RenderContext) -> str:
    shown = _coloured(code, language, context) or escape(code)
    name = f'<span class="language">{escape(language)}</span>' if language else ""
    source = f'<pre tabindex="0"><code>{shown}</code></pre>'
    if language.lower() in DIAGRAMS:
        # The programs that draw diagrams need inline styles, which the policy of the page refuses.
        words = escape(described(code, language, context.say), False)
        name, source = "", f'<details><summary class="language">{words}</summary>{source}</details>'
    return f'<div class="code"{lines}>{name}{source}</div>\n'


def _coloured(code: str, language: str, context: RenderContext) -> str:
    """Return code in colours; empty if its language is not known, or too much has been coloured already.

    The time of some lexers grows with the square of the text or worse, so they get a piece at a time, and the
    budget pays for their time.
    """
    if not language or context.coloured + len(code) > _MAX_COLOURED or not context.budget.take(CODE):
        return ""
    try:
        lexer = get_lexer_by_name(language.lower())
    except ClassNotFound:
        return ""
    context.coloured += len(code)
    parts = []
    for piece in _pieces(code):
        if len(piece) > _PIECE or not context.budget.take():
            parts.append(escape(piece, quote=False))
            continue
        started = time.thread_time()
        parts.append(highlight(piece, lexer, _FORMATTER))
        context.budget.take(int((time.thread_time() - started) / SECONDS))
    return "".join(parts)


def _pieces(code: str) -> Iterator[str]:
    """Yield code in pieces of whole lines, of at most `_PIECE` characters unless a line is longer."""
    piece = ""
    for line in code.splitlines(keepends=True):
        if piece and len(piece) + len(line) > _PIECE:
            yield piece
            piece = ""
        piece += line
    yield piece


def _mathml(tex: str, context: RenderContext, *, block: bool) -> str | None:
    enough = context.budget.take(FORMULA + PER_TEX * len(tex))
    return html_tags.mathml(tex, block=block) if enough else None


def _media(source: str, alt: str, sizes: Mapping[str, str], context: RenderContext) -> str:
    """Return an image, a sound or a film, or its name if it is not loaded."""
    shown = escape(alt or source)
    kind = media(source.partition("#")[0].partition("?")[0])
    if source.startswith("data:"):
        address: str | None = source
    elif source.lower().startswith(("http:", "https:", "//")):
        if kind in ("audio", "video") or not context.remote_images:
            context.blocked += kind not in ("audio", "video")
            return f'<a class="image-left-out" href="{escape(source)}" target="_blank">{shown}</a>'
        address = source
    else:
        address = context.file(unquote(source))
    if address is None:
        return f'<span class="image-left-out">{shown}</span>'
    size = "".join(f' {name}="{escape(value)}"' for name, value in sizes.items())
    if kind in ("audio", "video"):
        return f'<{kind} src="{escape(address)}" title="{shown}" controls="" preload="none"{size}></{kind}>'
    return f'<img src="{escape(address)}" alt="{shown}"{size} loading="lazy">'


def _resolve(target: str, context: RenderContext, *, wikilink: bool) -> tuple[str | None, str]:
    """Return the address of a link and its class; (None, "") if it leads nowhere."""
    if not wikilink:
        if target.lower().startswith("qmd://"):
            return context.link(target), ""
        if _SCHEME.match(target) or target.startswith("//"):
            return target, "external"
        target = unquote(target)
    path, _, fragment = target.partition("#")
    if not path:
        return f"{context.page}#{anchor(fragment)}", ""
    page = context.link(target) or context.link(path)
    if page is not None:
        return (f"{page}#{anchor(fragment)}" if fragment else page), ""
    return (None if wikilink else context.file(path)), ""
