"""Encodings of files: which declaration takes precedence, and how a guess is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

import qmd
from qmd.engine.requests import SearchRequest
from tests.conftest import Notes


@pytest.mark.parametrize(
    ("charset", "codec", "text"),
    [
        ("gb2312", "gbk", "数据库备份策略"),
        ("Big5", "big5", "資料庫備份策略"),
        ("iso-8859-6", "iso8859-6", "السلام عليكم"),
        ("iso-8859-8", "iso8859-8", "שלום עולם"),
        ("iso-8859-2", "iso8859-2", "Příliš žluťoučký kůň"),
        ("ISO-8859-9", "iso8859-9", "İstanbul çok güzel"),
        ("tis-620", "tis-620", "สวัสดีครับ"),
        ("windows-874", "cp874", "สวัสดีครับ"),
        ("iso-2022-jp", "iso2022-jp", "検索エンジン"),
        ("utf-8", "utf-8", "Příliš žluťoučký kůň"),
    ],
)
def test_declared_charset_of_a_page_takes_precedence_over_guessing(
    index: qmd.Index, notes: Notes, charset: str, codec: str, text: str
) -> None:
    pytest.importorskip("html_to_markdown")
    body = f"<title>{text}</title></head><body><p>{text}</p></body></html>"
    declarations = {
        "a.html": f"<html><head><!-- <meta charset=koi8-r> --><meta charset='{charset}'>",
        "b.html": f'<html><head><meta http-equiv=Content-Type content="text/html; charset={charset}">',
        "c.xhtml": f'<?xml version="1.0" encoding="{charset}"?><html><head>',
    }
    folder = notes({})
    for name, head in declarations.items():
        (folder / name).write_bytes((head + body).encode(codec))
    report = index.add_collection(str(folder), formats=["html"])
    assert (report.problems, report.notices) == ([], [])
    for name in declarations:
        page = index.get(name)
        assert (page.document.title, page.text.strip()) == (text, text)
    read_as = [note for note in index.why("a.html", "search", SearchRequest("x")).notes if "read as" in note]
    assert len(read_as) == (charset != "utf-8")


def test_why_names_the_encoding_and_update_reports_guesses(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha"})
    (folder / "b.md").write_bytes("Привет мир, это русский текст для проверки.\n".encode("cp1251") * 3)
    (folder / "c.md").write_bytes("Şişli'de yağmurlu bir gün, güneş doğmadı.\n".encode("cp1254") * 3)
    report = index.add_collection(str(folder))
    (notice,) = report.notices
    assert notice.startswith("1 file whose encoding is a guess: c.md (cp125")

    def notes_of(path: str) -> tuple[str, ...]:
        return index.why(path, "search", SearchRequest("alpha")).notes

    assert notes_of("a.md") == ()
    assert notes_of("b.md") == ("the file is read as cp1251",)
    (note,) = notes_of("c.md")
    assert "which is a guess: if letters are wrong, set the collection's 'encoding'" in note
    config = Path(index.config.path)
    config.write_text(config.read_text(encoding="utf-8") + "    encoding: windows-1254\n", encoding="utf-8")
    (report,) = index.update()
    assert (report.updated, report.unchanged, report.notices) == (2, 1, [])
    assert "güneş doğmadı" in index.get("c.md").text
    assert notes_of("c.md") == ("the file is read as windows-1254",)


def test_changed_encoding_of_a_collection_rereads_its_files(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("html_to_markdown")
    folder = notes({"a.md": "alpha"})
    (folder / "b.html").write_bytes("<p>heron \u4e2d</p>".encode("utf-16-le"))
    index.add_collection(str(folder), formats=["all"])
    assert any("1 file could not be read" in note for note in index.status().notes)
    config = Path(index.config.path)
    config.write_text(config.read_text(encoding="utf-8") + "    encoding: utf-16-le\n", encoding="utf-8")
    (report,) = index.update()
    assert (report.added, report.problems) == (1, [])
