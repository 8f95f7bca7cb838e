"""Canvases of Obsidian (`.canvas`) and drawings of Excalidraw: the texts of their elements, as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer
from qmd.text.markdown.reading import read
from qmd.types import Extracted

name = "drawing"
version = 2
media_type = "text/markdown"

#: The texts of a node or an element that are plain, by the program; texts of canvases are Markdown.
_PLAIN = ("label", "name", "originalText", "text")
#: Files that a canvas shows; it names others.
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg", ".bmp")
#: The level of the headings of groups.
_GROUP = 2


def extract(file: RawFile) -> Extracted:
    try:
        drawing = json.loads(file.text() or "{}", parse_int=float)  # a new canvas is empty
    except (ValueError, RecursionError) as error:
        raise Unreadable(DAMAGED, "not JSON") from error
    if not isinstance(drawing, dict):
        raise Unreadable(DAMAGED, "no drawing")
    writer = Writer("element")
    groups = [each for each in _listed(drawing, "nodes") if each.get("type") == "group"]
    inside: dict[int, list[Mapping[str, Any]]] = {}
    for element in (*_listed(drawing, "nodes"), *_listed(drawing, "elements")):
        if element.get("type") != "group":
            around = min((each for each in groups if _is_in(element, each)), key=_area, default=None)
            inside.setdefault(id(around), []).append(element)
    for element in inside.get(id(None), ()):
        _write(writer, element, drawing)
    for group in groups:
        writer.add_markdown(f"{'#' * _GROUP} {_line(group, 'label')}" if _line(group, "label") else "")
        for element in inside.get(id(group), ()):
            _write(writer, element, drawing, _GROUP if _line(group, "label") else 0)
    for edge in _listed(drawing, "edges"):
        writer.add(_line(edge, "label"))
    return Extracted(writer.text, "", links=tuple(writer.links), structure=writer.structure)


def _write(writer: Writer, element: Mapping[str, Any], drawing: Mapping[str, Any], below: int = 0) -> None:
    """Write what an element leads to, and its text."""
    if target := _line(element, "file"):
        shows = "!" if target.lower().endswith(_PICTURES) else ""
        writer.add_markdown(f"{shows}[[{target}{_line(element, 'subpath')}]]")
    for key in ("url", "link"):
        writer.add_markdown(_line(element, key))
    if element.get("type") == "text" and "elements" not in drawing:
        writer.add_markdown(_lowered(_text(element, "text"), below))
    else:
        writer.add(next(filter(None, (_text(element, key) for key in _PLAIN)), ""))


def _lowered(text: str, levels: int) -> str:
    """Return a text whose headings are lower by some levels."""
    for heading in reversed(read(text).structure.headings if levels else ()):
        if text.startswith("#", heading.start):
            more = "#" * min(levels, 6 - heading.level)
            text = text[: heading.start] + more + text[heading.start :]
    return text


def _listed(drawing: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the elements of a kind from top to bottom, without those that were deleted."""
    listed = drawing.get(key)
    found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return sorted((each for each in found if not each.get("isDeleted")), key=_place)


def _place(element: Mapping[str, Any]) -> tuple[float, float]:
    return _number(element, "y"), _number(element, "x")


def _area(element: Mapping[str, Any]) -> float:
    return _number(element, "width") * _number(element, "height")


def _is_in(element: Mapping[str, Any], group: Mapping[str, Any]) -> bool:
    """Tell whether the middle of an element is in a group."""
    return all(
        0 <= _number(element, at) + _number(element, size) / 2 - _number(group, at) <= _number(group, size)
        for at, size in (("x", "width"), ("y", "height"))
    )


def _number(element: Mapping[str, Any], key: str) -> float:
    value = element.get(key)
    return value if isinstance(value, float) else 0.0


def _text(element: Mapping[str, Any], key: str) -> str:
    value = element.get(key)
    return value.strip() if isinstance(value, str) else ""


def _line(element: Mapping[str, Any], key: str) -> str:
    return " ".join(_text(element, key).split())
