"""Documents on the web page."""

from __future__ import annotations

from pathlib import Path

import pytest

import qmd
from qmd.engine.deadline import Deadline
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
