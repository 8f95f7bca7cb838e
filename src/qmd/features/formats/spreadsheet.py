"""Spreadsheets (XLSX, XLS, XLSB, ODS) by python-calamine: each sheet as a table of its values."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from typing import Any

from qmd.features.formats import office
from qmd.features.formats.archive import OLE, open_zip
from qmd.sources.formats.base import DAMAGED, ENCRYPTED, TOO_LARGE, RawFile, Unreadable
from qmd.sources.formats.writing import Writer
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "xlsx"
version = 4
media_type = "text/plain"

_MAX_SHEETS, _MAX_CELLS, _MAX_COLUMNS = 1_000, 5_000_000, 1_000


def extract(file: RawFile) -> Extracted:
    import python_calamine

    archive = None
    if not file.data.startswith(OLE):
        archive = open_zip(file.data)
    elif "EncryptedPackage".encode("utf-16-le") in file.data:
        raise Unreadable(ENCRYPTED)
    try:
        book = python_calamine.load_workbook(io.BytesIO(file.data))
    except python_calamine.PasswordError as error:
        raise Unreadable(ENCRYPTED) from error
    except python_calamine.CalamineError as error:
        raise Unreadable(DAMAGED, str(error)) from error
    if len(book.sheet_names) > _MAX_SHEETS:
        raise Unreadable(TOO_LARGE, f"{len(book.sheet_names):,} sheets")
    writer = Writer("sheet")
    omitted = []
    comments = office.sheet_comments(archive) if archive else {}
    cells = 0
    for number, sheet_name in enumerate(book.sheet_names, 1):
        writer.anchor(number)
        writer.add_heading(one_line(sheet_name) or f"Sheet {number}", 2)
        try:
            sheet = book.get_sheet_by_name(sheet_name)
        except python_calamine.CalamineError as error:  # a chart, for example
            omitted.append(f"sheet {number}: {error}")
            continue
        cells += sheet.total_width * sheet.total_height  # a single cell may be far below empty ones
        if cells > _MAX_CELLS:
            raise Unreadable(TOO_LARGE, f"{cells:,} cells")
        if sheet.width > _MAX_COLUMNS:
            omitted.append(f"sheet {number}: columns after the first {_MAX_COLUMNS:,}")
        rows = [[_cell(value) for value in row[:_MAX_COLUMNS]] for row in sheet.iter_rows()]
        writer.add_rows(_trimmed(rows))
        writer.add("\n".join(comments.get(sheet_name, ())))
    for names in office.charts(archive, "xl") if archive else ():
        writer.add(names)
    fields = {"sheet": tuple(map(one_line, book.sheet_names))}
    return Extracted(
        writer.text,
        "",
        fields,
        anchors=writer.anchors,
        omitted=tuple(omitted),
        structure=writer.structure,
    )


def _trimmed(rows: list[list[str]]) -> list[list[str]]:
    """Return rows without the columns that are empty in all of them."""
    used = sorted({at for row in rows for at, cell in enumerate(row) if cell})
    return [[row[at] if at < len(row) else "" for at in used] for row in rows]


def _cell(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime() if (value.hour, value.minute, value.second) == (0, 0, 0):
            return value.date().isoformat()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
    return str(value).strip()
