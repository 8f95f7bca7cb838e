"""The watcher itself: notifiers, polling, election, embedding, and its state in status and doctor."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

import qmd
from qmd.engine.watching.election import WatchState
from qmd.engine.watching.notify import Inotify, Recursive
from qmd.models.base import CancelledError
from tests.conftest import Notes
from tests.engine.saving import vim
from tests.waiting import until
from tests.watching import FAST, watched

#: The state if no process watches.
FALLBACK = WatchState(0, "", "")


class Limited(Inotify):
    """A notifier of a system with few watches."""

    def add(self, folders: Iterable[str], *, place: bool = False) -> None:
        wanted = [*folders]
        if len(wanted) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().add(wanted, place=place)


def no_instances() -> Inotify:
    raise OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    "notifier", [Limited, no_instances, lambda: None], ids=["limit", "instances", "none"]
)
def test_watcher_polls_if_the_system_has_no_watches_left(
    index: qmd.Index, notes: Notes, notifier: Callable[[], Inotify | None]
) -> None:
    root = notes({f"{number}/a.md": "alpha\n" for number in range(5)})
    index.add_collection(str(root))
    with watched(index, notifier=notifier, timing=replace(FAST, poll=0.05)) as seen:
        notes({"0/b.md": "bravo\n"})
        seen.until_found("bravo", "0/b.md")
        state = index.status().watcher
        assert state is not None
        assert (state.collections["notes"].mode, state.folders) == ("polling", 0)
        assert state.collections["notes"].reason
        assert state.collections["notes"].checked


def test_watcher_works_with_recursive_watches(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n", "node_modules/x.md": "alpha\n"})
    index.add_collection(str(root))
    with watched(index, notifier=Recursive) as seen:
        notes({"sub/b.md": "bravo\n", "node_modules/y.md": "bravo\n"})
        seen.until_found("bravo", "sub/b.md")
        (root / "sub").rename(root / "moved")
        seen.until_found("bravo", "moved/b.md")
        index.add_collection(str(notes({"c.md": "charlie\n"}, "other")))
        notes({"d.md": "delta\n"}, "other")
        seen.until_found("delta", "d.md")
        vim(root / "a.md", "echo")
        seen.until_found("echo", "a.md")


def test_full_scan_finds_changes_without_events(index: qmd.Index, notes: Notes) -> None:
    class Deaf(Inotify):
        """A notifier that reports nothing."""

        def wait(self, seconds: float) -> list[object]:  # type: ignore[override]
            super().wait(seconds)
            return []

    root = notes({"a.md": "alpha\n"})
    index.add_collection(str(root))
    with watched(index, notifier=Deaf, timing=replace(FAST, full_scan=0.2)) as seen:
        notes({"b.md": "bravo\n"})
        seen.until_found("bravo", "b.md")


def test_idle_watcher_writes_nothing(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n"})
    index.add_collection(str(root))
    folder = Path(index.locations.index).parent

    def state() -> dict[str, tuple[int, int]]:
        files = [file for file in folder.iterdir() if file.is_file()]
        return {file.name: (file.stat().st_mtime_ns, file.stat().st_size) for file in files}

    with watched(index, timing=replace(FAST, full_scan=0.1)) as seen:
        until(lambda: len(seen.diary.scans) > 2 and seen.current)
        before, scans = state(), len(seen.diary.scans)
        until(lambda: len(seen.diary.scans) > scans + 3)
        assert state() == before


def test_indexed_at_is_the_present_while_all_changes_are_indexed(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n"})
    index.add_collection(str(root))
    scanned = index.indexed_at()
    assert scanned is not None
    with watched(index):
        first = index.indexed_at()
        assert first is not None and first > scanned
        until(lambda: (index.indexed_at() or "") > first)
        assert index.limited(["notes"]).indexed_at() is not None
    after = index.indexed_at()
    assert after == index.indexed_at()


def test_status_and_doctor_report_the_watcher(index: qmd.Index, notes: Notes) -> None:
    first = notes({"a.md": "alpha\n", "sub/b.md": "bravo\n"}, "first")
    index.add_collection(str(first))
    index.add_collection(str(notes({"a.md": "alpha\n"}, "second")))
    assert index.status().watching == "off"
    assert [each.message for each in index.doctor() if each.check == "watching"] == [
        "no process watches the folders"
    ]
    with watched(index):
        status = index.status()
        assert status.watching == "events"
        assert status.watcher is not None
        assert {name: each.folders for name, each in status.watcher.collections.items()} == {
            "first": 2,
            "second": 1,
        }
        visible = index.limited(["second"]).status().watcher
        assert visible is not None
        assert (set(visible.collections), visible.folders) == ({"second"}, 1)
        (found,) = [each.message for each in index.doctor() if each.check == "watching"]
        assert found == f"test (process {os.getpid()}) watches 3 folders"
    assert index.status().watching == "off"


def test_watcher_is_elected_and_another_takes_over(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n"})
    index.add_collection(str(root))
    with qmd.open_index(index.locations.index, environ=index._workspace.environ) as other:
        with watched(index) as first:
            import threading

            from qmd.engine.index_work import IndexWork
            from qmd.engine.watching.watcher import Watcher
            from tests.watching import Diary

            diary = Diary()
            second = Watcher(IndexWork(other, lambda: False), "second", diary, timing=FAST)
            thread = threading.Thread(target=second.run)
            thread.start()
            until(lambda: diary.messages)
            assert "watches already" in diary.messages[0]
            notes({"b.md": "bravo\n"})
            first.until_found("bravo", "b.md")
            assert (second.state, diary.scans) == (None, [])
        try:
            until(lambda: second.state is not None and second.state.current)
            notes({"c.md": "charlie\n"})
            until(lambda: ("c.md", "new") in diary.changes)
        finally:
            second.stop()
            thread.join()


@pytest.mark.slow
def test_watcher_embeds_changed_documents_unless_manual(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "A small boat on the lake.\n"}, "first")))
    index.add_collection(str(notes({"b.md": "Bread from the oven.\n"}, "second")))
    config = Path(index.locations.config)
    config.write_text(config.read_text().replace("  second:", "  second:\n    embed: manual"))
    with watched(index, embed=True) as seen:
        until(lambda: seen.diary.embedded_texts == 1)
        assert [hit.path for hit in index.vsearch("a vessel on the water", min_score=0.0).hits] == ["a.md"]
        notes({"c.md": "A train through the mountains.\n"}, "first")
        until(lambda: seen.diary.embedded_texts == 2)
        hits = index.vsearch("railway", min_score=0.0).hits
        assert hits[0].path == "c.md"
        assert index.missing_vectors().texts == 1
        until(lambda: seen.watcher.state is not None and seen.watcher.state.embedding == "idle")


@pytest.mark.slow
def test_watcher_embeds_what_another_process_has_indexed(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "A small boat on the lake.\n"}, "first")))
    with watched(index, embed=True) as seen:
        until(lambda: seen.diary.embedded_texts == 1)
        with qmd.open_index(index.locations.index, environ=index._workspace.environ) as other:
            other.add_collection(str(notes({"b.md": "Bread from the oven.\n"}, "second")))
        until(lambda: seen.diary.embedded_texts == 2)
    assert index.missing_vectors().texts == 0


@pytest.mark.slow
def test_rescan_in_the_background_gives_the_same_report(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha\n", "b.md": "alpha\n"})
    index.add_collection(str(root))
    notes({"a.md": "bravo\n", "sub/c.md": "bravo\n"})
    (root / "b.md").unlink()
    report = index.rescan("notes", ["a.md", "b.md", "sub"], background=True)
    assert (report.added, report.updated, report.removed, report.error) == (1, 1, 1, None)
    assert sorted(hit.path for hit in index.search("bravo").hits) == ["a.md", "sub/c.md"]
    shutil.rmtree(root)
    error = index.rescan("notes", background=True).error
    assert error is not None and "does not exist" in error.message
    with pytest.raises(CancelledError):
        index.rescan("notes", background=True, cancelled=lambda: True)


@pytest.mark.slow
@pytest.mark.models
def test_embed_in_the_background_makes_the_same_vectors(index: qmd.Index, notes: Notes) -> None:
    texts = {f"{number}.md": f"# Note {number}\n\n" + "boats on the lake " * 40 for number in range(4)}
    index.add_collection(str(notes(texts)))
    with pytest.raises(CancelledError):
        index.embed(background=True, cancelled=lambda: True)
    # Searches go first, but each share follows them.
    report = index.embed(
        background=True, on_progress=lambda _: [*index.search("boats").hits], cancelled=lambda: False
    )
    assert (report.texts, index.missing_vectors().texts) == (4, 0)
    assert len(index.vsearch("ships", min_score=0.0).hits) == 4


@pytest.mark.slow
def test_watcher_publishes_an_error_of_embedding(index: qmd.Index, notes: Notes) -> None:
    environ = {**index._workspace.environ, "QMD_EMBED_MODEL": "/nowhere/model.gguf"}
    index.add_collection(str(notes({"a.md": "alpha\n"})))
    with (
        qmd.open_index(index.locations.index, environ=environ) as broken,
        watched(broken, embed=True) as seen,
    ):
        until(lambda: any(message.startswith("embedding: ") for message in seen.diary.messages))
        until(lambda: "model.gguf" in (broken.status().watcher or FALLBACK).embedding)
        warnings = [each for each in broken.doctor() if (each.check, each.level) == ("watching", "warning")]
        assert "cannot embed" in warnings[0].message
        notes({"b.md": "bravo\n"})
        seen.until_found("bravo", "b.md")
