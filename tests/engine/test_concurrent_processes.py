"""Several processes, and processes that are killed: no document is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import qmd
from tests.conftest import Notes

pytestmark = pytest.mark.slow

ROUNDS = 10

INDEXING = """
import os, sys, qmd
with qmd.open_index(sys.argv[1], environ=os.environ) as index:
    print("ready", flush=True)
    index.update()
"""
EMBEDDING = """
import os, sys, qmd
with qmd.open_index(sys.argv[1], environ=os.environ) as index:
    index.model_provider.embedder.embed_queries(["warm"])
    print("ready", flush=True)
    index.embed()
"""
ADDING = """
import os, sys, qmd
with qmd.open_index(sys.argv[1], environ=os.environ) as index:
    index.add_collection(sys.argv[2], sys.argv[3])
"""


def start(script: str, environ: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_after_ready(process: subprocess.Popen[str], seconds: float) -> None:
    """Wait until the work has begun and at most `seconds` more, then kill the process."""
    assert process.stdout is not None
    process.stdout.readline()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.communicate()


def assert_consistent(path: str) -> None:
    connection = apsw.Connection(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.execute("INSERT INTO documents_fts(documents_fts) VALUES ('integrity-check')")
    differing = connection.execute(
        "SELECT count(*) FROM documents d LEFT JOIN documents_fts f ON f.rowid = d.id WHERE f.rowid IS NULL"
    ).fetchall()
    assert differing == [(0,)]
    connection.close()


def test_killed_scan_leaves_a_good_index_and_the_next_one_finishes(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    chance = random.Random(7)
    folder = notes({f"{n}.md": f"# Note {n}\n\n" + f"word{n} common text " * 30 for n in range(1500)})
    path = str(tmp_path / "index.sqlite")
    with qmd.open_index(path, environ=environ) as index:
        index.add_collection(str(notes({}, "empty")), "empty")
        Path(index.locations.config).write_text(
            f"collections:\n  notes:\n    path: {folder}\n", encoding="utf-8"
        )
    for turn in range(ROUNDS):
        for n in range(0, 1500, 3):
            (folder / f"{n}.md").write_text(f"# Note {n}\n\nword{n} turn{turn} " * 20, encoding="utf-8")
        kill_after_ready(start(INDEXING, environ, path), chance.uniform(0.0, 0.5))
        assert_consistent(path)
    with qmd.open_index(path, environ=environ) as index:
        index.update()
        assert index.status().total_documents == 1500
        assert len(index.search(f"turn{ROUNDS - 1}", limit=None).hits) == 500
    assert_consistent(path)


def test_killed_embed_continues_at_the_next_run(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    chance = random.Random(11)
    folder = notes({f"{n}.md": f"# Note {n}\n\nThe thing number {n} is described here." for n in range(600)})
    path = str(tmp_path / "index.sqlite")
    with qmd.open_index(path, environ=environ) as index:
        index.add_collection(str(folder), "notes")
        index.model_provider.embedder.embed_queries(["prepares the model"])
    pending = 600
    for _ in range(ROUNDS):
        kill_after_ready(start(EMBEDDING, environ, path), chance.uniform(0.0, 0.6))
        assert_consistent(path)
        with qmd.open_index(path, environ=environ) as index:
            left = index.status().needs_embedding
        assert left <= pending
        pending = left
    with qmd.open_index(path, environ=environ) as index:
        index.embed()
        assert index.status().needs_embedding == 0
        assert len(index.vsearch("a described thing", limit=None, min_score=0.0).hits) == 600


def test_concurrent_add_collection_keeps_all_collections(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    path = str(tmp_path / "index.sqlite")
    folders = [notes({f"{n}.md": f"word{at} {n}" for n in range(40)}, f"folder{at}") for at in range(3)]
    running = [start(ADDING, environ, path, str(folder), f"c{at}") for at, folder in enumerate(folders)]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    with qmd.open_index(path, environ=environ) as index:
        assert {each.name: each.documents for each in index.status().collections} == {
            "c0": 40,
            "c1": 40,
            "c2": 40,
        }
    assert_consistent(path)


def test_concurrent_updates_lose_no_document(tmp_path: Path, environ: dict[str, str], notes: Notes) -> None:
    path = str(tmp_path / "index.sqlite")
    folder = notes({f"{n}.md": f"first {n}" for n in range(600)})
    with qmd.open_index(path, environ=environ) as index:
        index.add_collection(str(folder), "notes")
    for n in range(600):
        (folder / f"{n}.md").write_text(f"second text {n}", encoding="utf-8")
    (folder / "0.md").unlink()
    running = [start(INDEXING, environ, path) for _ in range(4)]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    with qmd.open_index(path, environ=environ) as index:
        assert index.status().total_documents == 599
        assert len(index.search("second", limit=None).hits) == 599
    assert_consistent(path)


def test_embed_refuses_to_run_twice(index: qmd.Index, environ: dict[str, str], notes: Notes) -> None:
    from qmd.engine.embedding.batches import embedding_lock

    index.add_collection(str(notes({"a.md": "alpha"})), "notes")
    with embedding_lock(index.locations.index), pytest.raises(qmd.AlreadyRunningError, match="another"):
        index.embed()


RENAMING = """
import os, sys, qmd
with qmd.open_index(sys.argv[1], environ=os.environ) as index:
    print("ready", flush=True)
    for turn in range(1000):
        (old,) = index.config.collections
        index.rename_collection(old, "birds" if old == "notes" else "notes")
"""
READING = """
import os, sys, qmd
with qmd.open_index(sys.argv[1], environ=os.environ) as index:
    for turn in range(150):
        for hit in index.search(f"common word{turn}").hits:
            try:
                index.get(hit.docid)
            except qmd.DocumentNotFoundError:
                pass  # removed since
"""
WRITING = """
import os, sys, qmd
from pathlib import Path
folder = Path(sys.argv[2])
with qmd.open_index(sys.argv[1], environ=os.environ) as index:
    for turn in range(12):
        (folder / f"{turn}.md").write_text(f"common text{turn}", encoding="utf-8")
        if turn % 4 == 3:
            index.remove_collection(folder.name)
            index.add_collection(str(folder), folder.name)
        index.update([folder.name])
"""


def test_killed_rename_of_a_collection_loses_no_document(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    chance = random.Random(13)
    path = str(tmp_path / "index.sqlite")
    with qmd.open_index(path, environ=environ) as index:
        index.add_collection(str(notes({f"{n}.md": f"heron {n}" for n in range(50)})), "notes")
    for _ in range(ROUNDS):
        kill_after_ready(start(RENAMING, environ, path), chance.uniform(0.0, 0.1))
        assert_consistent(path)
        with qmd.open_index(path, environ=environ) as index:
            (report,) = index.update()
            assert (report.added, report.unchanged, report.removed) == (0, 50, 0)
            assert len(index.search("heron", limit=None).hits) == 50


def test_concurrent_readers_and_writers_raise_no_error(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    path = str(tmp_path / "index.sqlite")
    folders = [notes({f"{n}.md": f"common word{n}" for n in range(30)}, f"folder{at}") for at in range(3)]
    with qmd.open_index(path, environ=environ) as index:
        for folder in folders:
            index.add_collection(str(folder), folder.name)
    running = [start(WRITING, environ, path, str(folder)) for folder in folders]
    running += [start(READING, environ, path) for _ in range(3)]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    with qmd.open_index(path, environ=environ) as index:
        index.update()
        assert len(index.search("common", limit=None).hits) == 90
    assert_consistent(path)
