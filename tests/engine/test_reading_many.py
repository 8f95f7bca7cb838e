"""Many files are read in child processes: the index is as if this process had read them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import qmd
from qmd.engine.indexing import scan
from qmd.sources import children, reading
from tests.conftest import Notes

NOTEBOOK = {"cells": [{"cell_type": "markdown", "source": "a stork"}], "metadata": {}, "nbformat": 4}
#: Texts in several charsets and scripts, with fields, links and aliases; short, long and very long ones.
TEXTS = {
    "fields.md": "---\nversion: 1.10\ndue: 2024-3-7\naliases: [Heron, Reiher]\n---\n"
    "# Fields\n\n[x](long.md) #tag\n",
    "long.md": "# Long\n\n"
    + "".join(f"## Part {at}\n\nThe heron **wa**its, and `waits` more.\n\n" for at in range(90)),
    "longer.md": "# Longer\n\n" + "The egret waits for the heron. \n" * 5_000,
    "german.md": "# Vögel\n\nDer Reiher und die Störche sind nicht in der Stadt, und das ist gut.\n",
    "chinese.md": "# 数据库\n\n数据库的备份与恢复。\n" * 60,
    "plain.txt": "The stork is with the heron.\n",
    "empty.md": " \n",
    "sub/box.ipynb": json.dumps(NOTEBOOK),
    "broken.ipynb": "{",
    **{f"many/{at}.md": f"# Note {at}\n\nheron {at} and egret\n" for at in range(40)},
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


@pytest.fixture
def folder(notes: Notes) -> Path:
    made = notes(TEXTS)
    (made / "latin.md").write_bytes("# Café\n\nDie Störche sind größer als der Reiher.\n".encode("cp1252"))
    (made / "invalid.md").write_bytes(b"# Caf\xc3\xa9\n\nheron \xff\n")
    (made / "binary.md").write_bytes(bytes(range(256)) * 9)
    return made


def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few files be many, in messages of some files, two at a time also on one processor."""
    monkeypatch.setattr(reading, "_MANY", 0)
    monkeypatch.setattr(reading, "_MESSAGE", 2_000)
    monkeypatch.setattr(reading, "processors", lambda: 2)


def rows(index: qmd.Index) -> dict[str, list[object]]:
    """Return what the index file has of its documents, and the places of all terms."""
    queries = {
        "documents": "SELECT path, title, hash, size, mtime_ns, author, date FROM documents d "
        "JOIN contents t ON t.id = content_id ORDER BY path",
        "structures": "SELECT hash, structure FROM structures JOIN contents ON id = content_id ORDER BY hash",
        "fields": "SELECT path, name, type, value, first FROM document_fields f JOIN documents d "
        "ON d.id = document_id JOIN field_values v ON v.id = value_id JOIN field_names n ON n.id = field_id "
        "ORDER BY path, name, type, v.key, value",
        "links": "SELECT path, number, line, kind, target, name FROM links JOIN documents d "
        "ON d.id = document_id ORDER BY path, number",
        "terms": "SELECT term, path, col, offset FROM places JOIN documents d ON d.id = doc "
        "ORDER BY 1, 2, 3, 4",
    }
    with contextlib.closing(apsw.Connection(index.locations.index)) as db:
        db.execute("CREATE VIRTUAL TABLE temp.places USING fts5vocab('main', documents_fts, instance)")
        return {name: db.execute(query).fetchall() for name, query in queries.items()}


def test_index_is_the_same(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name, threads in (("here", "1"), ("apart", "2")):
        home = {"HOME": str(tmp_path / name), "QMD_THREADS": threads}
        with qmd.open_index(tmp_path / f"{name}.sqlite", environ=home) as index:
            if name == "apart":
                many(monkeypatch)
            report = index.add_collection(str(folder), formats=["all"])
            notices, problems = report.notices, sorted(report.problems)
            notes = [note for note in index.status().notes if "could not be read" in note or "bytes" in note]
            assert not [
                fault for fault in index.doctor() if fault.check == "index" and fault.level == "problem"
            ]
            found.append((report.added, problems, notices, notes, rows(index)))
    here, apart = found
    assert here[0] == len(
        TEXTS
    )  # the empty and the two broken ones are none, latin.md and invalid.md two more
    for one, other in zip(here, apart, strict=True):
        assert one == other


def processes() -> Iterator[int]:
    """Yield the child processes of this one that read files."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            status = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if int(status[1]) == os.getpid() and status[0] != "Z" and b"qmd.sources.child" in words:
                yield int(entry.name)


def at_each_batch(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> scan.OnProgress:
    monkeypatch.setattr(scan, "BATCH_FILES", 4)
    return lambda name, done, total: act()


@linux
def test_killed_process_costs_no_file(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(monkeypatch)
    killed: list[int] = []

    def kill() -> None:
        if not killed:
            killed.extend(processes())
            for process in killed:
                os.kill(process, signal.SIGKILL)

    folder = notes({f"{at}.md": f"# Note {at}\n\nheron\n" for at in range(300)})
    report = index.add_collection(str(folder), on_progress=at_each_batch(monkeypatch, kill))
    assert killed
    assert (report.added, report.problems) == (300, [])


@linux
def test_interrupt_ends_the_processes_and_leaves_a_good_index(
    index: qmd.Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(monkeypatch)
    seen = []

    def interrupt() -> None:
        seen.append([*processes()])
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add_collection(str(folder), on_progress=at_each_batch(monkeypatch, interrupt))
    assert any(seen) and not [*processes()]
    before = {document.path for document in index.documents()}
    assert before
    assert all(finding.level != "problem" for finding in index.doctor())
    (report,) = index.update()
    assert report.unchanged == len(before)
    assert report.unchanged + report.added == sum(path.endswith(".md") for path in TEXTS) - 1 + 2


def test_file_that_takes_too_long_costs_itself(
    index: qmd.Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(children, "SECONDS", 0.0)
        report = index.add_collection(str(folder))
    assert report.added + len(report.problems) == sum(path.endswith(".md") for path in TEXTS) + 3
    assert {reason.partition(": ")[2] for _, reason in report.problems} <= {
        "too slow (more than 0 s)",
        "not text",
    }
    (report,) = index.update(failed=True)
    assert [path for path, _ in report.problems] == ["binary.md"]
    assert report.unchanged + report.added == sum(path.endswith(".md") for path in TEXTS) - 1 + 2
