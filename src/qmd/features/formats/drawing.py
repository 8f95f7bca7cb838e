"""Canvases of Obsidian (`.canvas`) and drawings of Excalidraw: the texts of their elements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer
from qmd.types import Extracted, Link, LinkKind

name = "drawing"
version = 1
media_type = "text/plain"

#: The texts of a node or an element that are plain, by the program; texts of canvases are Markdown.
_PLAIN = ("label", "name", "originalText", "text")


def extract(file: RawFile) -> Extracted:
    try:
        drawing = json.loads(file.text() or "{}")  # a new canvas is empty
    except (ValueError, RecursionError) as error:
        raise Unreadable(DAMAGED, "not JSON") from error
    if not isinstance(drawing, dict):
        raise Unreadable(DAMAGED, "no drawing")
    writer = Writer("element")
    for element in _elements(drawing):
        kind = element.get("type")
        for key in ("file", "url", "link"):
            if target := _text(element, key):
                writer.add(target)
                url: LinkKind = "url" if "://" in target else "wikilink"
                writer.links.append(Link(target.strip("[]"), "", writer.line, url))
        if kind == "text" and "elements" not in drawing:
            writer.add_markdown(_text(element, "text"))
        else:
            writer.add(next(filter(None, (_text(element, key) for key in _PLAIN)), ""))
    return Extracted(writer.text, "", links=tuple(writer.links), structure=writer.structure)


def _elements(drawing: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the nodes and edges of a canvas, or the elements of a drawing, as one reads them."""
    for key in ("nodes", "elements", "edges"):
        listed = drawing.get(key)
        found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        yield from sorted((each for each in found if not each.get("isDeleted")), key=_place)


def _place(element: Mapping[str, Any]) -> tuple[float, float]:
    x, y = (element.get(key) for key in "xy")
    return (float(y) if isinstance(y, int | float) else 0, float(x) if isinstance(x, int | float) else 0)


def _text(element: Mapping[str, Any], key: str) -> str:
    value = element.get(key)
    return value.strip() if isinstance(value, str) else ""
