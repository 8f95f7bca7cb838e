"""An index that stays open while other processes restore, replace or delete its file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import qmd
from qmd.engine.upkeep.backup import restore
from tests.conftest import Notes

Restore = Callable[[str], object]


@pytest.fixture
def settled(index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> qmd.Index:
    """An index of one embedded document at the default path of commands."""
    monkeypatch.setenv("QMD_INDEX_PATH", index.locations.index)
    index.add_collection(str(notes({"a.md": "# Heron\n\nThe heron stands in the water.\n"})), "notes")
    index.embed()
    return index


@pytest.fixture
def put_back(settled: qmd.Index, environ: dict[str, str]) -> Restore:
    """Restore the index from a file, as another process would."""
    variables = environ | {"QMD_INDEX_PATH": settled.locations.index}
    return lambda path: restore(None, path, environ=variables)


def titles(index: qmd.Index, query: str) -> list[str]:
    return [hit.title for hit in index.search(query).hits]


def test_open_index_reads_the_restored_index(
    settled: qmd.Index, put_back: Restore, notes: Notes, tmp_path: Path
) -> None:
    copy = settled.backup(str(tmp_path / "copy.sqlite")).path
    notes({"a.md": "# Crane\n\nThe crane lifts steel.\n"})
    settled.update()
    assert (titles(settled, "heron"), titles(settled, "crane")) == ([], ["Crane"])
    put_back(copy)
    assert (titles(settled, "heron"), titles(settled, "crane")) == (["Heron"], [])
    assert settled.update()[0].updated == 1
    assert titles(settled, "crane") == ["Crane"]


def test_vectors_of_before_a_restore_are_not_used_afterwards(
    settled: qmd.Index, put_back: Restore, notes: Notes, tmp_path: Path
) -> None:
    # With more documents than are compared exactly, the rest is found only by the vector blocks.
    notes({f"{number}.md": f"# Motor {number}\n\nA motor has a part {number}.\n" for number in range(70)})
    settled.update()
    settled.embed()
    copy = settled.backup(str(tmp_path / "copy.sqlite")).path
    for text in ("# Bread\n\nFlour, water and salt.\n", "# Engine\n\nPistons and valves of a motor.\n"):
        notes({"b.md": text})
        settled.update()
        settled.embed()
        # The blocks have the same numbers and versions before and after.
        best = settled.vsearch("pistons and valves", min_score=0.0, limit=1).hits[0]
        if text.startswith("# Bread"):
            assert best.title.startswith("Motor")
            put_back(copy)
    assert best.title == "Engine"


@pytest.mark.parametrize("way", ["moved over it", "taken away, then copied"])
def test_open_index_notices_a_file_replaced_by_hand(
    settled: qmd.Index, notes: Notes, environ: dict[str, str], tmp_path: Path, way: str
) -> None:
    path = settled.locations.index
    copy = settled.backup(str(tmp_path / "copy.sqlite")).path
    notes({"a.md": "# Crane\n\nThe crane lifts steel.\n"})
    settled.update()
    assert titles(settled, "crane") == ["Crane"]
    if way == "moved over it":
        os.replace(copy, path)
        for ending in ("-wal", "-shm"):
            Path(path + ending).unlink(missing_ok=True)
    else:
        for ending in ("", "-wal", "-shm"):
            Path(path + ending).unlink(missing_ok=True)
        assert titles(settled, "crane") == []
        shutil.copyfile(copy, path)
    assert titles(settled, "heron") == ["Heron"]
    # Changes go to the new file, and other processes see them.
    settled.update()
    with qmd.open_index(path, environ=environ) as other:
        assert titles(other, "crane") == ["Crane"]


def test_deleted_index_is_created_again(settled: qmd.Index) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(settled.locations.index + ending).unlink(missing_ok=True)
    assert titles(settled, "heron") == []
    settled.update()
    assert titles(settled, "heron") == ["Heron"]


def test_collection_renamed_in_index_yml_keeps_its_documents(settled: qmd.Index) -> None:
    config = Path(settled.locations.config)
    config.write_text(config.read_text(encoding="utf-8").replace("  notes:", "  birds:"), encoding="utf-8")
    (report,) = settled.update()
    assert (report.collection, report.added, report.unchanged) == ("birds", 0, 1)
    assert [hit.file for hit in settled.search("heron").hits] == ["birds/a.md"]
    assert [hit.file for hit in settled.vsearch("heron").hits] == ["birds/a.md"]


def test_rename_already_seen_by_another_process_is_no_conflict(settled: qmd.Index) -> None:
    from qmd.config import editing

    editing.rename_collection(settled.locations.config, "notes", "birds")
    settled.update()
    settled._store.collections.rename("notes", "birds")
    assert [hit.file for hit in settled.search("heron").hits] == ["birds/a.md"]


def test_sync_with_an_older_configuration_keeps_newer_collections(
    settled: qmd.Index, notes: Notes, environ: dict[str, str]
) -> None:
    path = settled.locations.index
    with qmd.open_index(path, environ=environ) as late:
        older = late.config
        settled.add_collection(str(notes({"b.md": "# Bread\n\nbread\n"}, "other")), "other")
        settled.rename_collection("notes", "birds")
        late._store.collections.sync(older)
    assert [hit.file for hit in settled.search("bread").hits] == ["other/b.md"]
    assert [hit.file for hit in settled.search("heron").hits] == ["birds/a.md"]


def test_collections_that_swap_names_keep_their_documents(settled: qmd.Index, notes: Notes) -> None:
    settled.add_collection(str(notes({"b.md": "# Bread\n\nbread\n"}, "other")), "other")
    config = Path(settled.locations.config)
    text = config.read_text(encoding="utf-8")
    text = text.replace("  notes:", "  x:").replace("  other:", "  notes:").replace("  x:", "  other:")
    config.write_text(text, encoding="utf-8")
    settled.update()
    assert [hit.file for hit in settled.search("heron").hits] == ["other/a.md"]
    assert [hit.file for hit in settled.search("bread").hits] == ["notes/b.md"]


def test_add_collection_that_fails_does_not_change_the_configuration(
    settled: qmd.Index, notes: Notes, environ: dict[str, str]
) -> None:
    path, other = settled.locations.index, str(notes({"b.md": "bread"}, "other"))
    writer = apsw.Connection(path)
    writer.execute("BEGIN IMMEDIATE")
    with qmd.open_index(path, environ=environ | {"QMD_SQLITE_BUSY_TIMEOUT": "1"}) as index:
        with pytest.raises(qmd.BusyError):
            index.add_collection(other, "other")
        assert list(index.config.collections) == ["notes"]
        writer.close()
        assert index.add_collection(other, "other").added == 1
