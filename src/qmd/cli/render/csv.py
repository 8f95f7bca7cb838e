"""CSV, quoted as in RFC 4180 with line feeds as row ends; and `files`, names with the same quoting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qmd.cli.render.rows import program_text
from qmd.cli.render.view import View, skipped_because
from qmd.cli.terminal import one_line

if TYPE_CHECKING:
    from qmd.cli.render.rows import Listing
    from qmd.engine.documents.library import Page, Skipped
    from qmd.types import Document, Hit

_SPECIAL = frozenset(',"\n\r')
#: A spreadsheet reads a text that starts with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def hits(found: Sequence[Hit], view: View) -> str:
    rows = ["docid,score,file,title,context,line,snippet\n"]
    for hit in found:
        score, context = f"{hit.score:.4f}", hit.context or ""
        place = [view.docid(hit) or "", score, view.address(hit)]
        rows.append(_row([*place, hit.title, context, str(hit.line), view.text(hit)]))
    return "".join(rows)


def pages(items: Sequence[Page | Skipped], view: View) -> str:
    from qmd.engine.documents.library import Skipped

    rows = ["docid,file,title,context,skipped,body\n"]
    for item in items:
        document = item.document
        names = [view.docid(document) or "", view.address(document), document.title]
        if isinstance(item, Skipped):
            rows.append(_row([*names, "", "true", skipped_because(item)]))
        else:
            rows.append(_row([*names, item.context or "", "false", view.page(item)]))
    return "".join(rows)


def file_hits(found: Sequence[Hit], view: View) -> str:
    return "".join(
        f"{_docid(hit, view)}{hit.score:.2f},{cell(view.address(hit))}{_context(hit.context)}\n"
        for hit in found
    )


def file_pages(items: Sequence[Page | Skipped], view: View) -> str:
    from qmd.engine.documents.library import Skipped

    rows = []
    for item in items:
        skipped = isinstance(item, Skipped)
        context = "" if isinstance(item, Skipped) else _context(item.context)
        name = _docid(item.document, view) + cell(view.address(item.document))
        rows.append(f"{name}{context}{',[SKIPPED]' if skipped else ''}\n")
    return "".join(rows)


def listing(found: Listing, view: View) -> str:
    names = [column.name for column in found.columns]
    return _row(names) + "".join(_row([row[name] for name in names]) for row in found.rows)


def file_listing(found: Listing, view: View) -> str:
    return "".join(
        ",".join(cell(one_line(program_text(row[name]), terminal=False)) for name in found.key_columns) + "\n"
        for row in found.rows
    )


def cell(text: str) -> str:
    """Return a field, quoted if necessary."""
    if _SPECIAL.isdisjoint(text) and text == text.strip():
        return text
    return _quoted(text)


def _docid(item: Hit | Document, view: View) -> str:
    docid = view.docid(item)
    return f"{docid}," if docid is not None else ""


def _context(context: str | None) -> str:
    # Always quoted, and without line breaks, because each line is one document.
    return f",{_quoted(one_line(context, terminal=False))}" if context else ""


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _row(values: Sequence[Any]) -> str:
    return ",".join(cell(_guarded(value)) for value in values) + "\n"


def _guarded(value: Any) -> str:
    """Return a value as text that a spreadsheet does not read as a formula; numbers stay numbers."""
    text = program_text(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text
