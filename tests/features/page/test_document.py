"""Documents on the web page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import qmd
from qmd.engine.deadline import Deadline
from qmd.errors import NotFoundError
from qmd.features.page import document, folders
from qmd.features.page.messages import LANGUAGES
from qmd.models.base import CancelledError
from tests.conftest import Notes


def test_document_that_renders_too_slowly_ends_in_plain_text(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(str(notes({"a.md": "# A\n\nSome *words*.\n"})), "n")
        late = document.view(index, "n/a.md", LANGUAGES["en"], Deadline(0))
        assert late.rendered.short
        assert late.html == '<pre class="rest" tabindex="0" data-lines="1 4"># A\n\nSome *words*.\n</pre>\n'
        with pytest.raises(CancelledError):
            document.view(index, "n/a.md", LANGUAGES["en"], Deadline(None, lambda: True))
        in_time = document.view(index, "n/a.md", LANGUAGES["en"], Deadline(None))
        assert "<em>words</em>" in in_time.html
        assert not in_time.rendered.short


@pytest.mark.parametrize("piece", ["![[a]]\n\n", "![](a.png)\n\n", "$x^2$ ", "```c\na\n```\n", "<b>"])
def test_document_whose_reader_has_left_is_not_rendered_on(
    tmp_path: Path, environ: dict[str, str], notes: Notes, piece: str
) -> None:
    asked = 0

    def left() -> bool:
        nonlocal asked
        asked += 1
        return asked > 50

    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(str(notes({"a.md": piece * 20_000})), "n")
        with pytest.raises(CancelledError):
            document.view(index, "n/a.md", LANGUAGES["en"], Deadline(None, left))
    assert asked < 100


def test_files_that_html_names_are_shown(tmp_path: Path, environ: dict[str, str], notes: Notes) -> None:
    text = (
        '<p align="center">\n<img width="40" src="img/a.webp">\n</p>\n\n'
        "[<IMG SRC='img/b c.png' alt=b>](a.md) <video controls><source src=img/c.mp4></video>\n\n"
        "`<img src=img/d.png>` <img src=https://example.org/e.png>\n"
    )
    folder = Path(notes({"a.md": text}))
    (folder / "img").mkdir()
    for name in ("a.webp", "b c.png", "c.mp4", "d.png"):
        (folder / "img" / name).write_bytes(b"x")
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(str(folder), "n")
        html = document.view(index, "n/a.md", LANGUAGES["en"], Deadline(None)).html
        assert '<img src="/file/n/img/a.webp" alt="img/a.webp" width="40"' in html
        assert '<img src="/file/n/img/b%20c.png" alt="b"' in html
        assert '<video src="/file/n/img/c.mp4"' in html
        assert '<a class="image-left-out" href="https://example.org/e.png"' in html
        for name in ("a.webp", "b c.png", "c.mp4"):
            assert index.file_on_disk(f"n/img/{name}")[0].endswith(name)
        with pytest.raises(NotFoundError):
            index.file_on_disk("n/img/d.png")


def test_other_formats_are_shown_by_their_structure(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    texts = ("# A\n```\nopen", "# B\n*x*")
    notebook = {"cells": [{"cell_type": "markdown", "source": text} for text in texts]}
    files = {
        "a.adoc": "= One & <c>\n\nSee xref:b.adoc[it] & *go*.\n\n----\n== <i>no</i>\n----\n\nTwo\n---\n\nx\n",
        "b.adoc": "= B\n\nhttps://example.org/\n",
        "c.ipynb": json.dumps(notebook),
        "d.org": "* A\n| bird | n |\n|------+---|\n| [[file:b.adoc]] | <4> |\n",
    }
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(str(notes(files)), "n", formats=["all"])
        view = document.view(index, "n/a.adoc", LANGUAGES["en"], Deadline(None), query="go", line=5)
        assert [(each.text, each.level) for each in view.rendered.headings] == [("One & <c>", 1), ("Two", 2)]
        assert view.title == '<h1 id="h-one-c" data-lines="1 2">One &amp; &lt;c&gt;</h1>\n'
        assert view.html == (
            '<p class="lines" data-lines="3 4">See xref:<a href="/read/n/b.adoc" rel="noopener noreferrer">'
            "b.adoc</a>[it] &amp; *<mark>go</mark>*.</p>\n"
            '<pre id="hit" class="hit-line source" data-lines="5 8">'
            "<code>----\n== &lt;i&gt;no&lt;/i&gt;\n----</code></pre>\n"
            '<h2 id="h-two" data-lines="9 10">Two</h2>\n<p class="lines" data-lines="12 13">x</p>\n'
        )
        other = document.view(index, "n/b.adoc", LANGUAGES["en"], Deadline(None))
        assert 'href="https://example.org/"' in other.html
        table = document.view(index, "n/d.org", LANGUAGES["en"], Deadline(None)).html
        link = '[[file:<a href="/read/n/b.adoc" rel="noopener noreferrer">b.adoc</a>]]'
        assert table.startswith(
            '<div class="table" tabindex="0" role="group" data-lines="2 5"><table><thead><tr>'
        )
        assert "<th>bird</th><th>n</th></tr></thead><tbody><tr>" in table
        assert f"<td>{link}</td><td>&lt;4&gt;</td>" in table
        cells = document.view(index, "n/c.ipynb", LANGUAGES["en"], Deadline(None))
        assert [each.text for each in cells.rendered.headings] == ["A", "B"]
        assert "<em>x</em>" in cells.html


def test_folder_lists_its_folders_and_documents_as_people_count(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    names = ("10.md", "2.md", "B.md", "a.md", "9 x/a.md", "10 x/a.md", "10 x/b/c.md")
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(str(notes(dict.fromkeys(names, "Words.\n"))), "n")
        found = folders.look(index, "n/")
        assert list(found.folders.items()) == [("9 x", 1), ("10 x", 2)]
        assert [each.file for each in found.documents] == ["n/2.md", "n/10.md", "n/a.md", "n/B.md"]


def test_title_that_stands_above_is_no_property(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    head = "---\ntitle: A heron\nstatus: draft\n---\n# A heron\n"
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(str(notes({"a.md": head})), "n")
        shown = document.view(index, "n/a.md", LANGUAGES["en"], Deadline(None))
        assert shown.properties == {"status": ("draft",)}
