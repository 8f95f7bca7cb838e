"""EPUB: the chapters in the order of the spine."""

from __future__ import annotations

import posixpath
from html.parser import HTMLParser
from urllib.parse import unquote
from zipfile import ZipFile

from qmd.features.formats.archive import open_zip, read_member
from qmd.features.formats.html import declared_charset, to_markdown
from qmd.sources.decoding import as_text
from qmd.sources.formats.base import DAMAGED, ENCRYPTED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "epub"
version = 4
media_type = "text/markdown"

_MAX_CHAPTERS = 10_000
#: The largest chapter and the largest list of chapters, in bytes.
_MAX_CHAPTER, _MAX_PACKAGE = 20_000_000, 5_000_000
_FIELDS = {"dc:creator": "author", "dc:date": "date", "dc:language": "language", "dc:publisher": "publisher"}


def extract(file: RawFile) -> Extracted:
    archive = open_zip(file.data)
    package = _Package()
    try:
        container = _Elements.read(archive, "META-INF/container.xml")
        path = next(values.get("full-path") or "" for tag, values in container if tag == "rootfile")
        package.feed(_decoded(read_member(archive, path, _MAX_PACKAGE)))
    except (KeyError, StopIteration) as error:
        raise Unreadable(DAMAGED, "not a book") from error
    chapters = [package.hrefs[identity] for identity in package.spine if identity in package.hrefs]
    if not chapters:
        raise Unreadable(DAMAGED, "no chapters")
    folder = posixpath.dirname(path)
    encrypted = _encrypted(archive)
    writer = Writer("chapter")
    missing = 0
    for number, href in enumerate(chapters[:_MAX_CHAPTERS], 1):
        member = posixpath.normpath(posixpath.join(folder, unquote(href)))
        if member in encrypted:
            raise Unreadable(ENCRYPTED)
        writer.anchor(number)
        try:
            writer.add_markdown(to_markdown(_decoded(read_member(archive, member, _MAX_CHAPTER))))
        except KeyError:
            missing += 1
    omitted = [f"{missing} chapters that the file lacks"] if missing else []
    if len(chapters) > _MAX_CHAPTERS:
        omitted.append(f"chapters after the first {_MAX_CHAPTERS:,}")
    fields = {name: tuple(values) for name, values in package.fields.items()}
    return Extracted(
        writer.text,
        one_line("".join(package.title)),
        fields,
        anchors=writer.anchors,
        omitted=tuple(omitted),
        structure=writer.structure,
    )


def _decoded(data: bytes) -> str:
    return as_text(data, declared_charset(data))


def _encrypted(archive: ZipFile) -> set[str]:
    """Return the members that are encrypted. Fonts may be, in a book that can be read."""
    try:
        elements = _Elements.read(archive, "META-INF/encryption.xml")
    except KeyError:
        return set()
    return {unquote(values.get("uri") or "") for tag, values in elements if tag.endswith("cipherreference")}


class _Elements(HTMLParser):
    """Lists the elements of an XML file with their attributes. There are no entities to expand."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []

    @classmethod
    def read(cls, archive: ZipFile, path: str) -> list[tuple[str, dict[str, str | None]]]:
        """Return the elements of a member. Raises `KeyError` if it does not exist."""
        parser = cls()
        parser.feed(_decoded(read_member(archive, path, _MAX_PACKAGE)))
        return parser.found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


class _Package(HTMLParser):
    """Reads the package of a book: its title, fields, files and the order of its chapters."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.fields: dict[str, list[str]] = {}
        self.hrefs: dict[str, str] = {}
        self.spine: list[str] = []
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        tag = tag.removeprefix("opf:")
        if tag == "item":
            self.hrefs[values.get("id", "")] = values.get("href", "")
        elif tag == "itemref":
            self.spine.append(values.get("idref", ""))
        elif tag.startswith("dc:"):
            self._open = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._open = ""

    def handle_data(self, data: str) -> None:
        text = one_line(data)
        if not text or not self._open:
            return
        if self._open == "dc:title" and not self.title:
            self.title.append(text)
        elif self._open in _FIELDS:
            self.fields.setdefault(_FIELDS[self._open], []).append(text)
        elif self._open == "dc:subject":
            self.fields.setdefault("keywords", []).append(text)
