"""What stands beside the text of office files and PDFs: comments, charts, formulas, descriptions, columns."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import qmd
from tests.conftest import Notes
from tests.files import pdf

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument"
_CHART = (
    '<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart><c:title><a:t>Dodo counts</a:t></c:title><c:ser>'
    "<c:tx><c:strRef><c:strCache><c:pt><c:v>Whinchat</c:v></c:pt></c:strCache></c:strRef></c:tx>"
    "<c:val><c:numCache><c:v>77123</c:v></c:numCache></c:val></c:ser></c:chart></c:chartSpace>"
)


def packed(parts: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def relations(*rows: tuple[str, str]) -> str:
    inner = "".join(
        f'<Relationship Id="rId{at}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(rows, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{inner}</Relationships>'


def types(**overrides: str) -> str:
    inner = "".join(
        f'<Override PartName="/{path}" ContentType="{_TYPE}.{kind}+xml"/>' for path, kind in overrides.items()
    )
    return (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{inner}</Types>'
    )


def spreadsheet() -> bytes:
    space = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{_OFFICE}"'
    row = '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>quail</t></is></c></row></sheetData>'
    comment = '<comment ref="A1" authorId="0"><text><t>heron remark</t></text></comment>'
    return packed({
        "[Content_Types].xml": types(**{
            "xl/workbook.xml": "spreadsheetml.sheet.main",
            "xl/worksheets/sheet1.xml": "spreadsheetml.worksheet",
            "xl/comments1.xml": "spreadsheetml.comments",
        }),
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f"<workbook {space}><sheets>"
        '<sheet name="Budget" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(("worksheet", "worksheets/sheet1.xml")),
        "xl/worksheets/sheet1.xml": f"<worksheet {space}>{row}</worksheet>",
        "xl/worksheets/_rels/sheet1.xml.rels": relations(("comments", "../comments1.xml")),
        "xl/comments1.xml": f"<comments {space}><commentList>{comment}</commentList></comments>",
        "xl/charts/chart1.xml": _CHART,
    })  # fmt: skip


def document() -> bytes:
    space = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    )
    run = "<m:r><m:t>{}</m:t></m:r>".format
    fraction = f"<m:f><m:num>{run('a')}</m:num><m:den>{run('b')}</m:den></m:f>"
    formula = f"<m:oMath>{run('kestrelmass')}{fraction}</m:oMath>"
    return packed({
        "[Content_Types].xml": types(**{"word/document.xml": "wordprocessingml.document.main"}),
        "_rels/.rels": relations(("officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {space}><w:body><w:p>{formula}</w:p></w:body></w:document>",
        "word/_rels/document.xml.rels": relations(),
        "word/charts/chart1.xml": _CHART,
    })  # fmt: skip


def book() -> bytes:
    return packed({
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfile full-path="c.opf"/></container>',
        "c.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="dc"><metadata>'
        "<dc:title>Bird Book</dc:title>"
        "<dc:description>&lt;p&gt;About the &lt;b&gt;wheatear&lt;/b&gt;&lt;/p&gt;</dc:description>"
        '</metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>',
        "a.xhtml": "<html><body><h1>One</h1><p>whinchat</p></body></html>",
    })  # fmt: skip


def written(notes: Notes, **files: bytes) -> Path:
    folder = notes({})
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    return folder


def test_comments_charts_formulas_and_descriptions_are_read(index: qmd.Index, notes: Notes) -> None:
    for package in ("docx", "python_calamine", "lxml"):
        pytest.importorskip(package)
    folder = written(notes, a_xlsx=spreadsheet(), a_docx=document(), a_epub=book())
    index.add_collection(str(folder), formats=["all"])
    assert index.get("a.xlsx").text == "Budget\n\n| quail |\n\nA1: heron remark\n\nDodo counts\nWhinchat\n"
    assert index.get("a.docx").text == "kestrelmassa/b\n\nDodo counts\nWhinchat\n"
    assert index.get("a.epub").text == "About the wheatear\n\nOne\n\nwhinchat\n"
    assert index.get("a.epub:c1").text.split() == ["One", "whinchat"]


LEFT = [
    "The committee reviewed the annual",
    "report and found that the budget",
    "was sound. It then turned to the",
]
MIDDLE = [
    "question of the northern pier and",
    "approved the repair of the crane",
    "for the coming fiscal year there.",
]
RIGHT = [
    "Members asked for a second opinion",
    "before any contract is signed in",
    "autumn by the harbour office now.",
]


def rows(*columns: list[str], width: int) -> dict[int, str]:
    """Return the lines of columns by their height, with steps to the right between the parts of a row."""
    return {
        600 - 14 * at: f") Tj {width} 0 Td (".join(column[at] for column in columns)
        for at in range(len(columns[0]))
    }


@pytest.mark.parametrize(("columns", "width"), [((LEFT, RIGHT), 270), ((LEFT, MIDDLE, RIGHT), 230)])
def test_columns_are_read_one_after_the_other(
    index: qmd.Index, notes: Notes, columns: tuple[list[str], ...], width: int
) -> None:
    pytest.importorskip("pypdfium2")
    page = {700: "A heading over all of the columns of this page, which is as wide as these are together"}
    folder = written(notes, a_pdf=pdf(page | rows(*columns, width=width)))
    index.add_collection(str(folder), formats=["pdf"])
    said = " ".join(index.get("a.pdf").text.split())
    assert said == " ".join([*page.values(), *(line for column in columns for line in column)])


def test_rows_of_tables_stay_rows(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("pypdfium2")
    names = ["Name", "Heron", "Common kestrel", "Crane"]
    places = ["Place", "The old northern pier", "Heath", "Sea"]
    folder = written(notes, a_pdf=pdf(rows(names, places, width=270)))
    index.add_collection(str(folder), formats=["pdf"])
    assert index.search('"Heron The old northern pier"').hits
