"""Edits by several processes, and by processes that are killed or cannot write."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from qmd.config import editing
from qmd.config.atomic import locked
from qmd.config.index_yml import load
from qmd.errors import ConfigError
from qmd.types import Collection
from tests.waiting import until

from .processes import (
    SPAWN,
    add_as_nobody,
    add_when_all_are_there,
    add_with_a_full_disk,
    edit_for_ever,
    in_process,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach, unlike the test's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_concurrent_add_collection_keeps_all_collections(tmp_path: Path) -> None:
    path = str(tmp_path / "conf" / "index.yml")
    names = ["one", "two", "three"]
    barrier = SPAWN.Barrier(4)
    processes = [SPAWN.Process(target=add_when_all_are_there, args=(path, name, barrier)) for name in names]
    # No process can start before all are ready.
    with locked(path):
        for process in processes:
            process.start()
        barrier.wait()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert sorted(load(path).collections) == sorted(names)


def test_concurrent_add_collection_of_one_name_adds_it_once(tmp_path: Path) -> None:
    path = str(tmp_path / "index.yml")
    barrier = SPAWN.Barrier(2)
    processes = [SPAWN.Process(target=add_when_all_are_there, args=(path, "one", barrier)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted(process.exitcode or 0 for process in processes) == [0, 1]
    assert list(load(path).collections) == ["one"]


def test_killed_edit_leaves_a_whole_file_and_no_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "index.yml")
    editing.add_collection(path, Collection("notes", "/data/notes"))
    for _ in range(3):
        barrier = SPAWN.Barrier(2)
        process = SPAWN.Process(target=edit_for_ever, args=(path, barrier))
        process.start()
        barrier.wait()
        first = load(path).digest
        # A reader sees either file, never a part of one: otherwise load would fail.
        until(lambda first=first: load(path).digest != first, process.is_alive)
        process.kill()
        process.join()
        assert list(load(path).collections) == ["notes"]
        editing.set_context(path, None, "", "after")
        assert load(path).global_context == "after"


def test_edit_on_a_full_disk_is_a_one_line_error_and_keeps_the_file(tmp_path: Path) -> None:
    path = tmp_path / "index.yml"
    path.write_text("collections:\n  a: {path: /a}\n", encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="cannot be written") as caught:
        in_process(add_with_a_full_disk, str(path), "b")
    assert "\n" not in caught.value.message
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.tmp"))


def test_edit_in_a_read_only_folder_is_a_one_line_error(
    open_folder: Path,
) -> None:
    path = open_folder / "index.yml"
    path.write_text("collections:\n  a: {path: /a}\n", encoding="utf-8")
    open_folder.chmod(0o555)
    with pytest.raises(ConfigError, match="cannot be written: Permission denied") as caught:
        in_process(add_as_nobody, str(path), "b")
    assert "\n" not in caught.value.message
    assert list(load(str(path)).collections) == ["a"]
