"""Presentations (PPTX) by python-pptx: the texts, tables and notes of the slides in order."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from qmd.features.formats import office
from qmd.features.formats.archive import open_zip
from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer, core_properties
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "pptx"
version = 5
media_type = "text/plain"

#: How deeply groups in groups are read.
_DEPTH = 20


def extract(file: RawFile) -> Extracted:
    from pptx import Presentation

    if not any(path.startswith("ppt/") for path in open_zip(file.data).namelist()):
        raise Unreadable(DAMAGED, "not a presentation")
    presentation = Presentation(io.BytesIO(file.data))
    writer = Writer("slide")
    first = ""
    pictures = 0
    for number, slide in enumerate(presentation.slides, 1):
        title = slide.shapes.title
        heading = one_line(title.text_frame.text) if title is not None else ""
        first = first or heading
        writer.anchor(number)
        writer.add_heading(heading or f"Slide {number}", 2)
        for shape in _shapes(slide.shapes, _DEPTH):
            pictures += shape.shape_type == 13
            if title is None or shape.shape_id != title.shape_id:
                _write(shape, writer)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = _paragraphs(slide.notes_slide.notes_text_frame)
            writer.add(f"Notes: {notes}" if notes.strip() else "")
    stated, fields = core_properties(presentation.core_properties)
    omitted = (f"{pictures} pictures",) if pictures else ()
    fields["slides"] = (float(len(presentation.slides)),)
    return Extracted(
        writer.text,
        stated or first,
        fields,
        anchors=writer.anchors,
        omitted=omitted,
        structure=writer.structure,
    )


def _shapes(shapes: Iterable[Any], depth: int) -> Iterator[Any]:
    """Yield shapes, and those inside of groups."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth:
                yield from _shapes(shape.shapes, depth - 1)
        else:
            yield shape


def _write(shape: Any, writer: Writer) -> None:
    if getattr(shape, "has_table", False):
        writer.add_rows([cell.text for cell in row.cells] for row in shape.table.rows)
    elif getattr(shape, "has_chart", False):
        writer.add(office.chart_names(shape.chart.part.blob))
    elif shape.has_text_frame:
        writer.add(_paragraphs(shape.text_frame))


def _paragraphs(frame: Any) -> str:
    lines = (
        f"{'  ' * paragraph.level}- {paragraph.text}" if paragraph.level else paragraph.text
        for paragraph in frame.paragraphs
        if paragraph.text.strip()
    )
    return "\n".join(line.replace("\v", "\n") for line in lines)
