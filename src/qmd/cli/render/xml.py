"""XML 1.0: one root element, with characters that XML does not allow removed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.cli.render.rows import program_text
from qmd.cli.render.view import View, skipped_because

if TYPE_CHECKING:
    from qmd.cli.render.rows import Listing
    from qmd.engine.documents.library import Page, Skipped
    from qmd.types import Hit

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
# A parser replaces line feeds and tabs in attributes by spaces, unless they are escaped.
_IN_ATTRIBUTE = _IN_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def hits(found: Sequence[Hit], view: View) -> str:
    return _document(
        "results",
        [
            _element(
                {
                    "docid": view.docid(hit),
                    "name": view.address(hit),
                    "title": hit.title,
                    "context": hit.context,
                    "score": f"{hit.score:.2f}",
                    "line": str(hit.line),
                },
                view.text(hit),
            )
            for hit in found
        ],
    )


def pages(items: Sequence[Page | Skipped], view: View) -> str:
    return _document("documents", [_item(item, view) for item in items])


def listing(found: Listing, view: View) -> str:
    """Return one element per row that contains one per column, without columns whose value is None."""
    rows = ["".join(_value(column.name, row[column.name]) for column in found.columns) for row in found.rows]
    return _document(found.root, [f"<{found.row}>{row}</{found.row}>\n" for row in rows])


def _value(name: str, value: Any, key: str | None = None) -> str:
    """Return an element, or one for each item of a list or mapping, with the key as `name`."""
    match value:
        case None:
            return ""
        case Mapping():
            return "".join(_value(name, each, str(part)) for part, each in value.items())
        case list() | tuple():
            return "".join(_value(name, each) for each in value)
    given = f' name="{_allowed(key).translate(_IN_ATTRIBUTE)}"' if key is not None else ""
    return f"<{name}{given}>{_allowed(program_text(value)).translate(_IN_TEXT)}</{name}>"


def _item(item: Page | Skipped, view: View) -> str:
    from qmd.engine.documents.library import Skipped

    document = item.document
    names = {"docid": view.docid(document), "name": view.address(document), "title": document.title}
    if isinstance(item, Skipped):
        return _element(names | {"skipped": "true"}, skipped_because(item))
    return _element(names | {"context": item.context}, view.page(item))


def _document(root: str, elements: Sequence[str]) -> str:
    inside = "".join(elements)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>\n{inside}</{root}>\n'


def _element(attributes: dict[str, str | None], text: str) -> str:
    given = "".join(
        f' {name}="{_allowed(value).translate(_IN_ATTRIBUTE)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<file{given}>\n{_allowed(text).translate(_IN_TEXT)}\n</file>\n"


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("", text)
