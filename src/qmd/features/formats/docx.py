"""Word documents (DOCX) by python-docx: headings, lists, tables, notes, headers. Images are left out."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from qmd.features.formats import office
from qmd.features.formats.archive import open_zip
from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer, core_properties
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "docx"
version = 5
media_type = "text/plain"

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_TEXTS = frozenset((f"{_W}t", f"{_M}t"))
#: What formulas have between their parts.
_SIGNS = {f"{_M}den": "/", f"{_M}sup": "^", f"{_M}sub": "_"}
_TAB, _BREAK, _RETURN = f"{_W}tab", f"{_W}br", f"{_W}cr"
_PARAGRAPH, _TABLE, _BOX = f"{_W}p", f"{_W}tbl", f"{_W}txbxContent"
#: Older forms of what is beside them, where text was moved from, and properties.
_LEFT_OUT = frozenset((_FALLBACK, f"{_W}moveFrom", f"{_W}pPr"))
#: What may be around rows and cells: controls, their contents, and marks.
_CONTROLS = frozenset(f"{_W}{tag}" for tag in ("sdt", "sdtContent", "customXml", "ins"))
_HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|标题|見出し)\s*([1-9])", re.I)
#: Parts beside the text that contain text, by the end of their relation's type, and their headings.
_BESIDE = {
    "header": "Headers",
    "footer": "Footers",
    "footnotes": "Footnotes",
    "endnotes": "Endnotes",
    "comments": "Comments",
}
#: How deeply tables in tables are read.
_DEPTH = 5


def extract(file: RawFile) -> Extracted:
    from docx import Document

    archive = open_zip(file.data)
    if not any(path.startswith("word/") for path in archive.namelist()):
        raise Unreadable(DAMAGED, "not a Word document")
    document = Document(io.BytesIO(file.data))
    writer = Writer("page")
    levels = _levels(document)
    title = ""
    for block in _blocks(document.element.body):
        if block.tag == _TABLE:
            writer.add_rows(_rows(block, _DEPTH))
            continue
        text = _text(block)
        level = levels(block)
        if level and text.strip():
            title = title or (one_line(text) if level == 1 else "")
            writer.add_heading(one_line(text), level)
        elif block.find(f"{_W}pPr/{_W}numPr") is not None and text.strip():
            writer.add(f"- {text.strip()}")
        else:
            writer.add(text)
    for heading, texts in _beside(document.part).items():
        writer.add_heading(heading, 2)
        writer.add("\n\n".join(texts))
    for names in office.charts(archive, "word"):
        writer.add(names)
    stated, fields = core_properties(document.core_properties)
    images = len(document.inline_shapes)
    omitted = (f"{images} images",) if images else ()
    return Extracted(writer.text, stated or title, fields, omitted=omitted, structure=writer.structure)


def _blocks(body: Any) -> Iterator[Any]:
    """Yield the paragraphs and tables of a document in order, also those inside of controls."""
    pending = list(reversed(body))
    while pending:
        element = pending.pop()
        if element.tag in (_PARAGRAPH, _TABLE):
            yield element
        elif isinstance(element.tag, str) and element.tag != f"{_W}sectPr":
            pending += reversed(element)


def _levels(document: Any) -> Any:
    """Return a function that returns the level of a paragraph that is a heading; 0 for others."""
    by_style: dict[str, int] = {}
    for style in document.styles.element.iter(f"{_W}style"):
        identity, label = style.get(f"{_W}styleId") or "", style.find(f"{_W}name")
        shown = label.get(f"{_W}val") or "" if label is not None else ""
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        match = _HEADING.match(shown) or _HEADING.match(identity)
        if match:
            by_style[identity] = int(match[1])
        elif shown.lower() == "title":
            by_style[identity] = 1
        elif outline is not None and (outline.get(f"{_W}val") or "").isdigit():
            by_style[identity] = int(outline.get(f"{_W}val")) + 1

    def level(paragraph: Any) -> int:
        outline = paragraph.find(f"{_W}pPr/{_W}outlineLvl")
        if outline is not None and (outline.get(f"{_W}val") or "").isdigit():
            direct = int(outline.get(f"{_W}val")) + 1
            return direct if direct < 10 else 0
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        found = by_style.get(style.get(f"{_W}val") or "", 0) if style is not None else 0
        return found if found < 10 else 0

    return level


def _text(element: Any) -> str:
    """Return the text of an element, with that of text boxes after it, also of boxes in boxes."""
    texts: list[str] = []
    boxes = [element]
    for box in boxes:
        parts: list[str] = []
        pending = list(reversed(box))
        while pending:
            child = pending.pop()
            if child.tag in _TEXTS:
                parts.append(child.text or "")
            elif child.tag == _TAB:
                parts.append("\t")
            elif child.tag in (_BREAK, _RETURN):
                parts.append("\n")
            elif child.tag == _BOX:
                boxes.append(child)
            elif child.tag not in _LEFT_OUT:
                parts += ["\n\n"] if child.tag == _PARAGRAPH and parts else [_SIGNS.get(child.tag, "")]
                pending += reversed(child)
        texts.append("".join(parts).strip("\n"))
    return "\n\n".join(text for text in texts if text.strip())


def _parts(element: Any, tag: str) -> Iterator[Any]:
    """Yield the rows of a table, or the cells of a row, also those inside of controls."""
    pending = list(reversed(element))
    while pending:
        child = pending.pop()
        if child.tag == tag:
            yield child
        elif child.tag in _CONTROLS:
            pending += reversed(child)


def _rows(element: Any, depth: int) -> list[list[str]]:
    """Return the cells of a table. A table in a cell becomes text."""
    rows = []
    for row in _parts(element, f"{_W}tr"):
        cells = []
        for cell in _parts(row, f"{_W}tc"):
            texts = [
                " / ".join(" ".join(inner) for inner in _rows(block, depth - 1))
                if block.tag == _TABLE and depth > 1
                else _text(block)
                for block in _blocks(cell)
            ]
            cells.append(" ".join(text for text in texts if text.strip()))
        rows.append(cells)
    return rows


def _beside(part: Any) -> dict[str, list[str]]:
    """Return the texts of headers, footers, notes and comments by heading, each once."""
    from docx.oxml.parser import parse_xml

    found: dict[str, dict[str, None]] = {heading: {} for heading in _BESIDE.values()}
    for relation in part.rels.values():
        heading = _BESIDE.get(relation.reltype.rpartition("/")[2])
        if heading and not relation.is_external:
            target = relation.target_part
            root = target.element if hasattr(target, "element") else parse_xml(target.blob)
            whole = heading in ("Headers", "Footers")
            for text in map(_note, [root] if whole else root):
                found[heading] |= {text: None} if text else {}
    return {heading: list(texts) for heading, texts in found.items() if texts}


def _note(element: Any) -> str:
    """Return the text of a header, footer, note or comment; a comment with its author."""
    author = one_line(element.get(f"{_W}author") or "") if element.tag == f"{_W}comment" else ""
    text = _text(element).strip()
    return f"{author}: {text}" if author and text else text
