"""OpenDocument texts (ODT) by lxml: headings, lists, tables, notes and comments. Images are left out."""

from __future__ import annotations

from typing import Any
from zipfile import ZipFile

from qmd.features.formats.archive import open_zip, read_member
from qmd.features.formats.elements import Element, Role, write
from qmd.sources.formats.base import DAMAGED, ENCRYPTED, RawFile, Unreadable
from qmd.sources.formats.writing import Fields, Writer, properties
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "odt"
version = 3
media_type = "text/plain"

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _STYLE, _META = (f"{{{_OASIS}{part}:1.0}}" for part in ("text", "style", "meta"))
_OFFICE, _TABLE = f"{{{_OASIS}office:1.0}}", f"{{{_OASIS}table:1.0}}"
_DC, _HREF = "{http://purl.org/dc/elements/1.1/}", "{http://www.w3.org/1999/xlink}href"
_ROLES: dict[str, Role] = {
    **{f"{_TEXT}{tag}": "block" for tag in ("p", "section", "table-of-content")},
    **{f"{_TEXT}{tag}": "item" for tag in ("list-item", "list-header")},
    **{f"{_TABLE}{tag}": "cell" for tag in ("table-cell", "covered-table-cell")},
    **{f"{_TEXT}{tag}": "hidden" for tag in ("tracked-changes", "note")},
    f"{_TEXT}h": "heading",
    f"{_TEXT}list": "list",
    f"{_TEXT}a": "link",
    f"{_TEXT}line-break": "break",
    f"{_TABLE}table-row": "row",
    f"{_OFFICE}annotation": "hidden",
    f"{_OFFICE}forms": "hidden",
}
#: The level of paragraphs that are headings by their style.
_STYLES = {"Title": "1"}


def extract(file: RawFile) -> Extracted:
    archive = open_zip(file.data)
    try:
        manifest = read_member(archive, "META-INF/manifest.xml")
        if b"encryption-data" in manifest:
            raise Unreadable(ENCRYPTED)
        content = _tree(archive, "content.xml")
        meta = _tree(archive, "meta.xml") if "meta.xml" in archive.namelist() else None
    except KeyError as error:
        raise Unreadable(DAMAGED, "not an OpenDocument file") from error
    body = content.find(f"{_OFFICE}body/{_OFFICE}text")
    if body is None:
        raise Unreadable(DAMAGED, "not a text document")
    reader = _Reader(content)
    writer = Writer("page")
    write(body, writer, reader.look)
    for note in reader.notes:
        writer.add(note)
    if reader.comments:
        writer.add_heading("Comments", 2)
        writer.add("\n\n".join(reader.comments))
    structure = writer.structure
    first = next((each for each in structure.headings if each.level == 1), None)
    stated, fields = _properties(meta)
    title = stated or (one_line(writer.text[first.low : first.high]) if first else "")
    return Extracted(writer.text, title, fields, tuple(writer.links), structure=structure)


def _tree(archive: ZipFile, path: str) -> Any:
    """Return the tree of a member. Raises `KeyError` if it does not exist."""
    from lxml.etree import XMLParser, fromstring

    return fromstring(
        read_member(archive, path), XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    )


class _Reader:
    """Says what the elements of a text are, and keeps its notes and comments."""

    def __init__(self, content: Any) -> None:
        self.notes: list[str] = []
        self.comments: list[str] = []
        styles = (style for style in content.iter(f"{_STYLE}style"))
        self._parents = {
            style.get(f"{_STYLE}name"): style.get(f"{_STYLE}parent-style-name") for style in styles
        }

    def look(self, node: Any) -> Element:
        tag = node.tag
        role, value, text = _ROLES.get(tag, ""), "", ""
        match tag.rpartition("}")[2]:
            case "h":
                level = node.get(f"{_TEXT}outline-level", "")
                value = level if level.isdecimal() and 0 < len(level) < 3 else "1"
            case "p":
                style = node.get(f"{_TEXT}style-name")
                value = _STYLES.get(style) or _STYLES.get(self._parents.get(style, ""), "")
                role = "heading" if value else role
            case "a":
                value = node.get(_HREF, "")
            case "tab" | "s":
                text = " "
            case "note":
                number = " ".join(node.findtext(f"{_TEXT}note-citation", "").split())
                text = f"[{number}]"
                self.notes.append(f"{text} {_words(node.find(f'{_TEXT}note-body'))}")
            case "annotation":
                author = one_line(node.findtext(f"{_DC}creator", ""))
                if words := _words(node, "\n\n"):
                    self.comments.append(f"{author}: {words}" if author else words)
        return Element(role, value, text)


def _words(node: Any, between: str = " ") -> str:
    """Return the text of the paragraphs in an element."""
    paragraphs = node.iter(f"{_TEXT}p") if node is not None else ()
    texts = (" ".join("".join(each.itertext()).split()) for each in paragraphs)
    return between.join(filter(None, texts))


def _properties(meta: Any) -> tuple[str, Fields]:
    """Return the title and the fields of the properties of a document."""

    def stated(*tags: str) -> str:
        values = (each.text or "" for tag in tags for each in (meta.iter(tag) if meta is not None else ()))
        return next(filter(None, values), "")

    keywords = [each.text or "" for each in meta.iter(f"{_META}keyword")] if meta is not None else []
    author = stated(f"{_META}initial-creator", f"{_DC}creator")
    return one_line(stated(f"{_DC}title")), properties(author, stated(f"{_DC}date"), ", ".join(keywords))
