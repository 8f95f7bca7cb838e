"""Leases of texts: no text is embedded twice, and none is left out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from qmd.store.base import Store
from qmd.store.sqlite.store import SqliteStore
from qmd.store.values import DocumentChange, Embedded, Scope, VectorSet
from qmd.types import Chunk, Collection, Config, Fingerprint, SourceText

NOTES = Scope(("notes",))
MODEL = VectorSet("model", "m")
VECTOR = np.array([[0.6, 0.8]], np.float32)


def source(number: int) -> SourceText:
    text = f"# Note {number}\n\nText {number}\n"
    return SourceText(text, hashlib.sha256(text.encode()).hexdigest(), f"Note {number}")


def fill(store: Store, count: int) -> None:
    store.collections.sync(Config("index.yml", "", {"notes": Collection("notes", "/notes")}))
    changed = [DocumentChange(f"{n}.md", Fingerprint(1, n, n), source(n)) for n in range(count)]
    store.documents.apply("notes", changed, [])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = SqliteStore(str(tmp_path / "index.sqlite"))
    fill(made, 10)
    yield made
    made.close()


def leased(store: Store, worker: str, limit: int = 4, seconds: float = 60.0) -> set[str]:
    return {item.title for item in store.pending.lease("model", NOTES, worker, limit, seconds)}


def test_lease_gives_no_text_to_two_workers(store: Store) -> None:
    first, second, third = (leased(store, worker) for worker in ("a", "b", "a"))
    assert (len(first), len(second), len(third)) == (4, 4, 2)
    assert first | second | third == {f"Note {n}" for n in range(10)}
    assert leased(store, "c") == set()


def test_released_texts_can_be_leased_again(store: Store) -> None:
    first = leased(store, "a")
    store.pending.release("a")
    assert leased(store, "b") == first


def test_lease_expires(store: Store) -> None:
    first = leased(store, "a", seconds=0.0)
    assert leased(store, "b") == first


def test_lease_from_before_a_clock_change_expires(store: Store) -> None:
    first = leased(store, "a", seconds=1e9)
    assert leased(store, "b") == first


def test_embedded_text_is_not_leased_again(store: Store) -> None:
    items = store.pending.lease("model", NOTES, "a", 10, 60.0)
    chunk = Chunk(0, 0, 5, 1, 1)
    store.vectors.add(MODEL, [Embedded(items[0].content, [chunk], VECTOR, [[1]])])
    store.pending.release("a")
    assert items[0].title not in leased(store, "b", limit=10)
    # Another model has not embedded it.
    assert items[0].title in {item.title for item in store.pending.lease("other", NOTES, "b", 10, 60.0)}


def test_deleted_text_loses_its_lease(store: Store) -> None:
    leased(store, "a", limit=10)
    store.documents.apply("notes", [], ["0.md"])
    store.documents.prune()
    store.documents.apply("notes", [DocumentChange("0.md", Fingerprint(1, 0, 0), source(0))], [])
    assert leased(store, "b", limit=10) == {"Note 0"}


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5)), max_size=20))
def test_leases_of_many_workers_never_overlap(asked: list[tuple[str, int]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(f"{folder}/index.sqlite")
        fill(store, 12)
        held: list[str] = []
        for worker, limit in asked:
            held += leased(store, worker, limit)
        store.close()
    assert len(held) == len(set(held)) == min(12, sum(limit for _, limit in asked))


def test_vectors_and_answers_can_be_copied_to_another_store(store: Store, tmp_path: Path) -> None:
    items = store.pending.lease("model", NOTES, "a", 10, 60.0)
    chunks = [Chunk(0, 0, 5, 1, 1), Chunk(1, 5, 9, 2, 3)]
    vectors = np.array([[0.6, 0.8], [1.0, 0.0]], np.float32)
    store.vectors.add(MODEL, [Embedded(items[0].content, chunks, vectors, [[1, 2], [2]])])
    store.answers.put({"key": "answer"})
    found = store.vectors.of_texts("model", [items[0].hash, items[1].hash, "unknown"])
    assert list(found) == [items[0].hash]
    assert found[items[0].hash][0] == chunks
    np.testing.assert_allclose(found[items[0].hash][1], vectors, atol=1e-3)
    assert store.vector_sets.all_token_frequencies("model") == (2, {1: 1, 2: 2})
    assert store.vector_sets.all_token_frequencies("other") == (0, {})
    assert dict(store.answers.items()) == {"key": "answer"}

    other = SqliteStore(str(tmp_path / "other.sqlite"))
    fill(other, 1)
    item = other.pending.texts("model", NOTES, 0, 10)[0]
    other.vector_sets.import_statistics(MODEL, 7, {5: 3})
    assert other.vector_sets.all_token_frequencies("model") == (0, {})
    other.vectors.add(MODEL, [Embedded(item.content, chunks, vectors, [[9], []])])
    other.vector_sets.import_statistics(MODEL, 7, {5: 3})
    assert other.vector_sets.all_token_frequencies("model") == (7, {5: 3})
    assert other.vector_sets.token_frequencies("model", [5, 9]) == (7, [3, 0])
    other.close()


def test_texts_released_behind_a_worker_are_leased_in_the_end(store: Store) -> None:
    behind = leased(store, "a")
    ahead = leased(store, "b")
    store.pending.release("a")
    assert leased(store, "b", limit=10).isdisjoint(behind | ahead)
    assert leased(store, "b", limit=10) == behind
