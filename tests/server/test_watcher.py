"""Scans of collections whose files change."""

from __future__ import annotations

import logging
import shutil
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path

import anyio
import pytest

import qmd
from qmd.server.index_host import IndexHost
from qmd.server.watcher import Watch, Watcher, watch_folders
from tests.conftest import Notes


def found(index: qmd.Index, word: str) -> list[str]:
    return [hit.path for hit in index.search(word).hits]


def follow(index: qmd.Index, watch: Watch) -> None:
    """Let a refresher go on until what it watches has no more to tell."""

    async def run() -> None:
        host = IndexHost(lambda: index)
        async with anyio.create_task_group() as tasks:

            async def watched(folders: Collection[str]) -> AsyncIterator[Collection[str]]:
                async for changed in watch(folders):
                    yield changed
                tasks.cancel_scope.cancel()
                await anyio.sleep_forever()

            tasks.start_soon(Watcher(host, watched).run)
        host.close()

    anyio.run(run)


def told(*steps: Callable[[], str | None]) -> Watch:
    """A watch that does things, and tells the path that each changed."""

    async def watch(folders: Collection[str]) -> AsyncIterator[Collection[str]]:
        for step in (lambda: None, *steps, lambda: None):
            changed = step()
            yield [changed] if changed else []

    return watch


def test_watcher_finds_changes_from_before_the_start(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n"})
    index.add_collection(str(root))
    notes({"b.md": "bravo\n"})
    follow(index, told())
    assert found(index, "bravo") == ["b.md"]


def test_watcher_finds_changes(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n"})
    index.add_collection(str(root))

    def write() -> str:
        notes({"sub/b.md": "bravo\n"})
        return str(root / "sub" / "b.md")

    def remove() -> str:
        assert found(index, "bravo") == ["sub/b.md"]
        (root / "a.md").unlink()
        return str(root / "a.md")

    follow(index, told(write, remove))
    assert found(index, "alpha") == []


def test_only_collections_that_change_are_scanned(index: qmd.Index, notes: Notes) -> None:
    first, second = notes({"a.md": "alpha\n"}, "first"), notes({"b.md": "bravo\n"}, "second")
    index.add_collection(str(first))
    index.add_collection(str(second))

    def write() -> str:
        notes({"new.md": "charlie\n"}, "first")
        notes({"new.md": "charlie\n"}, "second")
        return str(first / "new.md")

    follow(index, told(write))
    assert [hit.file for hit in index.search("charlie").hits] == ["first/new.md"]


def test_update_commands_are_not_run(index: qmd.Index, notes: Notes, tmp_path: Path) -> None:
    root = notes({"a.md": "alpha\n"})
    index.add_collection(str(root))
    index.set_update_command("notes", f"touch {tmp_path / 'ran'}")
    follow(index, told())
    assert not (tmp_path / "ran").exists()


def test_missing_folder_is_logged_and_others_are_watched(
    index: qmd.Index, notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = notes({"a.md": "alpha\n"}, "first"), notes({"b.md": "bravo\n"}, "second")
    index.add_collection(str(first))
    index.add_collection(str(second))
    shutil.rmtree(first)
    notes({"c.md": "charlie\n"}, "second")
    with caplog.at_level(logging.WARNING):
        follow(index, told())
    assert found(index, "charlie") == ["c.md"]
    assert "scan of first failed: " in caplog.text


def test_watcher_follows_added_collections(index: qmd.Index, notes: Notes) -> None:
    first = notes({"a.md": "alpha\n"}, "first")
    index.add_collection(str(first))
    watched: list[set[str]] = []

    async def watch(folders: Collection[str]) -> AsyncIterator[Collection[str]]:
        watched.append({Path(folder).name for folder in folders})
        if len(watched) == 1:
            index.add_collection(str(notes({"b.md": "bravo\n"}, "second")))
        yield []

    follow(index, watch)
    assert watched == [{"first"}, {"first", "second"}]


def test_watch_folders_yields_changed_paths(notes: Notes) -> None:
    root = notes({"a.md": "alpha\n"})

    async def run() -> None:
        changes = watch_folders([str(root), str(root / "missing")])
        assert await anext(changes) == []
        notes({"b.md": "bravo\n"})
        while not (changed := await anext(changes)):
            pass
        assert str(root / "b.md") in changed

    anyio.run(run)
