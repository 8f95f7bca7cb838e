"""Jupyter notebooks: the cells in order, with outputs that are text. Nothing is run."""

from __future__ import annotations

import json
from typing import Any

from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer, fenced
from qmd.text import extraction
from qmd.text.outline import first_heading
from qmd.types import Extracted

name = "notebook"
version = 5
media_type = "text/markdown"

#: The longest output of a cell, in characters.
_MAX_OUTPUT = 4_000


def extract(file: RawFile) -> Extracted:
    try:
        notebook = json.loads(file.text())
    except (ValueError, RecursionError) as error:
        raise Unreadable(DAMAGED, "not JSON") from error
    cells = _cells(notebook)
    if cells is None:
        raise Unreadable(DAMAGED, "not a notebook")
    writer = Writer("cell")
    language = _language(notebook)
    cut = 0
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        kind, source = cell.get("cell_type"), _joined(cell.get("source", cell.get("input")))
        writer.anchor(number)
        if kind != "code":
            if kind == "heading":  # of format 3
                level = cell.get("level")
                source = f"{'#' * (level if isinstance(level, int) and 0 < level < 7 else 1)} {source}"
            writer.add_markdown(source if kind in ("markdown", "heading") else fenced(source))
            continue
        writer.add_markdown(fenced(source, language))
        for output in _texts(cell.get("outputs")):
            cut += len(output) > _MAX_OUTPUT
            writer.add_markdown(fenced(output[:_MAX_OUTPUT].rstrip(), "output"))
    omitted = (f"the end of {cut} outputs",) if cut else ()
    found = extraction.extract(writer.text, file.path)
    fields = {**found.fields, **({"language": (language,)} if language else {})}
    text = writer.text
    structure = writer.structure
    title = first_heading(text, structure)
    return Extracted(text, title, fields, tuple(writer.links), writer.anchors, omitted, structure)


def _cells(notebook: Any) -> list[Any] | None:
    """Return the cells of a notebook of any version; None if it is not a notebook."""
    if not isinstance(notebook, dict):
        return None
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        sheets = notebook.get("worksheets")
        if not isinstance(sheets, list):
            return None
        cells = [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or []]
    return cells


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for key, inner in (("kernelspec", "language"), ("language_info", "name")):
        entry = metadata.get(key) if isinstance(metadata, dict) else None
        found = entry.get(inner) if isinstance(entry, dict) else None
        if isinstance(found, str) and found.isidentifier():
            return found
    return ""


def _texts(outputs: Any) -> list[str]:
    """Return the outputs that are text."""
    found = []
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        text = output.get("text") or (data.get("text/plain") if isinstance(data, dict) else None)
        if output.get("output_type") in ("error", "pyerr"):
            text = f"{output.get('ename', '')}: {output.get('evalue', '')}"
        if joined := _joined(text).strip("\n"):
            found.append(joined)
    return found


def _joined(text: Any) -> str:
    """Return a text that may be stored as a list of lines."""
    if isinstance(text, list):
        return "".join(part for part in text if isinstance(part, str))
    return text if isinstance(text, str) else ""
