"""JSON: an array of objects; scores have two decimals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.cli.render.view import View, skipped_because

if TYPE_CHECKING:
    from qmd.cli.render.rows import Listing
    from qmd.engine.documents.library import Page, Skipped
    from qmd.types import Hit


def hits(found: Sequence[Hit], view: View) -> str:
    return dumps([_hit(hit, view) for hit in found])


def pages(items: Sequence[Page | Skipped], view: View) -> str:
    return dumps([_item(item, view) for item in items])


def page(item: Page, view: View) -> str:
    """Return one document as an object."""
    return dumps(_item(item, view))


def listing(found: Listing, view: View) -> str:
    return dumps([{column.name: row[column.name] for column in found.columns} for row in found.rows])


def dumps(value: Any) -> str:
    """Return indented JSON without ASCII escapes, with a line feed at the end."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _hit(hit: Hit, view: View) -> dict[str, Any]:
    return _without_none(
        {
            "docid": view.docid(hit),
            "score": round(hit.score, 2),
            "file": view.address(hit),
            "line": hit.line,
            "title": hit.title,
            "context": hit.context,
            "body" if view.full else "snippet": view.text(hit),
            "explain": _rounded(hit.explain) if view.explain else None,
        }
    )


def _item(item: Page | Skipped, view: View) -> dict[str, Any]:
    from qmd.engine.documents.library import Skipped

    document = item.document
    names = {"file": view.address(document), "docid": view.docid(document), "title": document.title}
    if isinstance(item, Skipped):
        return _without_none(names | {"skipped": True, "reason": skipped_because(item)})
    lines = {"line": item.first_line, "total_lines": item.total_lines}
    return _without_none(names | {"context": item.context} | lines | {"body": view.page(item)})


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _rounded(value: Any) -> Any:
    """Round numbers to six decimals, at any depth."""
    match value:
        case float():
            return round(value, 6)
        case Mapping():
            return {key: _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
    return value
