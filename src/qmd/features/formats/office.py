"""Parts of files of Microsoft Office that stand beside their text: names in charts, comments in sheets."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any
from zipfile import ZipFile

from qmd.features.formats.archive import read_member
from qmd.text.outline import one_line

#: The largest of these parts, in bytes.
_MAX_PART = 20_000_000
#: Elements of charts with names: titles, and those of rows and series as they were last seen.
_NAMES = frozenset(("t", "v"))


def tree(data: bytes) -> Any:
    """Return the tree of a part."""
    from lxml.etree import XMLParser, fromstring

    root = fromstring(data, XMLParser(resolve_entities=False, no_network=True, recover=True))
    return fromstring(b"<part/>") if root is None else root


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def chart_names(data: bytes) -> str:
    """Return the titles and the names of the series and categories of a chart, a line each."""
    found: dict[str, None] = {}
    for element in tree(data).iter("*"):
        if _name(element) in _NAMES and not any(
            _name(each) == "numCache" for each in element.iterancestors()
        ):
            found.setdefault(one_line(element.text or ""))
    return "\n".join(filter(None, found))


def charts(archive: ZipFile, folder: str) -> Iterator[str]:
    """Yield the names in the charts of a folder of an archive."""
    for path in sorted(archive.namelist()):
        if path.startswith(f"{folder}/charts/chart") and path.endswith(".xml"):
            yield chart_names(read_member(archive, path, _MAX_PART))


def sheet_comments(archive: ZipFile) -> dict[str, list[str]]:
    """Return the comments of each sheet by its name: `A1: text`."""
    found: dict[str, list[str]] = {}
    try:
        book = tree(read_member(archive, "xl/workbook.xml", _MAX_PART))
    except KeyError:
        return found  # another kind of spreadsheet
    sheets = _related(archive, "xl/workbook.xml")
    for sheet in (each for each in book.iter("*") if _name(each) == "sheet"):
        identity = next((value for key, value in sheet.items() if key.endswith("}id")), "")
        for kind, path in _related(archive, sheets.get(identity, ("", ""))[1]).values():
            if kind in ("comments", "threadedComment") and path in archive.namelist():
                found.setdefault(sheet.get("name") or "", []).extend(_comments(archive, path))
    return found


def _related(archive: ZipFile, path: str) -> dict[str, tuple[str, str]]:
    """Return the kind and the path of the parts that a part refers to, by id."""
    folder, name = posixpath.split(path)
    try:
        root = tree(read_member(archive, f"{folder}/_rels/{name}.rels", _MAX_PART))
    except KeyError:
        return {}
    found = {}
    for each in root:
        target = posixpath.normpath(posixpath.join("/", folder, each.get("Target") or "")).lstrip("/")
        found[each.get("Id") or ""] = (each.get("Type") or "").rpartition("/")[2], target
    return found


def _comments(archive: ZipFile, path: str) -> Iterator[str]:
    for element in tree(read_member(archive, path, _MAX_PART)).iter("*"):
        if _name(element) in ("comment", "threadedComment"):
            text = one_line("".join(element.itertext()))
            if text and not text.startswith("[Threaded comment]"):
                yield f"{element.get('ref') or ''}: {text}"
