"""A small change takes as many steps in a large index as in a small one, counted by SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from qmd.store.base import Store
from qmd.store.sqlite.store import SqliteStore
from qmd.store.values import VectorSet
from qmd.text.query import parse
from tests.store.material import EMBEDDER, changed, embedded, everything, fill

pytestmark = pytest.mark.slow

SMALL, LARGE = 300, 3_000
#: If every document were read, there would be ten times as many.
GROWTH = 2.0


@pytest.fixture
def steps() -> Iterator[Callable[[], int]]:
    """Return the steps of SQLite's virtual machine since the last call."""
    counted = 0

    def count(event: dict[str, Any]) -> None:
        nonlocal counted
        # FTS5's own statements keep counting between their uses.
        if "'documents_fts_" not in event["sql"]:
            counted += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, count)

    def since() -> int:
        nonlocal counted
        found, counted = counted, 0
        return found

    apsw.connection_hooks.append(watch)
    yield since
    apsw.connection_hooks.remove(watch)


def edit(store: Store) -> None:
    store.documents.apply("a", [changed("7.md", "another text", version=2)], [])


def remove(store: Store) -> None:
    store.documents.apply("a", [], ["7.md"])


def move(store: Store) -> None:
    store.documents.apply("a", [changed("moved.md", "text number 7")], ["7.md"])


def lease_and_embed(store: Store) -> None:
    # The first lease looks for texts without vectors, and later ones continue there.
    found = store.pending.lease(EMBEDDER, everything(), "worker", 5, 60)
    store.vectors.add(VectorSet(EMBEDDER, "model"), embedded(found))


def find(store: Store) -> None:
    document = store.documents.find("a", "7.md")
    assert document is not None
    store.documents.texts([document.id])
    store.documents.by_hash(document.hash[:8])


@pytest.mark.parametrize("work", [edit, remove, move, lease_and_embed, find])
def test_effort_for_one_document_does_not_grow_with_the_index(
    tmp_path: Path, steps: Callable[[], int], work: Callable[[Store], None]
) -> None:
    taken = []
    for size in (SMALL, LARGE):
        store = SqliteStore(str(tmp_path / f"{size}.sqlite"))
        fill(store, {f"{number}.md": f"text number {number}" for number in range(size)})
        waiting = store.pending.texts(EMBEDDER, everything(), 0, size - 10)
        store.vectors.add(VectorSet(EMBEDDER, "model"), embedded(waiting))
        store.pending.lease(EMBEDDER, everything(), "worker", 2, 60)
        steps()
        work(store)
        taken.append(steps())
        store.close()
    assert 0 < taken[1] < GROWTH * taken[0], taken


def test_statistics_merge_what_batches_have_left(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "index.sqlite"))
    fill(store, {f"{number}.md": f"text number {number}" for number in range(SMALL)})
    for number in range(5):
        store.documents.apply("a", [changed(f"later {number}.md", f"text number {SMALL + number}")], [])
    with closing(apsw.Connection(store.location)) as db:
        parts = "SELECT count(DISTINCT segid) FROM documents_fts_idx"
        assert db.execute(parts).get > 1
        before = store.lexical.search(parse("text 302"), everything("a"), 10)
        store.documents.refresh_statistics(force=True)
        assert db.execute(parts).get == 1
    assert store.lexical.search(parse("text 302"), everything("a"), 10) == before
    assert store.upkeep.faults(lambda _: None) == []
    store.close()
