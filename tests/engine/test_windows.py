"""What the index keeps of the windows that the reranker has read."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import qmd
from tests.conftest import Notes

pytestmark = pytest.mark.models

TEXTS = {
    f"{name}.md": f"# {name}\n\nHow {name} bread is baked on a stone.\n" for name in ("rye", "oat", "corn")
}


@pytest.fixture
def files(environ: dict[str, str], tmp_path: Path, notes: Notes) -> Path:
    """The index of a few documents, closed."""
    path = tmp_path / "index.sqlite"
    with qmd.open_index(path, environ=environ) as index:
        index.add_collection(str(notes(TEXTS)), "notes")
        index.embed()
    return path


def _rows(path: Path) -> dict[bytes, bytes]:
    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as db:
        return dict(db.execute("SELECT key, vectors FROM windows"))


def _answer(path: Path, environ: dict[str, str], query: str) -> list[tuple[str, float]]:
    with qmd.open_index(path, environ=environ) as index:
        response = index.query(query)
        assert not [stage for stage in response.stages if stage.status == "failed"]
        return [(hit.file, hit.score) for hit in response.hits]


def test_another_query_scores_the_same_with_kept_windows(files: Path, environ: dict[str, str]) -> None:
    nothing_kept = _answer(files, environ | {"QMD_WINDOWS_MB": "0"}, "baking rye")
    assert not _rows(files)
    _answer(files, environ, "bread on a stone")
    assert len(_rows(files)) >= len(TEXTS)
    with apsw.Connection(str(files)) as db:
        db.execute("DELETE FROM llm_cache")
    assert _answer(files, environ, "baking rye") == nothing_kept


def test_kept_windows_are_not_read_again(files: Path, environ: dict[str, str]) -> None:
    _answer(files, environ, "bread on a stone")
    with apsw.Connection(str(files)) as db:
        db.execute("UPDATE windows SET vectors = (SELECT vectors FROM windows LIMIT 1)")
    with qmd.open_index(files, environ=environ) as index:
        hits = index.query("baking rye", explain=True).hits
    assert len({hit.explain["rerank"] for hit in hits if hit.explain}) == 1


def test_windows_leave_the_index_with_their_text(
    files: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    _answer(files, environ, "bread on a stone")
    (tmp_path / "notes" / "rye.md").unlink()
    with qmd.open_index(files, environ=environ) as index:
        index.update()
        index.cleanup()
    kept = _rows(files)
    assert 0 < len(kept) < len(TEXTS) + 1
    with apsw.Connection(str(files)) as db:
        assert (
            db.execute("SELECT count(*) FROM windows WHERE content_id NOT IN (SELECT id FROM contents)").get
            == 0
        )


def test_damaged_windows_are_read_again(files: Path, environ: dict[str, str]) -> None:
    wanted = _answer(files, environ, "bread on a stone")
    with apsw.Connection(str(files)) as db:
        db.execute("DELETE FROM llm_cache; UPDATE windows SET vectors = x'00ff'")
    assert _answer(files, environ, "bread on a stone") == wanted
    assert all(len(vectors) > 2 for vectors in _rows(files).values())


def test_windows_that_were_read_least_recently_make_room(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(TEXTS)), "notes")
    windows = index._workspace.store.windows
    (document, *_) = index.documents()
    old = [b"%d" % number for number in range(6)]
    windows.put(dict.fromkeys([*old, b"read"], (document.id, b"1")), [], 9)
    with apsw.Connection(index._workspace.store.location) as db:
        db.execute("UPDATE windows SET day = day - 1")
    assert windows.get([b"0", b"read", b"none"]) == {b"0": (b"1", True), b"read": (b"1", True)}
    windows.put({b"new": (document.id, b"2")}, [b"read"], 7)
    left = windows.get([*old, b"read", b"new"])
    assert left == dict.fromkeys(old[2:], (b"1", True)) | {b"read": (b"1", False), b"new": (b"2", False)}
