"""A document on the page."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape, unescape
from itertools import islice, pairwise
from threading import Lock
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from msgspec import Struct, field

from qmd.api.operations import Deadline, Page
from qmd.api.shown import Reading, read
from qmd.engine.index import Index
from qmd.errors import UsageError
from qmd.features.page import structured
from qmd.features.page.addresses import read_address
from qmd.features.page.budget import FILE, Budget
from qmd.features.page.embeds import MAX_DEPTH, part
from qmd.features.page.markdown import EmbeddedNote, RenderContext, render
from qmd.features.page.messages import Translate
from qmd.features.page.pages import safe
from qmd.features.page.rendered import Find, Rendered, marked
from qmd.features.page.search import highlighter
from qmd.text import front_matter
from qmd.text.anchors import LINE, anchor_at
from qmd.text.dates import stated
from qmd.text.query import as_typed
from qmd.text.question import Question
from qmd.text.uris import DEFAULT_EDITOR, NO_EDITOR, editor_address, encode_path, is_editor, is_uri, parse_uri
from qmd.types import Anchor, Document, ResolvedLink
from qmd.types.notes import Note, shown

#: The time for a page on a slow machine; its budget is spent before on others.
MAX_SECONDS = 10.0
#: Lines of a document that is shown as text.
LINES = 2_000
_MAX_LINE = 5_000
_TAG = re.compile(r"<[^<>]*>")
#: Characters of a note in which a heading or block is searched in a step.
_SEARCHED = 100
#: Pages or slides that are marked.
MAX_PLACES = 2_000
#: Links beside a document.
MAX_LINKS = 50


class DocumentView(Struct, frozen=True):
    """A document as it is shown.

    Attributes:
        page: The document.
        rendered: The parts of its HTML; none if it is shown as text.
        title: Its first heading in HTML, if it begins with its title.
        html: The rest of its HTML.
        rows: Otherwise its lines by number.
        too_large: Whether it is shown as text because it is large.
        properties: Its fields.
        places: The beginnings of the pages, slides or cells of the source file.
        links: The titles of the documents that it links to, by display path.
        backlinks: The titles of those that link to it.
        absolute: Its path on the disk; "" if the reader has not the disk.
        editor: The address that opens it in the user's editor, if any.
        original: The address of the source file, if browsers can show it.
        anchor: The place in the source file that is shown.
        indexed_at: The time of the index.
    """

    page: Page
    rendered: Rendered
    title: Markup
    html: Markup
    rows: tuple[tuple[int, Markup], ...]
    too_large: bool
    properties: Mapping[str, tuple[Any, ...]]
    places: tuple[Anchor, ...]
    links: Mapping[str, str]
    backlinks: Mapping[str, str]
    absolute: str
    editor: str | None
    original: str | None
    anchor: Anchor | None
    indexed_at: str | None

    @property
    def notes(self) -> list[Note]:
        return shown(self.page.notes, "page")

    @property
    def is_pdf(self) -> bool:
        """Whether its source file is a PDF, which may stand beside its text."""
        return (self.original or "").lower().endswith(".pdf")

    @property
    def first_line(self) -> int:
        """The number of the first row."""
        return self.rows[0][0] if self.rows else 1


class _Cache:
    """The documents rendered last, so that another query, going back and the next hit cost little."""

    def __init__(self, size: int = 4_000_000) -> None:
        self._entries: OrderedDict[tuple[object, ...], Rendered] = OrderedDict()
        self._room = size  #: Characters of HTML that still fit
        self._lock = Lock()

    def get(self, key: tuple[object, ...]) -> Rendered | None:
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def put(self, key: tuple[object, ...], rendered: Rendered) -> None:
        with self._lock:
            if key not in self._entries:
                self._entries[key] = rendered
                self._room -= rendered.size
            while self._room < 0:
                self._room += self._entries.popitem(last=False)[1].size


def view(
    index: Index,
    reference: str,
    translate: Translate,
    deadline: Deadline,
    *,
    query: str = "",
    typing: bool = False,
    line: int | None = None,
    source: bool = False,
    first_line: int = 1,
    remote_images: bool = False,
) -> DocumentView:
    """Return a document for the page. Raises as `Index.get`.

    While `typing`, the last word of the query also marks longer words.
    What is left of a document when the budget of a page is spent, or at the deadline, is shown as plain text.
    """
    reading = read(index, reference)
    page, document = reading.page, reading.page.document
    find = highlighter(index.config, Question.read(as_typed(query) if typing else query))
    original = _file_address(index.viewable_file(document))
    places = tuple(anchor for anchor in page.anchors[:MAX_PLACES] if anchor.kind != LINE)
    budget = Budget(deadline.passed)
    too_large = not budget.take_text(page.text)
    as_text = source or too_large or (page.media_type == "text/plain" and page.source_type == "text/plain")
    html, title, rendered = "", "", Rendered()
    properties: Mapping[str, tuple[Any, ...]] = {}
    if not as_text:
        rendered, properties = _render(index, reading, remote_images, translate, budget, deadline)
        separators = [(place.line, _separator(place, original, translate)) for place in places]
        html = rendered.html(find, line, separators, lines=True)
        heading, end, rest = html.partition("</h1>")
        # The title may be written in HTML, which is no heading of the outline.
        if heading.startswith("<h1") and document.title in (
            rendered.headings[0].text if rendered.headings else "",
            unescape(_TAG.sub("", heading)).strip(),
        ):
            title, html = f"{heading}{end}\n", rest.lstrip("\n")
    folder = index.config.collections[document.collection].path
    absolute = "" if index.locations.portable else os.path.join(folder, document.path)
    anchor = anchor_at(page.anchors, line or 1)
    return DocumentView(
        page=page,
        rendered=rendered,
        title=safe(title),
        html=safe(html),
        rows=tuple(_rows(page, line, first_line, find)) if as_text else (),
        too_large=too_large,
        properties=_apart(document.title, properties) or _properties(reading),
        places=places,
        links=_titles(index, (each.to for each in reading.links if each.to and each.to != document.file)),
        backlinks=_titles(index, (each.file for each in reading.backlinks)),
        absolute=absolute,
        editor=_editor(index, absolute, line or 1, anchor),
        original=original,
        anchor=anchor if line else None,
        indexed_at=reading.indexed_at,
    )


def _apart(title: str, properties: Mapping[str, tuple[Any, ...]]) -> Mapping[str, tuple[Any, ...]]:
    """Return properties without the title that stands above them."""
    return {name: values for name, values in properties.items() if (name, values) != ("title", (title,))}


def _properties(reading: Reading) -> Mapping[str, tuple[Any, ...]]:
    """Return the properties of a document that states none in its front matter."""
    # Without a date of its own, a document has that of its file, which is no property.
    document = reading.page.document
    dated = ["date"] if stated(document.date, document.modified_ns) else []
    fields = reading.fields
    return {name: fields[name] for name in ("author", *dated, "tag") if name in fields}


def place_address(file: str | None, place: Anchor | None) -> str | None:
    """Return the address of a place in the source file."""
    return f"{file}#{place.kind}={place.value}" if file and place else file


def _file_address(reference: str | None) -> str | None:
    return None if reference is None else f"/file/{encode_path(reference)}"


def _separator(place: Anchor, file: str | None, translate: Translate) -> str:
    """Return the line between two places of a rendered document."""
    shown = escape(translate(f"{place.kind} {{n}}", n=place.value))
    if address := place_address(file, place):
        shown = f'<a href="{escape(address)}">{shown}</a>'
    return f'<p class="place" id="place-{place.value}">{shown}</p>'


def _titles(index: Index, files: Iterable[str]) -> Mapping[str, str]:
    """Return the titles of documents, and for those after the first ones their paths."""
    once = [*dict.fromkeys(files)]
    return dict.fromkeys(once, "") | index.titles_of(once[:MAX_LINKS])


_rendered = _Cache()


def _render(
    index: Index,
    reading: Reading,
    remote_images: bool,
    translate: Translate,
    budget: Budget,
    deadline: Deadline,
) -> tuple[Rendered, Mapping[str, tuple[Any, ...]]]:
    """Return a document as HTML, and its properties."""
    text, document = reading.page.text, reading.page.document
    head = front_matter.of(text if reading.page.media_type == "text/markdown" else "")
    start = head.body
    # Links lead elsewhere if documents come and go, or for a reader who may not see all collections.
    links = tuple((link.target, link.to) for link in reading.links if link.to)
    key = (document.hash, document.file, remote_images, links, frozenset(index.config.collections), translate)
    rendered = _rendered.get(key)
    if rendered is None:
        shown = _Shown(index, remote_images, translate, budget)
        first_line = 1 + text.count("\n", 0, start)
        context = shown.context(document, reading.links, first_line)
        if reading.page.media_type == "text/markdown":
            rendered = _in_parts(text[start:], reading.page.anchors, context)
        else:
            outline = index.outline(document.file)[1]
            rendered = structured.render(text, outline, reading.page.fences, reading.links, context)
        deadline.check()
        # Other notes may change without this one, and there may be more time.
        if not shown.parts and not deadline.passed():
            _rendered.put(key, rendered)
    return rendered, {name: values for name, values in head.fields.items() if values}


def _in_parts(text: str, anchors: Sequence[Anchor], context: RenderContext) -> Rendered:
    """Return a Markdown text as HTML. What a cell or a message of it opens does not reach the next one."""
    lines, above = text.split("\n"), context.first_line - 1
    places = {each.line - above - 1 for each in anchors if each.kind != LINE}
    starts = sorted({0, *(place for place in places if place > 0)})
    rendered = []
    for first, end in pairwise([*starts, len(lines)]):
        context.first_line = above + first + 1
        rendered.append(render("\n".join(lines[first:end]), context))
    return Rendered.joined(rendered)


class _Shown(Struct):
    """The shown parts of a document and of its notes; `parts` are these notes, with the fragments."""

    index: Index
    remote_images: bool
    say: Translate
    budget: Budget
    parts: set[tuple[str, str]] = field(default_factory=set)

    def context(
        self, document: Document, links: Sequence[ResolvedLink], first_line: int = 1, depth: int = 0
    ) -> RenderContext:
        """Return the surroundings of a document that is in `depth` other ones, for rendering."""
        targets = {link.target: link.to for link in links if link.to}

        @cache
        def link(target: str) -> str | None:
            if is_uri(target):
                target = parse_uri(target)
                known = target.partition("/")[0] in self.index.config.collections
                return read_address(target) if known else None
            to = targets.get(target)
            return None if to is None else read_address(to)

        @cache
        def file(target: str) -> str | None:
            found = self.index.viewable_file(document, target) if self.budget.take(FILE) else None
            return _file_address(found)

        def embed(target: str) -> EmbeddedNote | None:
            path, _, fragment = target.partition("#")
            to = targets.get(target) or targets.get(path)
            return None if to is None or depth == MAX_DEPTH else self.embedded(to, fragment, depth + 1)

        page = read_address(document.file) if depth else ""
        return RenderContext(link, file, first_line, self.remote_images, self.say, self.budget, embed, page)

    def embedded(self, file: str, fragment: str, depth: int) -> EmbeddedNote | None:
        """Return a part of another note; None if there is none, if it is shown already, or is too much."""
        key = (file, fragment.casefold())
        if key in self.parts or self.budget.spent:
            return None
        self.parts.add(key)
        page = self.index.get(file)
        self.budget.take(len(page.text) // _SEARCHED)
        text = part(page.text, fragment) if page.media_type == "text/markdown" else None
        if text is None or not self.budget.take_note(text):
            return None
        return EmbeddedNote(text, self.context(page.document, self.index.links(file), depth=depth))


def _rows(page: Page, line: int | None, first_line: int, find: Find | None) -> Iterator[tuple[int, Markup]]:
    lines = page.text.removesuffix("\n").split("\n")
    start = max(1, min(first_line, len(lines)))
    if line is not None and not start <= line < start + LINES:
        start = max(1, line - LINES // 4)
    for number, text in enumerate(islice(lines, start - 1, start - 1 + LINES), start):
        yield number, safe(marked(text[:_MAX_LINE], find))


def _editor(index: Index, absolute: str, line: int, anchor: Anchor | None) -> str | None:
    """Return the address that opens a file in the user's editor; None if it cannot be opened there."""
    template = index.settings.editor_uri or DEFAULT_EDITOR
    if template == NO_EDITOR or not is_editor(template) or (anchor and anchor.kind != LINE):
        return None
    return editor_address(template, absolute, anchor.value if anchor else line)


def require_line(text: str) -> int | None:
    """Return a line number in the parameters of an address; None if there is none.

    Raises:
        UsageError: If it is no number.
    """
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10):
        raise UsageError(f"not a line number: {quote(text[:20])}")
    return max(1, int(text))
