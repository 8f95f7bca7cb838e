"""Documents on the web page."""

from __future__ import annotations

from pathlib import Path

import pytest

import qmd
from qmd.engine.deadline import Deadline
from qmd.models.base import CancelledError
from qmd.web import document
from qmd.web.messages import LANGUAGES
from tests.conftest import Notes


def test_document_that_renders_too_slowly_is_shown_as_text(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(str(notes({"a.md": "# A\n\nSome *words*.\n"})), "n")
        late = document.view(index, "n/a.md", LANGUAGES["en"], Deadline(0))
        assert late.too_large
        assert late.rows == ((1, "# A"), (2, ""), (3, "Some *words*."))
        with pytest.raises(CancelledError):
            document.view(index, "n/a.md", LANGUAGES["en"], Deadline(None, lambda: True))
        in_time = document.view(index, "n/a.md", LANGUAGES["en"], Deadline(None))
        assert "<em>words</em>" in in_time.html
