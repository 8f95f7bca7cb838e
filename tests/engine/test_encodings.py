"""Encodings of files: which declaration takes precedence, and how a guess is reported."""

from __future__ import annotations

import os
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
    pytest.importorskip("lxml")
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
    assert not report.problems and not any("encoding" in notice for notice in report.notices)
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
    pytest.importorskip("lxml")
    folder = notes({"a.md": "alpha"})
    (folder / "b.html").write_bytes("<p>heron and stork \u4e2d</p>".encode("gb18030"))
    index.add_collection(str(folder), formats=["all"])
    assert "heron" in index.get("b.html").text and "\u4e2d" not in index.get("b.html").text
    config = Path(index.config.path)
    config.write_text(config.read_text(encoding="utf-8") + "    encoding: gb18030\n", encoding="utf-8")
    (report,) = index.update()
    assert (report.updated, report.problems) == (1, [])
    assert "\u4e2d" in index.get("b.html").text


#: A text with a letter and a sign of Windows-1252, and a byte that is nothing, in formats of text.
_BROKEN = {
    "a.md": "# Bericht\n\nGröße der Öffnung\n\n{}\n",
    "a.txt": "Größe der Öffnung\n{}\n",
    "a.log": "Größe der Öffnung\r\n{}\r\n",
    "a.csv": "wort;wert\nGröße;1\n{};2\n",
    "a.org": "* Bericht\nGröße der Öffnung\n{}\n",
    "a.rst": "Bericht\n=======\n\nGröße der Öffnung\n\n{}\n",
    "a.adoc": "= Bericht\n\nGröße der Öffnung\n\n{}\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\nGröße der Öffnung\n\n{}\n",
    "a.html": "<meta charset=utf-8><p>Größe der Öffnung</p>\n<p>{}</p>",
    "a.py": "# Größe der Öffnung\n# {}\nx = 1\n",
    "a.ipynb": '{"cells": [{"cell_type": "markdown", "source": "Größe, {}"}]}',
    "a.eml": "Subject: Größe der Öffnung\nContent-Type: text/plain; charset=utf-8\n\nGröße\n{}\n",
    "long.md": "# Lang\n\n" + "Größe der Öffnung wird bestimmt.\n" * 4000 + "{}\n",
    "wide.md": "\ufeffGröße der Öffnung\n{}\n",
}


def test_invalid_bytes_cost_no_more_than_themselves_in_any_format(index: qmd.Index, notes: Notes) -> None:
    folder = notes({})
    for name, text in _BROKEN.items():
        data = text.replace("{}", "ANGEHT sp\x93t \x96 ENDE\x9f", 1).encode()
        (folder / name).write_bytes(
            data.replace(b"\xc2\x93", b"\xe4").replace(b"\xc2\x96", b"\x96").replace(b"\xc2\x9f", b"\xff")
        )
    report = index.add_collection(str(folder), pattern="**/*", formats=["all"])
    assert report.problems == []
    for name in _BROKEN:
        text = index.get(f"/{name}").text
        assert "Größe" in text and "spät – ENDE\ufffd" in text, name
    for query in ("Größe", "spät", "ende"):
        found = index.search(SearchRequest(query, limit=50)).hits
        assert {hit.path for hit in found} == _BROKEN.keys(), query


def test_lines_with_invalid_bytes_are_named_until_they_are_mended(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha", "sub/b.md": "beta", "c.md": "gamma"})
    (folder / "sub/b.md").write_bytes("Größe\n".encode() + b"sp\xe4t\n\n\xff\n")
    report = index.add_collection(str(folder))
    line = "1 file has bytes that do not fit the encoding: sub/b.md (lines 2, 4)"
    assert (report.added, report.problems, report.notices) == (3, [], [line])

    def told() -> list[str]:
        return [note for note in index.status().notes if "fit the encoding" in note]

    assert told() == [f"{report.collection}: {line}"]
    os.utime(folder / "sub/b.md", (1, 1))
    assert index.update()[0].notices == [], "the text is the same"
    explained = index.why("sub/b.md", "search", SearchRequest("alpha")).notes
    assert explained == ("bytes do not fit the encoding in lines 2, 4",)
    (folder / "a.md").write_text("alpha beta", encoding="utf-8")
    (report,) = index.update()
    assert (report.updated, report.notices) == (1, [])
    assert told(), "an unchanged file has not been read again"
    (folder / "sub/b.md").write_text("mended", encoding="utf-8")
    index.rescan(report.collection, ["sub/b.md"])
    assert told() == []
    (folder / "c.md").write_bytes(b"gamma text " * 20 + b"\xe9\n")
    index.update()
    assert told() and (folder / "c.md").unlink() is None
    index.update()
    assert told() == []
