"""Forged index files."""

from __future__ import annotations

import struct
from pathlib import Path

import apsw

from qmd.store.sqlite.schema import APPLICATION_ID, VERSION

_PAGE = 4096


def endless_tables(path: Path) -> None:
    """Make an index file whose list of tables never ends.

    The list is a B-tree. Each page of it refers to the next page a hundred times, and the last to one row.
    SQLite accepts the row any number of times, because it equals that of an index which SQLite made itself.
    """
    with apsw.Connection(str(path)) as db:
        db.execute(f"PRAGMA page_size={_PAGE}; PRAGMA application_id={APPLICATION_ID}")
        db.execute(f"PRAGMA user_version={VERSION}; CREATE TABLE t (a TEXT PRIMARY KEY)")
        table, index = db.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").fetchall()
    db.close()
    data = bytearray(path.read_bytes())
    first = len(data) // _PAGE + 1  # page 1 refers to the row of the table, and to the other pages
    data[100:_PAGE] = _page(100, b"\x05", [struct.pack(">IB", first, 1)], first + 2)[100:]
    data += _page(0, b"\r", [_row(1, table)]) + _page(0, b"\r", [_row(2, index)])
    for following in (*range(first + 3, first + 10), first + 1):
        data += _page(0, b"\x05", [struct.pack(">IB", following, 1)] * 100, following)
    struct.pack_into(">I", data, 28, len(data) // _PAGE)
    path.write_bytes(data)


def _page(start: int, kind: bytes, cells: list[bytes], last: int | None = None) -> bytes:
    """Return a page of a B-tree. `last` is the last page that it refers to."""
    content = b"".join(cells)
    places = [_PAGE - len(content) + at * len(cells[0]) for at in range(len(cells))]
    head = kind + struct.pack(">HHHB", 0, len(cells), places[0], 0)
    head += b"" if last is None else struct.pack(">I", last)
    head += b"".join(struct.pack(">H", place) for place in places)
    return b"\0" * start + head.ljust(_PAGE - len(content) - start, b"\0") + content


def _row(number: int, values: tuple[str | int | None, ...]) -> bytes:
    """Return a row of a table in SQLite's record format."""
    kinds, body = b"", b""
    for value in values:
        if isinstance(value, str):
            kinds += bytes([13 + 2 * len(value)])
            body += value.encode()
        else:
            kinds += b"\x00" if value is None else b"\x01"
            body += b"" if value is None else bytes([value])
    record = bytes([len(kinds) + 1]) + kinds + body
    return bytes([len(record), number]) + record
