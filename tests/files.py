"""Files of source formats for tests."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

#: The checkout.
ROOT = Path(__file__).parents[1]

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Birds\n", "An introduction."]},
        {
            "cell_type": "code",
            "source": "print('heron')",
            "outputs": [
                {"output_type": "stream", "text": ["heron\n"]},
                {"output_type": "display_data", "data": {"image/png": "aGVyb24="}},
            ],
        },
        {"cell_type": "markdown", "source": "The ibis is last."},
    ],
    "metadata": {"kernelspec": {"language": "python"}},
}
MAILS = """\
From ann@example.com Mon Jan  5 10:00:00 2026
From: Ann Example <ann@example.com>
Subject: =?utf-8?q?Caf=C3=A9?= plans
Message-ID: <one@example.com>
Date: Mon, 5 Jan 2026 10:00:00 +0000

The stork arrives.
>From here on it stays.

From bob@example.com Tue Jan  6 10:00:00 2026
From: Bob <bob@example.com>
Subject: Second
Message-ID: <two@example.com>

The pelican leaves.
"""
CLAUDE = [
    {
        "sessionId": "s1",
        "cwd": "/work/app",
        "timestamp": "2026-01-05T10:00:00Z",
        "message": {"role": "user", "content": "Why does the kestrel fail?"},
    },
    {
        "sessionId": "s1",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "# Cause\n\nA missing feather."},
                {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
            ],
        },
    },
    {
        "sessionId": "s1",
        "message": {"role": "user", "content": [{"type": "tool_result", "content": "x" * 5_000}]},
    },
]
CODEX = [
    {
        "type": "session_meta",
        "timestamp": "2026-01-06T10:00:00Z",
        "payload": {"id": "c1", "cwd": "/work/other"},
    },
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Fix the gannet"}],
        },
    },
]


def pdf(
    *pages: str | dict[int, str],
    bookmarks: Sequence[tuple[str, int]] = (),
    fields: Sequence[tuple[str, str, int]] = (),
    readers: Sequence[tuple[str, int]] = (),
) -> bytes:
    """Return a PDF with the given pages.

    Args:
        pages: A line of text for each page, or lines by their distance from the bottom of its 792 points.
        bookmarks: (title, page number from 1).
        fields: (name, value, page number from 1) of form fields.
        readers: (words, page number from 1) of the notes of readers.
    """
    objects = ["", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", "", ""]
    widgets: dict[int, list[int]] = {}
    for name, value, page in fields:
        widgets.setdefault(page, []).append(len(objects) + 1)
        objects.append(
            f"<< /Type /Annot /Subtype /Widget /FT /Tx /T ({name}) /V ({value}) /Rect [72 100 300 120] >>"
        )
    form = " ".join(f"{each} 0 R" for numbers in widgets.values() for each in numbers)
    for words, page in readers:
        widgets.setdefault(page, []).append(len(objects) + 1)
        objects.append(f"<< /Type /Annot /Subtype /Text /Contents ({words}) /Rect [60 500 80 520] >>")
    kids = []
    for number, lines in enumerate(pages, 1):
        at = {700: lines} if isinstance(lines, str) else lines
        shown = (f"BT /F1 12 Tf 72 {y} Td ({text}) Tj ET" for y, text in at.items() if text)
        stream = "\n".join(shown)
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        annotations = " ".join(f"{each} 0 R" for each in widgets.get(number, ()))
        objects.append(
            f"<< /Type /Page /Parent 3 0 R /MediaBox [0 0 612 792] /Annots [{annotations}] "
            f"/Resources << /Font << /F1 2 0 R >> >> /Contents {len(objects)} 0 R >>"
        )
        kids.append(f"{len(objects)} 0 R")
    items = [len(objects) + 1 + at for at in range(len(bookmarks))]
    for at, (title, page) in enumerate(bookmarks):
        following = f"/Next {items[at + 1]} 0 R" if items[at + 1 :] else ""
        objects.append(f"<< /Title ({title}) /Parent 4 0 R {following} /Dest [{kids[page - 1]} /Fit] >>")
    objects[0] = "<< /Type /Catalog /Pages 3 0 R /Outlines 4 0 R " + (
        f"/AcroForm << /Fields [{form}] >> >>" if fields else ">>"
    )
    objects[2] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects[3] = f"<< /First {items[0]} 0 R /Last {items[-1]} 0 R >>" if items else "<< >>"
    return _of_objects(objects)


def nested_forms(depth: int) -> bytes:
    """Return a PDF with a form that draws the next form twice, and so on, `depth` times."""
    text = "BT /F1 12 Tf 72 700 Td (heron) Tj ET"
    font = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /XObject << /X 5 0 R >> >> >>",
        "<< /Length 5 >>\nstream\n/X Do\nendstream",
    ]
    for number in range(6, 6 + depth):
        last = number == 5 + depth
        stream = text if last else "/X Do /X Do"
        uses = font if last else f"/XObject << /X {number} 0 R >>"
        head = f"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << {uses} >>"
        objects.append(f"<< {head} /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    return _of_objects(objects)


def _of_objects(objects: list[str]) -> bytes:
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


def xlsx(cells: str) -> bytes:
    """Return a workbook of one sheet with these cells in its first row."""
    office, package = "http://schemas.openxmlformats.org/", "http://schemas.openxmlformats.org/package/2006/"
    links, main = f"{office}officeDocument/2006/relationships", f"{office}spreadsheetml/2006/main"
    relation = f'<Relationship Id="r1" Type="{links}/{{}}" Target="{{}}"/>'
    relations = f'<Relationships xmlns="{package}relationships">{relation}</Relationships>'
    members = {
        "_rels/.rels": relations.format("officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": relations.format("worksheet", "worksheets/a.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets>'
        '<sheet name="A" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/worksheets/a.xml": f'<worksheet xmlns="{main}"><sheetData><row r="1">{cells}</row></sheetData>'
        "</worksheet>",
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, f'<?xml version="1.0"?>{text}')
    return data.getvalue()


def epub(chapters: dict[str, str]) -> bytes:
    """Return an EPUB with chapters by name."""
    data = io.BytesIO()
    items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    with zipfile.ZipFile(data, "w") as archive:
        rootfile = '<container><rootfile full-path="o/p.opf"/></container>'
        archive.writestr("META-INF/container.xml", rootfile)
        package = f"<package><dc:title>The book</dc:title>{items}<spine>{spine}</spine></package>"
        archive.writestr("o/p.opf", package)
        for name, body in chapters.items():
            archive.writestr(f"o/{name}.xhtml", f"<html><body>{body}</body></html>")
    return data.getvalue()


def lines(entries: list[dict[str, object]]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)
