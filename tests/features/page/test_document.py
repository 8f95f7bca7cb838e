"""Documents on the web page."""

from __future__ import annotations

from pathlib import Path

import pytest

import qmd
from qmd.engine.deadline import Deadline
from qmd.errors import NotFoundError
from qmd.features.page import document
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
