"""Tables in text (CSV, TSV): a line for each row, with the names of its columns."""

from __future__ import annotations

import csv
import io
from itertools import zip_longest

from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer
from qmd.types import Extracted

name = "table"
version = 1
media_type = "text/plain"

#: The characters by which the sign between cells is guessed, and the most cells of a row.
_SAMPLE, _MAX_CELLS = 20_000, 1_000
_SIGNS = ",;\t|"


def extract(file: RawFile) -> Extracted:
    text = file.text()
    sample = text[:_SAMPLE]
    sign = "\t" if file.path.lower().endswith((".tsv", ".tab")) else ""
    first = sample.partition("\n")[0]
    sign = sign or max(_SIGNS, key=lambda each: (first.count(each), -_SIGNS.index(each)))
    csv.field_size_limit(10_000_000)
    writer = Writer("row")
    names: list[str] = []
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=sign), 1):
            cells = [" ".join(cell.split()) for cell in row[:_MAX_CELLS]]
            if not any(cells):
                continue
            if not names:
                names = cells
            writer.anchor(number, tight=True)
            writer.add(_line(names, cells) if number > 1 else " | ".join(cells), tight=True)
    except csv.Error as error:
        raise Unreadable(DAMAGED, str(error)) from error
    fields = {"column": tuple(filter(None, names))}
    return Extracted(writer.text, "", fields, anchors=writer.anchors, structure=writer.structure)


def _line(names: list[str], cells: list[str]) -> str:
    named = zip_longest(names, cells, fillvalue="")
    return " | ".join(f"{column}: {cell}" if column else cell for column, cell in named if cell)
