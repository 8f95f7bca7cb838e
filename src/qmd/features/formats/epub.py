"""EPUB: the chapters in the order of the spine."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from qmd.features.formats import html
from qmd.features.formats.archive import open_zip, read_member
from qmd.features.formats.elements import write
from qmd.sources.decoding import as_text
from qmd.sources.formats.base import DAMAGED, ENCRYPTED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "epub"
version = 6
media_type = "text/plain"

_MAX_CHAPTERS = 10_000
#: A tag of HTML, which descriptions may have.
_TAG = re.compile(r"<[^<>]{1,1000}>")
#: The largest chapter and the largest list of chapters, in bytes.
_MAX_CHAPTER, _MAX_PACKAGE = 20_000_000, 5_000_000
#: Fields by their elements.
_FIELDS = {"creator": "author", "subject": "tag"} | {name: name for name in ("date", "language", "publisher")}


def extract(file: RawFile) -> Extracted:
    archive = open_zip(file.data)
    try:
        container = _xml(archive, "META-INF/container.xml")
        path = next(_named(container, "rootfile")).get("full-path", "")
        package = _xml(archive, path)
    except (KeyError, StopIteration) as error:
        raise Unreadable(DAMAGED, "not a book") from error
    hrefs = {item.get("id"): item.get("href", "") for item in _named(package, "item")}
    spine = (item.get("idref") for item in _named(package, "itemref"))
    chapters = [hrefs[identity] for identity in spine if identity in hrefs]
    if not chapters:
        raise Unreadable(DAMAGED, "no chapters")
    folder = posixpath.dirname(path)
    encrypted = _encrypted(archive)
    writer = Writer("chapter")
    for description in _texts(package, "description"):
        writer.add(one_line(_TAG.sub(" ", description)))
    missing = 0
    for number, href in enumerate(chapters[:_MAX_CHAPTERS], 1):
        member = posixpath.normpath(posixpath.join(folder, unquote(href)))
        if member in encrypted:
            raise Unreadable(ENCRYPTED)
        writer.anchor(number)
        try:
            data = read_member(archive, member, _MAX_CHAPTER)
        except KeyError:
            missing += 1
        else:
            write(html.tree(as_text(data, html.declared_charset(data))), writer, html.look)
    omitted = [f"{missing} chapters that the file lacks"] if missing else []
    if len(chapters) > _MAX_CHAPTERS:
        omitted.append(f"chapters after the first {_MAX_CHAPTERS:,}")
    fields = {field: tuple(_texts(package, tag)) for tag, field in _FIELDS.items()}
    return Extracted(
        writer.text,
        next(_texts(package, "title"), ""),
        fields,
        tuple(writer.links),
        writer.anchors,
        tuple(omitted),
        writer.structure,
    )


def _xml(archive: ZipFile, path: str) -> Any:
    """Return the tree of a member. Raises `KeyError` if it does not exist."""
    from lxml.etree import XMLParser, fromstring

    parser = XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = fromstring(read_member(archive, path, _MAX_PACKAGE), parser)
    return root if root is not None else fromstring(b"<package/>")


def _named(root: Any, name: str) -> Iterator[Any]:
    """Yield the elements with a name, whatever their namespace, also if it is not declared."""
    return (each for each in root.iter("*") if each.tag.rpartition("}")[2].rpartition(":")[2] == name)


def _texts(package: Any, tag: str) -> Iterator[str]:
    """Yield the texts of the elements with a name."""
    return filter(None, (one_line(each.text or "") for each in _named(package, tag)))


def _encrypted(archive: ZipFile) -> set[str]:
    """Return the members that are encrypted. Fonts may be, in a book that can be read."""
    try:
        found = _xml(archive, "META-INF/encryption.xml")
    except KeyError:
        return set()
    return {unquote(each.get("URI", "")) for each in _named(found, "CipherReference")}
