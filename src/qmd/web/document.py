"""What the page shows of a document."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import islice
from threading import Lock
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from qmd.api import operations
from qmd.api.operations import Deadline, Page, Reading
from qmd.engine.index import Index
from qmd.errors import UsageError
from qmd.text import front_matter
from qmd.text.anchors import LINE, anchor_at
from qmd.text.dates import of_mtime
from qmd.text.editors import DEFAULT_EDITOR, NO_EDITOR, editor_address, is_editor
from qmd.text.predicates import shown_value
from qmd.text.uris import encode_path, is_uri, parse_uri, to_uri
from qmd.text.visible import visible
from qmd.types import Anchor, Document
from qmd.web.embeds import MAX_CHARACTERS, MAX_DEPTH, part
from qmd.web.markdown import Context, Embedded, render
from qmd.web.messages import Translate
from qmd.web.pages import read_address, safe
from qmd.web.rendered import Find, Heading, Rendered, marked
from qmd.web.search import highlighter

#: Documents that are larger, or take longer to render, are shown as text, some lines at a time.
MAX_RENDERED = 400_000
MAX_SECONDS = 10.0
LINES = 2_000
_MAX_LINE = 5_000
#: Links that a list shows, and pages or slides that are marked.
MAX_LINKS = 50
MAX_PLACES = 2_000


class Linked(Struct, frozen=True):
    """A link in a list: the name and path of the document, its address, and the line of the link."""

    title: str
    file: str
    href: str
    line: int


class Place(Struct, frozen=True):
    """A page, slide or cell of the source file.

    Attributes:
        kind: What it is, in one word.
        number: Its number.
        anchor: The id of its beginning.
        line: The line of the text where it begins.
        file: The address of the place in the file itself, if browsers can show it.
    """

    kind: str
    number: int
    anchor: str
    line: int
    file: str | None


class Row(Struct, frozen=True):
    """A line of a document shown as text. `place` is what begins there."""

    number: int
    html: Any
    hit: bool
    place: Place | None


class View(Struct, frozen=True):
    """A document as it is shown. `rows` are its lines if it is shown as text."""

    document: Document
    name: str
    context: str | None
    uri: str
    absolute: str
    properties: tuple[tuple[str, tuple[str, ...]], ...]
    html: Any
    headings: tuple[Heading, ...]
    blocked_images: int
    rows: tuple[Row, ...]
    first_line: int
    total_lines: int
    too_large: bool
    places: tuple[Place, ...]
    links: tuple[Linked, ...]
    links_left_out: int
    backlinks: tuple[Linked, ...]
    backlinks_left_out: int
    editor: str | None
    original: str | None
    indexed_at: str | None


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
    line: int | None = None,
    source: bool = False,
    first_line: int = 1,
    remote_images: bool = False,
) -> View:
    """Return a document for the page. Raises as `Index.get`.

    A document whose HTML is not ready at the deadline is shown as text.
    """
    reading = operations.read(index, reference)
    page, document, fields = reading.page, reading.page.document, reading.fields
    find, file = highlighter(query), _file_address(index.viewable_file(page.document))
    places = tuple(_places(page.anchors, file))
    is_markdown = page.media_type == "text/markdown"
    too_large = len(page.text) > MAX_RENDERED
    html, rendered = "", Rendered()
    rows: tuple[Row, ...] = ()
    properties: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if not (source or too_large) and is_markdown:
        try:
            rendered, properties = _render(index, reading, remote_images, translate, deadline)
            html = rendered.html(find, line, [(place.line, _separator(place, translate)) for place in places])
        except InterruptedError:
            deadline.check()
            too_large = True
    if source or too_large or not is_markdown:
        rows = tuple(_rows(page, line, first_line, find, places))
    if not properties:
        # Without a date of its own, a document has that of its file, which is no property.
        stated = [] if document.date == of_mtime(document.modified_ns) else ["date"]
        properties = tuple(
            (name, _shown(fields[name])) for name in ("author", *stated, "tag") if name in fields
        )
    collection = index.config.collections[document.collection]
    absolute = "" if index.locations.portable else os.path.join(collection.path, document.path)
    links, left = _linked((each.to, each.line) for each in reading.links if each.to != document.file)
    backlinks, back_left = _linked((each.file, each.line) for each in reading.backlinks)
    found = anchor_at(page.anchors, line or 1)
    if file is not None and found is not None and line:
        file = _at_place(file, found)
    return View(
        document,
        visible(document.title),
        page.context,
        to_uri(document.file),
        absolute,
        properties,
        safe(html),
        rendered.headings,
        rendered.blocked_images,
        rows,
        rows[0].number if rows else 1,
        page.total_lines,
        too_large,
        places,
        links,
        left,
        backlinks,
        back_left,
        _editor(index, absolute, line or 1, found),
        file,
        reading.indexed_at,
    )


def _places(anchors: Sequence[Anchor], file: str | None) -> Iterator[Place]:
    for anchor in anchors[:MAX_PLACES]:
        if anchor.kind != LINE:
            there = None if file is None else _at_place(file, anchor)
            yield Place(anchor.kind, anchor.value, f"place-{anchor.value}", anchor.line, there)


def _file_address(reference: str | None) -> str | None:
    return None if reference is None else f"/file/{encode_path(reference)}"


def _at_place(file: str, anchor: Anchor) -> str:
    return f"{file}#{anchor.kind}={anchor.value}"


def _separator(place: Place, translate: Translate) -> str:
    """Return the line between two places of a rendered document."""
    name = escape(translate(f"{place.kind} {{n}}", n=place.number))
    shown = name if place.file is None else f'<a href="{escape(place.file)}">{name}</a>'
    return f'<p class="place" id="{place.anchor}">{shown}</p>'


_rendered = _Cache()


def _render(
    index: Index, reading: Reading, remote_images: bool, translate: Translate, deadline: Deadline
) -> tuple[Rendered, tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return a Markdown document as HTML, and its properties."""
    text, document = reading.page.text, reading.page.document
    head = front_matter.of(text)
    start = head.body
    properties = tuple((name, _shown(values)) for name, values in head.fields.items() if values)
    # Links lead elsewhere if documents come and go, or for a reader who may not see all collections.
    links = tuple((link.target, link.to) for link in reading.links if link.to)
    key = (document.hash, document.file, remote_images, links, frozenset(index.config.collections), translate)
    rendered = _rendered.get(key)
    if rendered is None:
        shown = _Shown(index, remote_images, lambda done: translate("done" if done else "open"), deadline)
        rendered = render(text[start:], shown.context(reading, 1 + text.count("\n", 0, start)))
        if shown.characters == 0:  # other notes may change without this one
            _rendered.put(key, rendered)
    return rendered, properties


class _Shown(Struct):
    """What is shown of a document and of the notes inside it; `characters` are those of the notes."""

    index: Index
    remote_images: bool
    task: Callable[[bool], str]
    deadline: Deadline
    characters: int = 0

    def context(self, reading: Reading, first_line: int = 1, depth: int = 0) -> Context:
        """Return what rendering needs to know about a document that is in `depth` other ones."""
        document = reading.page.document
        targets = {link.target: link.to for link in reading.links if link.to}

        def link(target: str) -> str | None:
            if is_uri(target):
                target = parse_uri(target)
                known = target.partition("/")[0] in self.index.config.collections
                return read_address(target) if known else None
            to = targets.get(target)
            return None if to is None else read_address(to)

        def file(target: str) -> str | None:
            return _file_address(self.index.viewable_file(document, target))

        def embed(target: str) -> Embedded | None:
            path, _, fragment = target.partition("#")
            to = targets.get(target) or targets.get(path)
            return None if to is None or depth == MAX_DEPTH else self.embedded(to, fragment, depth + 1)

        page = read_address(document.file) if depth else ""
        return Context(
            link, file, first_line, self.remote_images, self.task, self.deadline.passed, embed, page
        )

    def embedded(self, file: str, fragment: str, depth: int) -> Embedded | None:
        """Return a part of another note; None if there is none, or if enough is shown already."""
        reading = operations.read(self.index, file)
        text = part(reading.page.text, fragment)
        if text is None or reading.page.media_type != "text/markdown":
            return None
        self.characters += len(text)
        return (
            Embedded(text, self.context(reading, depth=depth)) if self.characters <= MAX_CHARACTERS else None
        )


def _rows(
    page: Page, line: int | None, first_line: int, find: Find | None, places: Sequence[Place]
) -> list[Row]:
    lines = page.text.removesuffix("\n").split("\n")
    start = max(1, min(first_line, len(lines)))
    if line is not None and not start <= line < start + LINES:
        start = max(1, line - LINES // 4)
    begins = {place.line: place for place in places}
    return [
        Row(number, safe(marked(text[:_MAX_LINE], find)), number == line, begins.get(number))
        for number, text in enumerate(islice(lines, start - 1, start - 1 + LINES), start)
    ]


def _shown(values: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(map(_shown_value, values))


def _shown_value(value: str | bool | float) -> str:
    return visible(value.removesuffix("T00:00:00")) if isinstance(value, str) else shown_value(value)


def _linked(links: Any) -> tuple[tuple[Linked, ...], int]:
    """Return links to documents, each document once, and the number of those left out."""
    first: dict[str, int] = {}
    for file, line in links:
        if file:
            first.setdefault(file, line)
    shown = [
        Linked(visible(_stem(file)), visible(file), read_address(file), line)
        for file, line in islice(first.items(), MAX_LINKS)
    ]
    return tuple(shown), max(0, len(first) - MAX_LINKS)


def _stem(file: str) -> str:
    """Return the name of a file without the suffix of Markdown."""
    return file.rpartition("/")[2].removesuffix(".md")


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
