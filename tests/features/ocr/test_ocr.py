"""`qmd ocr`: the text in scans and pictures is found after it, and each page is read once."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

import qmd
from qmd.engine.indexing.recognized import Recognized
from qmd.features.formats import pdf as pdf_format
from qmd.features.ocr import pages
from qmd.features.ocr.kept import opened, recognized_in
from qmd.features.ocr.layout import PrintedLine, is_unknown, text_of
from qmd.sources.formats import markdown
from qmd.sources.formats.recognized import Seen, pack
from qmd.sources.read import RawBytes
from qmd.types import Fingerprint, SourceFile
from qmd.types.cancelling import CancelledError
from tests.users import MakeUser, User


def drawn(*lines: str) -> Image.Image:
    """Return a picture of lines of text."""
    picture = Image.new("L", (700, 40 + 60 * len(lines)), 255)
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(size=32)
    for at, line in enumerate(lines):
        pen.text((30, 20 + 60 * at), line, font=font, fill=0)
    return picture


def pictures_of(user: User) -> None:
    """Write a scan of two pages, a picture, and one without text."""
    drawn("The heron stands", "in shallow water").save(
        user.notes / "scan.pdf", save_all=True, append_images=[drawn("A second page about ibises")]
    )
    drawn("Boarding pass to Lisbon").save(user.notes / "ticket.png")
    Image.new("RGB", (64, 64), "red").save(user.notes / "dot.png")


@pytest.mark.slow
@pytest.mark.models
def test_text_in_scans_and_pictures_is_found_and_read_once(make_user: MakeUser) -> None:
    user = make_user("ocr")
    pictures_of(user)
    added = user.run("add", str(user.notes), "--name", "notes", "--formats", "all", "--ocr")
    assert "3 files (1 .pdf, 2 .png) wait for: qmd ocr" in added.stderr
    assert "could not be read" not in user.ok("status")
    assert "wait for 'qmd ocr'" in user.run("doctor").stdout
    report = json.loads(user.ok("ocr", "--no-embed", "--json"))
    assert report["pages"] == 4
    assert report["problems"] == []
    assert "scan.pdf:p1" in user.ok("search", "heron")
    assert "scan.pdf:p2" in user.ok("search", "ibises")
    assert "ticket.png" in user.ok("search", "Lisbon")
    assert "qmd ocr" not in user.ok("status")
    assert json.loads(user.ok("ocr", "--no-embed", "--json"))["pages"] == 0
    (user.notes / "ticket.png").rename(user.notes / "moved.png")
    user.ok("update", "--no-embed")
    assert json.loads(user.ok("ocr", "--no-embed", "--json"))["pages"] == 0
    assert "moved.png" in user.ok("search", "Lisbon")


@pytest.mark.slow
@pytest.mark.models
def test_an_interrupted_run_goes_on_at_the_next_page(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("one", "two"):
        drawn(f"Page {name}").save(folder / f"{name}.png")
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(folder, "notes", ocr=True)
        done: list[int] = []
        with pytest.raises(CancelledError):
            index.recognize(on_progress=lambda now: done.append(now.done), cancelled=lambda: 1 in done)
        assert len(index.search("Page").hits) == 1
        assert index.recognize().pages == 1
        assert len(index.search("Page").hits) == 2


def test_pictures_are_no_documents_unless_their_collection_says_so(make_user: MakeUser) -> None:
    user = make_user("no-ocr")
    pictures_of(user)
    added = user.run("add", str(user.notes), "--name", "notes", "--formats", "all")
    assert ".png" not in added.stdout + added.stderr
    assert "scan.pdf: no text layer (scan)" in added.stderr
    refused = user.run("ocr")
    assert refused.returncode != 0
    assert "qmd collection set NAME --ocr" in refused.stderr
    assert "OCR:" not in user.ok("collection", "show", "notes")
    user.ok("collection", "set", "notes", "--ocr")
    assert "OCR:" in user.ok("collection", "show", "notes")


def test_a_page_that_could_not_be_read_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    drawn("one").save(path, save_all=True, append_images=[drawn("two")])
    seen = {1: Seen("Wrapped\nlines"), 2: Seen(why="too slow")}
    found = pdf_format.extract(RawBytes("scan.pdf", path.read_bytes(), beside=pack(seen)))
    assert found.text.strip() == "Wrapped lines"
    assert found.omitted == ("page 2: too slow",)


def test_a_note_has_the_text_of_the_pictures_that_it_still_shows() -> None:
    text = "![](img/my%20ticket.png)\n"
    shown = pack({0: Seen("# Lis-bon\n- 2 * 3", shown="img/my ticket.png"), 1: Seen("x", shown="gone.png")})
    found = markdown.extract(RawBytes("trip.md", text.encode(), beside=shown))
    assert found.text.startswith(text)
    assert found.title == "trip"
    assert "gone" not in found.text
    assert found.structure is not None
    assert [each.level for each in found.structure.headings] == [6]
    assert "\\# Lis-bon\n\\- 2 \\* 3" in found.text


@pytest.mark.slow
@pytest.mark.models
def test_text_of_a_picture_is_found_in_the_note_that_shows_it(make_user: MakeUser) -> None:
    user = make_user("ocr-notes")
    (user.notes / "img").mkdir()
    drawn("Boarding pass to Lisbon").save(user.notes / "img" / "ticket.png")
    for name, link in (("trip", "![](img/ticket.png)"), ("plans", "![[ticket.png|300]]"), ("other", "No.")):
        (user.notes / f"{name}.md").write_text(f"# {name.title()}\n\nSee {link}\n", encoding="utf-8")
    user.ok("add", str(user.notes), "--name", "notes", "--ocr", "--no-embed")
    user.ok("ocr", "--no-embed")

    def found(*words: str) -> dict[str, str]:
        rows = json.loads(user.ok("search", "--json", *words))
        return {row["file"].rpartition("/")[2]: row.get("section", "") for row in rows}

    assert found("Lisbon").keys() == {"trip.md", "plans.md", "ticket.png"}
    assert found("Lisbon")["trip.md"] == "Trip > ticket.png"
    (user.notes / "trip.md").write_text("# Trip\n\nNothing to see.\n", encoding="utf-8")
    user.ok("update", "--no-embed")
    assert found("Lisbon").keys() == {"plans.md", "ticket.png"}


def test_a_file_counts_only_when_all_its_pages_were_read(tmp_path: Path) -> None:
    location, file = str(tmp_path / "index"), SourceFile("a.pdf", "/a.pdf", Fingerprint(1, 2, 3))
    assert recognized_in(location, "notes") == Recognized()
    with opened(location) as kept:
        kept.put_file("notes", file, {1: "x", 2: "y"})
        kept.put_page("x", Seen("one"))
        assert not recognized_in(location, "notes").texts
        kept.put_page("y", Seen("two"))
        kept.freshen("notes", "a.pdf")
    found = recognized_in(location, "notes")
    assert found.texts == {"a.pdf": (file.fingerprint, pack({1: Seen("one"), 2: Seen("two")}))}
    assert found.fresh == {"a.pdf"}


def test_what_was_read_goes_with_its_collection_unless_another_one_has_it(tmp_path: Path) -> None:
    file = SourceFile("a.pdf", "/a.pdf", Fingerprint(1, 2, 3))
    with opened(str(tmp_path / "index")) as kept:
        kept.put_file("gone", file, {1: "x", 2: "y"})
        kept.put_file("notes", file, {1: "y"})
        for key in ("x", "y", "moved"):
            kept.put_page(key, Seen(key))
        kept.prune(["notes"])
        assert [key for key in ("x", "y", "moved") if kept.page(key)] == ["y", "moved"]
        assert not kept.files("gone")
        assert kept.files("notes")


def line(left: float, top: float, text: str, width: float = 200) -> PrintedLine:
    """Return a line 10 high."""
    return PrintedLine(left, top, left + width, top + 10, text)


def test_columns_are_read_one_after_the_other_below_their_heading() -> None:
    rows = [
        each
        for at in range(4)
        for each in (line(0, 30 + 12 * at, f"l{at}"), line(220, 32 + 12 * at, f"r{at}"))
    ]
    text = text_of([line(0, 0, "Heading", 420), *rows, line(0, 100, "Footer", 420)])
    assert text.split() == ["Heading", "l0", "l1", "l2", "l3", "r0", "r1", "r2", "r3", "Footer"]


def test_cells_of_a_table_stay_in_their_rows_and_divided_words_are_joined() -> None:
    cells = [line(x, 12 * at, f"{x}-{at}", 30) for at in range(4) for x in (0, 100, 200)]
    assert text_of(cells).splitlines()[0] == "0-0 100-0 200-0"
    assert (
        text_of([line(0, 0, "Wasser-"), line(0, 12, "vogel"), line(0, 60, "Ende")]) == "Wasservogel\n\nEnde"
    )


def test_lines_with_few_letters_for_their_length_are_of_an_unknown_script() -> None:
    cyrillic = [line(0, 12 * at, ",   . -", 300) for at in range(4)]
    assert is_unknown(cyrillic)
    assert not is_unknown(cyrillic[:3])
    assert not is_unknown([line(0, 12 * at, "The heron stands in shallow water", 170) for at in range(4)])
    assert not is_unknown([line(0, 12 * at, "鹭站在浅水里。" * 2, 150) for at in range(4)])
    assert not is_unknown([])


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("turned", [90, 180, 270])
def test_a_page_upside_down_or_on_its_side_is_read_as_it_stands(turned: int, tmp_path: Path) -> None:
    text = ("The heron stands in shallow", "water and waits for fish", "until the evening comes")
    page = drawn(*text).rotate(turned, expand=True)
    content = BytesIO()
    page.save(content, "PNG")
    found = pages.extract(RawBytes("page.png", content.getvalue(), beside=b"1"))
    assert found.text.split() == " ".join(text).split()


@pytest.mark.slow
@pytest.mark.models
def test_a_backup_has_what_was_recognized(make_user: MakeUser) -> None:
    user = make_user("ocr-backup")
    drawn("Boarding pass to Lisbon").save(user.notes / "ticket.png")
    user.ok("add", str(user.notes), "--name", "notes", "--ocr", "--no-embed")
    user.ok("ocr", "--no-embed")
    user.ok("store", "backup", str(user.home / "copy.sqlite"))
    (kept,) = user.home.rglob("*.sqlite.ocr")
    kept.unlink()
    user.ok("store", "restore", str(user.home / "copy.sqlite"))
    assert json.loads(user.ok("ocr", "--no-embed", "--json"))["pages"] == 0
    assert kept.stat().st_mode & 0o077 == 0
