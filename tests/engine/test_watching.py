"""The watcher indexes changes of files, whichever program makes them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import qmd
from qmd.engine.watching.election import find_watcher
from tests.conftest import Notes
from tests.engine.saving import (
    atomic,
    emacs,
    hard_link,
    in_place,
    jetbrains,
    real_rsync,
    real_vim,
    rsync,
    vim,
)
from tests.waiting import until
from tests.watching import watched


@pytest.mark.parametrize(
    "save", [in_place, vim, emacs, atomic, jetbrains, hard_link, real_vim], ids=lambda save: save.__name__
)
def test_watcher_finds_a_saved_file_of_every_editor(
    index: qmd.Index, notes: Notes, save: Callable[[Path, str], None]
) -> None:
    root = notes({"a.md": "alpha\n", "other.md": "alpha\n"})
    index.add_collection(str(root))
    with watched(index) as seen:
        save(root / "a.md", "bravo charlie")
        seen.until_found("bravo", "a.md")
        seen.until_found("alpha", "other.md")
        save(root / "a.md", "delta")
        seen.until_found("delta", "a.md")
        until(lambda: seen.current)
        # The watcher scanned only the file itself, and no other file of the editor.
        assert {path for path, _ in seen.diary.changes} == {"a.md"}
        assert all(report.unchanged <= 1 for report in seen.diary.scans[1:])


def test_watcher_finds_changes_from_before_its_start(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n", "b.md": "alpha\n"})
    index.add_collection(str(root))
    notes({"c.md": "charlie\n"})
    (root / "b.md").unlink()
    with watched(index) as seen:
        assert (seen.found("charlie"), seen.found("alpha")) == (["c.md"], ["a.md"])
        assert sorted(seen.diary.changes) == [("b.md", "removed"), ("c.md", "new")]


def test_watcher_watches_new_folders_with_their_files(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n"})
    index.add_collection(str(root))
    with watched(index) as seen:
        notes({"new/deep/b.md": "bravo\n"})
        seen.until_found("bravo", "new/deep/b.md")
        until(lambda: seen.folders == 3)
        notes({"new/deep/c.md": "charlie\n"})
        seen.until_found("charlie", "new/deep/c.md")


def test_watcher_keeps_documents_of_a_renamed_folder(index: qmd.Index, notes: Notes) -> None:
    root = notes({f"old/deep/{number}.md": f"alpha {number}\n" for number in range(30)})
    index.add_collection(str(root))
    with watched(index) as seen:
        (root / "old").rename(root / "new")
        seen.until_found("alpha", *(f"new/deep/{number}.md" for number in range(30)))
        until(lambda: seen.folders == 3)
        notes({"new/deep/0.md": "bravo\n", "old/deep/0.md": "charlie\n"})
        seen.until_found("bravo", "new/deep/0.md")
        seen.until_found("charlie", "old/deep/0.md")


def test_watcher_follows_a_folder_moved_out_and_in_again(
    index: qmd.Index, notes: Notes, tmp_path: Path
) -> None:
    root = notes({"sub/a.md": "alpha\n", "b.md": "bravo\n"})
    index.add_collection(str(root))
    with watched(index) as seen:
        (root / "sub").rename(tmp_path / "away")
        seen.until_found("alpha")
        (tmp_path / "away" / "a.md").write_text("charlie\n", encoding="utf-8")
        (tmp_path / "away").rename(root / "back")
        seen.until_found("charlie", "back/a.md")
        notes({"back/a.md": "delta\n"})
        seen.until_found("delta", "back/a.md")


def test_watcher_removes_documents_deleted_before_others_appear(index: qmd.Index, notes: Notes) -> None:
    root = notes({"old/a.md": "alpha\n", "old/b.md": "alpha\n"})
    index.add_collection(str(root))
    with watched(index) as seen:
        shutil.rmtree(root / "old")
        # An empty folder may be a mistake, so nothing is removed and the index is not reported as current.
        until(lambda: any("nothing was removed" in message for message in seen.diary.messages))
        until(lambda: not seen.current)
        notes({"new/c.md": "bravo\n"})
        seen.until_found("bravo", "new/c.md")
        seen.until_found("alpha")
        until(lambda: seen.current)


@pytest.mark.slow
def test_watcher_follows_git_checkout_of_300_files(index: qmd.Index, notes: Notes) -> None:
    root = notes({f"{number % 7}/{number}.md": f"alpha {number}\n" for number in range(300)})

    def git(*args: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *identity, "-C", str(root), *args], check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "alpha")
    git("checkout", "-b", "other")
    for number in range(300):
        file = root / f"{number % 7}" / f"{number}.md"
        if number % 3:
            file.write_text(f"bravo {number}\n", encoding="utf-8")
        else:
            file.unlink()
    git("add", "-A")
    git("commit", "-m", "bravo")
    index.add_collection(str(root))
    with watched(index) as seen:
        assert len(seen.found("bravo")) == 200
        git("checkout", "main")
        until(lambda: len(seen.found("alpha")) == 300 and not seen.found("bravo"))
        git("checkout", "other")
        until(lambda: len(seen.found("bravo")) == 200 and not seen.found("alpha"))


@pytest.mark.parametrize("copy", [rsync, real_rsync], ids=lambda copy: copy.__name__)
def test_watcher_follows_rsync_with_delete(
    index: qmd.Index, notes: Notes, copy: Callable[[dict[str, str], Path], None]
) -> None:
    root = notes({f"old/{number}.md": f"alpha {number}\n" for number in range(50)})
    index.add_collection(str(root))
    with watched(index) as seen:
        copy({f"new/{number}.md": f"bravo {number}\n" for number in range(40)}, root)
        seen.until_found("bravo", *(f"new/{number}.md" for number in range(40)))
        seen.until_found("alpha")


def test_watcher_keeps_documents_if_the_root_vanishes_and_returns_empty(
    index: qmd.Index, notes: Notes, tmp_path: Path
) -> None:
    root = notes({"a.md": "alpha\n", "b.md": "bravo\n"})
    index.add_collection(str(root))
    with watched(index) as seen:
        root.rename(tmp_path / "elsewhere")
        until(lambda: any("does not exist" in message for message in seen.diary.messages))
        assert seen.found("alpha") == ["a.md"]
        state = find_watcher(index.locations.index)
        assert state is not None and state.collections["notes"].mode == "missing"
        root.mkdir()
        until(lambda: any("nothing was removed" in message for message in seen.diary.messages))
        assert seen.found("alpha") == ["a.md"]
        root.rmdir()
        (tmp_path / "elsewhere").rename(root)
        notes({"c.md": "charlie\n"})
        seen.until_found("charlie", "c.md")
        assert seen.found("alpha") == ["a.md"]


def _copied(root: Path, spare: Path) -> None:
    shutil.rmtree(root)
    shutil.copytree(spare, root)


def _swapped(root: Path, spare: Path) -> None:
    root.rename(root.parent / "old")
    shutil.copytree(spare, root.parent / "new")
    (root.parent / "new").rename(root)
    shutil.rmtree(root.parent / "old")


def _away_and_back(root: Path, spare: Path) -> None:
    root.rename(root.parent / "away")
    root.mkdir()
    shutil.copytree(spare, root.parent / "away", dirs_exist_ok=True)
    root.rmdir()
    (root.parent / "away").rename(root)


def _below_another_parent(root: Path, spare: Path) -> None:
    parent, other = root.parent, root.parent.parent / "other"
    parent.rename(other)
    root.mkdir(parents=True)
    shutil.copytree(spare, root, dirs_exist_ok=True)
    shutil.rmtree(other)


@pytest.mark.parametrize(
    "replace_root", [_copied, _swapped, _away_and_back, _below_another_parent], ids=lambda how: how.__name__
)
def test_watcher_follows_a_replaced_root(
    index: qmd.Index, notes: Notes, tmp_path: Path, replace_root: Callable[[Path, Path], None]
) -> None:
    spare = tmp_path / "spare"
    root = notes({"parent/root/a.md": "alpha\n"}) / "parent" / "root"
    index.add_collection(str(root), name="root")
    with watched(index) as seen:
        for turn in range(5):
            shutil.copytree(root, spare)
            (spare / "sub").mkdir(exist_ok=True)
            (spare / "sub" / "a.md").write_text(f"turn{turn}\n", encoding="utf-8")
            replace_root(root, spare)
            seen.until_found(f"turn{turn}", "sub/a.md")
            until(lambda: seen.current)
            (root / "sub" / "b.md").write_text(f"later{turn}\n", encoding="utf-8")
            seen.until_found(f"later{turn}", "sub/b.md")
            shutil.rmtree(spare)
            if turn > 0:
                assert not seen.found(f"turn{turn - 1}")


def test_watcher_follows_new_roots_and_collections(index: qmd.Index, notes: Notes) -> None:
    first, second = notes({"a.md": "alpha\n"}, "first"), notes({"b.md": "alpha\n"}, "second")
    index.add_collection(str(first))
    index.add_collection(str(second))
    shutil.rmtree(second)
    with watched(index) as seen:
        notes({"c.md": "charlie\n"}, "second")
        seen.until_found("charlie", "c.md")
        index.add_collection(str(notes({"d.md": "delta\n"}, "third")))
        notes({"e.md": "echo\n"}, "third")
        seen.until_found("echo", "e.md")
        index.remove_collection("first")
        until(lambda: seen.folders == 2)


def test_watcher_ignores_a_collection_with_watch_false(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "alpha\n"}, "first")))
    index.add_collection(str(notes({"b.md": "bravo\n"}, "second")))
    config = Path(index.locations.config)
    config.write_text(config.read_text().replace("  first:", "  first:\n    watch: false"))
    with watched(index) as seen:
        notes({"new.md": "charlie\n"}, "first")
        notes({"new.md": "charlie\n"}, "second")
        until(lambda: seen.found("charlie"))
        assert [hit.file for hit in index.search("charlie").hits] == ["second/new.md"]
        assert seen.folders == 1


def test_watcher_ignores_folders_that_cannot_hold_documents(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n", "drafts/b.md": "bravo\n", "sub/c.md": "charlie\n"})
    for number in range(3_000):
        (root / "node_modules" / str(number)).mkdir(parents=True)
    index.add_collection(str(root), ignore=["drafts/**"])
    with watched(index) as seen:
        assert seen.folders == 2
        scans = len(seen.diary.scans)
        notes({"node_modules/7/x.md": "delta\n", "drafts/d.md": "delta\n", "image.png": "x"})
        notes({"e.md": "echo\n"})
        seen.until_found("echo", "e.md")
        until(lambda: len(seen.diary.scans) > scans)  # the scan ends after its documents are found
        assert (seen.found("delta"), len(seen.diary.scans)) == ([], scans + 1)


def test_watcher_follows_links(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n", ".hidden/b.md": "bravo\n"})
    index.add_collection(str(root))
    with watched(index) as seen:
        (root / "shown").symlink_to(".hidden", target_is_directory=True)
        seen.until_found("bravo", "shown/b.md")
        notes({".hidden/c.md": "charlie\n"})
        seen.until_found("charlie", "shown/c.md")
        (root / "shown").unlink()
        seen.until_found("bravo")


def test_watcher_updates_collections_that_share_a_folder(index: qmd.Index, notes: Notes) -> None:
    root = notes({"sub/a.md": "alpha\n"})
    index.add_collection(str(root), "whole")
    index.add_collection(str(root / "sub"), "part")
    with watched(index) as seen:
        notes({"sub/b.md": "bravo\n"})
        seen.until_found("bravo", "b.md", "sub/b.md")
        index.remove_collection("whole")
        until(lambda: seen.folders == 1)
        notes({"sub/c.md": "charlie\n"})
        seen.until_found("charlie", "c.md")


@pytest.mark.slow
def test_watcher_indexes_thousands_of_files(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n"})
    index.add_collection(str(root))
    with watched(index) as seen:
        notes({f"{number % 50}/{number}.md": f"bravo {number}\n" for number in range(3_000)})
        until(lambda: index.status().total_documents == 3_001)
        until(lambda: seen.folders == 51 and seen.current)
        # Make more changes than the system can queue.
        with Path("/proc/sys/fs/inotify/max_queued_events").open() as limit:
            files = int(limit.read())
        for number in range(files):
            (root / "1" / f"{number}.tmp").touch()
        notes({"1/last.md": "charlie\n"})
        seen.until_found("charlie", "1/last.md")
