"""JSON: an array of objects, two decimals for scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.cli.render.view import View, skipped_because

if TYPE_CHECKING:
    from qmd.engine.documents import Page, Skipped
    from qmd.types import Hit


def hits(found: Sequence[Hit], view: View) -> str:
    return dumps([_hit(hit, view) for hit in found])


def pages(items: Sequence[Page | Skipped], view: View) -> str:
    return dumps([_item(item, view) for item in items])


def page(item: Page, view: View) -> str:
    """One document, as an object."""
    return dumps(_item(item, view))


def dumps(value: Any) -> str:
    """Indented JSON, every script as itself, ended by a line feed."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _hit(hit: Hit, view: View) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "docid": hit.docid,
        "score": round(hit.score, 2),
        "file": view.address(hit),
        "line": hit.line,
        "title": hit.title,
    }
    if hit.context is not None:
        shown["context"] = hit.context
    shown["body" if view.full else "snippet"] = view.text(hit)
    if view.explain and hit.explain is not None:
        shown["explain"] = _rounded(hit.explain)
    return shown


def _item(item: Page | Skipped, view: View) -> dict[str, Any]:
    from qmd.engine.documents import Skipped

    document = item.document
    shown: dict[str, Any] = {"file": view.address(document), "docid": document.docid, "title": document.title}
    if isinstance(item, Skipped):
        return shown | {"skipped": True, "reason": skipped_because(item)}
    if item.context is not None:
        shown["context"] = item.context
    return shown | {"line": item.first_line, "total_lines": item.total_lines, "body": view.page(item)}


def _rounded(value: Any) -> Any:
    """Numbers at six decimals, at any depth."""
    match value:
        case float():
            return round(value, 6)
        case Mapping():
            return {key: _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
    return value
