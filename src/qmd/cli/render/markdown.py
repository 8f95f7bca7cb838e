"""Markdown: one section per document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.cli.render.rows import program_text
from qmd.cli.render.view import View, skipped_because
from qmd.cli.terminal import one_line

if TYPE_CHECKING:
    from qmd.cli.render.rows import Listing
    from qmd.engine.documents.library import Page, Skipped
    from qmd.types import Document, Hit


def hits(found: Sequence[Hit], view: View) -> str:
    return "\n".join(
        _section(hit.title, view.address(hit), view.docid(hit), hit.context, view.text(hit)) for hit in found
    )


def pages(items: Sequence[Page | Skipped], view: View) -> str:
    return "\n".join(_item(item, view) for item in items)


def listing(found: Listing, view: View) -> str:
    """Return a table."""
    if not found.rows:
        return ""
    lines = [
        [column.name for column in found.columns],
        ["---:" if column.right else "---" for column in found.columns],
        *([_cell(program_text(row[column.name])) for column in found.columns] for row in found.rows),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cell(text: str) -> str:
    return one_line(text, terminal=False).replace("\\", "\\\\").replace("|", "\\|")


def _item(item: Page | Skipped, view: View) -> str:
    from qmd.engine.documents.library import Skipped

    document: Document = item.document
    if isinstance(item, Skipped):
        context, text = None, f"*{skipped_because(item)}*"
    else:
        context, text = item.context, view.page(item)
    return _section(document.title, view.address(document), view.docid(document), context, text)


def _section(title: str, file: str, docid: str | None, context: str | None, text: str) -> str:
    lines = ["---", f"# {one_line(title, terminal=False)}", f"**file:** {one_line(file, terminal=False)}"]
    if docid is not None:
        lines.append(f"**docid:** {docid}")
    if context:
        lines.append(f"**context:** {one_line(context, terminal=False)}")
    return "\n".join([*lines, "", text.rstrip("\n"), ""])
