"""An index that does not exist yet or cannot be written, and changes by other processes."""

from __future__ import annotations

from pathlib import Path

import pytest

import qmd
from tests.conftest import Notes


def test_open_index_creates_no_file_before_the_first_write(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    path = tmp_path / "new" / "index.sqlite"
    with qmd.open_index(path, environ=environ) as index:
        assert index.search("alpha").hits == ()
        assert index.status().total_documents == 0
        assert not path.parent.exists()
        index.add_collection(str(notes({"a.md": "alpha"})))
        assert path.exists()
        assert [hit.path for hit in index.search("alpha").hits] == ["a.md"]


def test_open_index_sees_an_index_created_by_another_process(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    path = tmp_path / "index.sqlite"
    with qmd.open_index(path, environ=environ) as early, qmd.open_index(path, environ=environ) as late:
        assert early.search("alpha").hits == ()
        late.add_collection(str(notes({"a.md": "alpha"})))
        assert [hit.path for hit in early.search("alpha").hits] == ["a.md"]
        late.remove_collection("notes")
        assert early.search("alpha").hits == ()


def test_open_index_refuses_a_foreign_file_that_appears_later(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    path = tmp_path / "index.sqlite"
    with qmd.open_index(path, environ=environ) as index:
        path.write_text("theirs", encoding="utf-8")
        with pytest.raises(qmd.ForeignIndexError):
            index.add_collection(str(notes({"a.md": "alpha"})))
        with pytest.raises(qmd.ForeignIndexError):
            index.search("alpha")
    assert path.read_text(encoding="utf-8") == "theirs"


def test_open_index_accepts_an_empty_file(tmp_path: Path, environ: dict[str, str]) -> None:
    path = tmp_path / "index.sqlite"
    path.touch()
    with qmd.open_index(path, environ=environ) as index:
        assert index.search("alpha").hits == ()
        assert path.stat().st_size == 0
        index.update()
        assert path.stat().st_size > 0
