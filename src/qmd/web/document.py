"""What the page shows of a document, and the files beside it."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import quote

from qmd.engine.documents.library import Page
from qmd.engine.index import Index
from qmd.errors import NotFoundError, UsageError
from qmd.text.blocks import front_matter_end
from qmd.text.editors import DEFAULT_EDITOR, NO_EDITOR, editor_address, is_editor
from qmd.text.front_matter import read as read_front_matter
from qmd.text.uris import encode_path, is_uri, parse_uri, to_uri
from qmd.text.visible import visible
from qmd.types import Document, ResolvedLink
from qmd.web.markdown import Context, Heading, Rendered, marked, render
from qmd.web.messages import Translate
from qmd.web.pages import read_address, safe
from qmd.web.search import highlighter

#: Larger documents are shown as text, some lines at a time.
MAX_RENDERED = 400_000
LINES = 2_000
_MAX_LINE = 5_000
#: Links that a list shows.
MAX_LINKS = 50
#: Types of files that are sent as they are. Others could be taken for pages.
FILE_TYPES: Mapping[str, str] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "ico": "image/x-icon",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
}
MAX_FILE = 100_000_000
#: Files of a folder that are looked at for an image that is named without its folder, and the seconds that
#: the list is kept.
_MAX_LOOKED_AT = 20_000
_LISTED_FOR = 60


@dataclass(frozen=True, slots=True)
class Linked:
    """A link in a list: the name and path of the document, its address, and the line of the link."""

    title: str
    file: str
    href: str
    line: int


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a document shown as text."""

    number: int
    html: Any
    hit: bool


@dataclass(frozen=True, slots=True)
class View:
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
    links: tuple[Linked, ...]
    links_left_out: int
    backlinks: tuple[Linked, ...]
    backlinks_left_out: int
    editor: str | None
    original: str | None


class _Cache:
    """The last documents rendered, so that going back and moving between hits costs nothing."""

    def __init__(self, size: int = 16) -> None:
        self._entries: OrderedDict[tuple[object, ...], Rendered] = OrderedDict()
        self._size = size

    def get(self, key: tuple[object, ...]) -> Rendered | None:
        return self._entries.get(key)

    def put(self, key: tuple[object, ...], rendered: Rendered) -> None:
        self._entries[key] = rendered
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)


def view(
    index: Index,
    reference: str,
    translate: Translate,
    *,
    query: str = "",
    line: int | None = None,
    source: bool = False,
    first_line: int = 1,
    remote_images: bool = False,
) -> View:
    """Return a document for the page. Raises as `Index.get`."""
    page = index.get(reference)
    document = page.document
    outgoing, incoming = index.link_lists(document.file)
    find = highlighter(query)
    fields = index.fields_of([document.file]).get(document.file, {})
    is_markdown = "markdown" in fields.get("format", ("markdown",))
    too_large = len(page.text) > MAX_RENDERED
    rendered = Rendered("")
    rows: tuple[Row, ...] = ()
    properties: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if source or too_large or not is_markdown:
        rows = tuple(_rows(page, line, first_line, find))
        if not is_markdown:
            properties = tuple(
                (name, _shown(fields[name])) for name in ("author", "date", "tag") if name in fields
            )
    else:
        rendered, properties = _render(index, page, outgoing, query, line, remote_images, translate)
    collection = index.config.collections[document.collection]
    absolute = "" if index.locations.portable else os.path.join(collection.path, document.path)
    links, left = _linked((link.to, link.line) for link in outgoing if link.to and link.to != document.file)
    backlinks, back_left = _linked((link.file, link.line) for link in incoming)
    return View(
        document,
        _name(document, rendered.headings),
        page.context,
        to_uri(document.file),
        absolute,
        properties,
        safe(rendered.html),
        rendered.headings,
        rendered.blocked_images,
        rows,
        rows[0].number if rows else 1,
        page.total_lines,
        too_large,
        links,
        left,
        backlinks,
        back_left,
        _editor(index, absolute, line or 1),
        _original(index, document),
    )


def file_on_disk(index: Index, reference: str) -> tuple[str, str]:
    """Return the path and media type of a file of a collection that may be sent as it is.

    `reference` is `collection/path`. The file must be inside the collection's folder with all links followed.

    Raises:
        NotFoundError: If there is no such file, or it may not be sent.
    """
    missing = NotFoundError(f"There is no file {visible(reference)[:200]}")
    name, _, path = reference.partition("/")
    collection = index.config.collections.get(name)
    media_type = FILE_TYPES.get(_suffix(path))
    parts = path.split("/")
    if collection is None or media_type is None or "\0" in path:
        raise missing
    if any(part in ("", "..") or part.startswith(".") for part in parts):
        raise missing
    root = os.path.realpath(collection.path)
    found = _inside(root, os.path.join(root, *parts))
    if found is None or os.path.getsize(found) > MAX_FILE:
        raise missing
    return found, media_type


def _inside(root: str, path: str) -> str | None:
    """Return the real path of a regular file if it is inside a folder."""
    real = os.path.realpath(path)
    return real if real.startswith(os.path.join(root, "")) and os.path.isfile(real) else None


def _find_file(root: str, folder: str, target: str) -> str | None:
    """Return the path below `root` of a file that a document in `folder` names; None if there is none.

    The name is relative to the document or to the root. A name without a folder may be anywhere, as in
    Obsidian.
    """
    if "\0" in target or _suffix(target) not in FILE_TYPES:
        return None
    for base in (folder, ""):
        path = os.path.normpath(os.path.join(base, target.lstrip("/")))
        if not path.startswith("..") and _inside(root, os.path.join(root, path)) is not None:
            return path
    return _files_below(root, int(time.monotonic() // _LISTED_FOR)).get(target) if "/" not in target else None


@lru_cache(maxsize=8)
def _files_below(root: str, period: int) -> Mapping[str, str]:
    """Return the paths of files that can be sent, by name, without hidden folders. Kept for a period."""
    found: dict[str, str] = {}
    looked_at = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in names:
            if _suffix(name) in FILE_TYPES:
                found.setdefault(name, os.path.relpath(os.path.join(folder, name), root))
        looked_at += len(names) + len(folders)
        if looked_at > _MAX_LOOKED_AT:
            break
    return found


def _suffix(path: str) -> str:
    return path.rpartition(".")[2].lower()


_rendered = _Cache()


def _render(
    index: Index,
    page: Page,
    outgoing: list[ResolvedLink],
    query: str,
    line: int | None,
    remote_images: bool,
    translate: Translate,
) -> tuple[Rendered, tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return a Markdown document as HTML, and its properties."""
    text, document = page.text, page.document
    start = front_matter_end(text)
    properties: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if start:
        head = text[:start].split("\n", 1)[1].rsplit("\n---", 1)[0]
        found = read_front_matter(head).fields
        properties = tuple((name, _shown(values)) for name, values in found.items() if values)
    targets = {link.target: link.to for link in outgoing if link.to}
    folder = os.path.dirname(document.path)

    def link(target: str) -> str | None:
        if is_uri(target):
            target = parse_uri(target)
            return read_address(target) if target.partition("/")[0] in index.config.collections else None
        to = targets.get(target)
        return None if to is None else read_address(to)

    root = os.path.realpath(index.config.collections[document.collection].path)

    def file(target: str) -> str | None:
        path = _find_file(root, folder, target.partition("?")[0].partition("#")[0])
        return None if path is None else f"/file/{encode_path(f'{document.collection}/{path}')}"

    # A link to a collection that a reader may not see is rendered in another way.
    visible_collections = frozenset(index.config.collections)
    key = (
        document.hash,
        document.file,
        query,
        line,
        remote_images,
        tuple(targets.items()),
        visible_collections,
        translate,
    )
    rendered = _rendered.get(key)
    if rendered is None:
        context = Context(
            link,
            file,
            highlighter(query),
            line,
            1 + text.count("\n", 0, start),
            remote_images,
            lambda done: translate("done" if done else "open"),
        )
        rendered = render(text[start:], context)
        _rendered.put(key, rendered)
    return rendered, properties


def _rows(page: Page, line: int | None, first_line: int, find: Any) -> list[Row]:
    lines = page.text.removesuffix("\n").split("\n")
    start = max(1, min(first_line, len(lines)))
    if line is not None and not start <= line < start + LINES:
        start = max(1, line - LINES // 4)
    return [
        Row(number, safe(marked(text[:_MAX_LINE], find)), number == line)
        for number, text in enumerate(islice(lines, start - 1, start - 1 + LINES), start)
    ]


def _shown(values: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(map(_shown_value, values))


def _shown_value(value: str | bool | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return visible(f"{value:g}" if isinstance(value, float) else value)


def _linked(links: Any) -> tuple[tuple[Linked, ...], int]:
    """Return links to documents, each document once, and the number of those left out."""
    first: dict[str, int] = {}
    for file, line in links:
        first.setdefault(file, line)
    shown = [
        Linked(visible(_stem(file)), visible(file), read_address(file), line)
        for file, line in islice(first.items(), MAX_LINKS)
    ]
    return tuple(shown), max(0, len(first) - MAX_LINKS)


def _stem(file: str) -> str:
    """Return the name of a file without the suffix of Markdown."""
    return file.rpartition("/")[2].removesuffix(".md")


def _name(document: Document, headings: Sequence[Heading]) -> str:
    """Return the name of a document: its title, or that of its file if the title is a lower heading."""
    lower = any(heading.text == document.title and heading.level > 1 for heading in headings)
    return visible(_stem(document.path) if lower else document.title)


def _editor(index: Index, absolute: str, line: int) -> str | None:
    """Return the address that opens a file in the user's editor; None if there is none."""
    template = index.settings.editor_uri or DEFAULT_EDITOR
    if template == NO_EDITOR or not is_editor(template):
        return None
    return editor_address(template, absolute, line)


def _original(index: Index, document: Document) -> str | None:
    """Return the address of the file itself if browsers can show it."""
    return f"/file/{encode_path(document.file)}" if _suffix(document.path) in FILE_TYPES else None


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
