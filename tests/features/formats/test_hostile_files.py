"""Damaged and hostile files: each is left out with a reason, and others are read."""

from __future__ import annotations

import io
import zipfile

import pytest

import qmd
from tests.conftest import Notes
from tests.files import xlsx


def test_error_of_a_format_library_is_one_line(index: qmd.Index, notes: Notes) -> None:
    pptx = pytest.importorskip("pptx")
    folder = notes({"a.md": "alpha"})
    whole, damaged = io.BytesIO(), folder / "damaged.pptx"
    presentation = pptx.Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[0])
    presentation.save(whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(damaged, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            damage = name == "ppt/slides/slide1.xml"
            target.writestr(name, content.replace(b"</p:sld>", b"\0</p:sld>") if damage else content)
    ((path, reason),) = index.add_collection(str(folder), formats=["all"]).problems
    assert path == "damaged.pptx"
    assert "damaged" in reason
    assert "\n" not in reason


def test_decompression_bomb_is_left_out_and_others_are_read(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("lxml")
    folder = notes({"a.md": "alpha"})
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", b" " * 300_000_000)
    (folder / "bomb.epub").write_bytes(data.getvalue())
    (folder / "deep.ipynb").write_text('{"cells": ' + "[" * 200_000, encoding="utf-8")
    report = index.add_collection(str(folder), formats=["all"])
    assert report.added == 1
    assert dict(report.problems)["bomb.epub"].startswith("cannot read bomb.epub: too large")
    assert "damaged" in dict(report.problems)["deep.ipynb"]


def test_nested_text_boxes_are_read_once(index: qmd.Index, notes: Notes) -> None:
    docx = pytest.importorskip("docx")
    box = "<w:p {}><w:r><w:t>box {}</w:t><w:txbxContent>{}</w:txbxContent></w:r></w:p>"
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    nested = ""
    for depth in range(60):
        nested = box.format(space, depth, nested)
    document = docx.Document()
    document.add_paragraph("The heron waits.")
    document.element.body.insert(0, docx.oxml.parse_xml(nested))
    folder = notes({"a.md": "alpha"})
    document.save(str(folder / "b.docx"))
    assert index.add_collection(str(folder), formats=["all"]).problems == []
    text = index.get(f"{folder.name}/b.docx").text
    assert [text.count(f"box {depth}\n") for depth in range(60)] == [1] * 60


def test_sheet_with_a_distant_cell_is_too_large(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("python_calamine")
    folder = notes({"a.md": "alpha"})
    (folder / "b.xlsx").write_bytes(xlsx('<c r="XFD1048576"><v>1</v></c>'))
    report = index.add_collection(str(folder), formats=["all"])
    assert report.problems == [("b.xlsx", "cannot read b.xlsx: too large (17,178,804,225 cells)")]
