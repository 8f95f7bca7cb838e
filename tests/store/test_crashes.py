"""A process that is killed while it writes to Milvus: the index stays consistent and is completed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.text.query import parse
from tests.store.killed import WORKER, begin, change
from tests.store.material import (
    EMBEDDER,
    TEXTS,
    assert_alike,
    dense_rows,
    embed_leased,
    everything,
    lexical_rows,
    vector,
)

pytestmark = pytest.mark.milvus
_ROOT = Path(__file__).resolve().parents[2]
_QUERIES = ("deploy", "pelicans", "数据库 备份", '"on call"', "perform")


def _killed(url: str, writes: int, *more: str) -> bool:
    """Run the process; return whether it was killed before its end."""
    command = [sys.executable, "-m", "tests.store.killed", url, str(writes), *more]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def _answers(store: Store) -> list[list[tuple[str, str, float]]]:
    words = [lexical_rows(store, store.lexical.search(parse(query), everything(), 9)) for query in _QUERIES]
    seeds = ("x", "pelicans deploy differently now", TEXTS["ops/backup.md"][:40])
    return words + [dense_rows(store, vector(seed), everything(), 9) for seed in seeds]


def _files(store: Store) -> list[tuple[str, str]]:
    return [(each.file, each.hash) for each in store.documents.listing()]


def _assert_whole_and_resumable(url: str, before: Store, after: Store) -> None:
    store = open_store("", url, {})
    assert _files(store) in ([], _files(before), _files(after))
    whole = after if _files(store) == _files(after) else before
    if _files(store):
        for got, wanted in zip(_answers(store)[: len(_QUERIES)], _answers(whole), strict=False):
            assert_alike(got, wanted)
        for seed in (TEXTS["ops/deploy.md"][:40], TEXTS["ops/backup.md"][:40]):
            found = {row[1] for row in dense_rows(store, vector(seed), everything(), 99)}
            assert found <= {file for file, _ in _files(store)}
    begin_and_change(store, again=_files(store) != _files(after))
    assert _files(store) == _files(after)
    assert store.upkeep.faults(lambda _: None) == []
    assert store.pending.count(EMBEDDER, everything()) == 0
    for got, wanted in zip(_answers(store), _answers(after), strict=True):
        assert_alike(got, wanted)
    tokens = [ord(letter) for letter in "pelican数"]
    assert store.vector_sets.token_frequencies(EMBEDDER, tokens) == after.vector_sets.token_frequencies(
        EMBEDDER, tokens
    )
    store.close()


def begin_and_change(store: Store, *, again: bool) -> None:
    """Do the work of the next run: everything, or the rest if `again`."""
    if again and not list(store.documents.listing()):
        begin(store)
    elif again:
        embed_leased(store, WORKER)
    change(store)


@pytest.fixture
def states(tmp_path: Path) -> tuple[Store, Store]:
    """The index before and after the change, on SQLite."""
    before, after = (open_store(str(tmp_path / f"{name}.sqlite"), None, {}) for name in ("before", "after"))
    begin(before)
    begin(after)
    change(after)
    return before, after


@pytest.mark.parametrize("writes", [2, 5, 9, 12])
def test_killed_write_leaves_an_index_that_the_next_run_completes(
    tmp_path: Path, states: tuple[Store, Store], writes: int
) -> None:
    url = f"milvus://{tmp_path}/index.db"
    prepared = open_store("", url, {})
    begin(prepared)
    prepared.close()
    assert _killed(url, writes)
    _assert_whole_and_resumable(url, *states)


@pytest.mark.parametrize("writes", [5, 24])
def test_killed_creation_is_completed_by_the_next_run(
    tmp_path: Path, states: tuple[Store, Store], writes: int
) -> None:
    url = f"milvus://{tmp_path}/index.db"
    assert _killed(url, writes, "fresh")
    _assert_whole_and_resumable(url, *states)


def test_killed_write_to_a_server_is_completed_by_the_next_run(
    served: str, states: tuple[Store, Store]
) -> None:
    prepared = open_store("", served, {})
    begin(prepared)
    prepared.close()
    assert _killed(served, 9)
    _assert_whole_and_resumable(served, *states)


def test_collections_not_loaded_by_the_server_are_loaded(served: str) -> None:
    """The server that served the file was killed, and another one has replaced it."""
    from pymilvus import MilvusClient

    store = open_store("", served, {})
    begin(store)
    before = _answers(store), _files(store), store.pending.count(EMBEDDER, everything())
    address, _, database = served.removeprefix("milvus://").partition("/")
    other = MilvusClient(f"http://{address}", db_name=database)

    def release() -> None:
        for name in other.list_collections():
            other.release_collection(name)

    release()
    assert _files(store) == before[1]
    release()
    assert _answers(store) == before[0]
    release()
    assert store.pending.count(EMBEDDER, everything()) == before[2]
    release()
    assert store.collections.remove("a")
    assert _files(store) == []
    other.close()
    store.close()
