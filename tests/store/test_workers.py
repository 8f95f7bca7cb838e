"""Moving vectors between stores, and several workers of one store."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from msgspec.structs import replace

from qmd.errors import StoreError
from qmd.store.base import Store
from qmd.store.values import VectorSet
from qmd.types import Collection, Config
from tests import milvus
from tests.store.material import (
    EMBEDDER,
    TEXTS,
    Opens,
    embed,
    embed_leased,
    everything,
    fill,
    vector,
)


@pytest.mark.slow
def test_vectors_and_answers_are_read_by_hash(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
        embed(each)
        each.answers.put({"k": "v", "l": "w"})
    assert sorted(store.answers.items()) == [("k", "v"), ("l", "w")]
    assert store.vector_sets.all_token_frequencies(EMBEDDER) == oracle.vector_sets.all_token_frequencies(
        EMBEDDER
    )
    assert store.vector_sets.all_token_frequencies("other") == (0, {})
    hashes = [document.hash for document in store.documents.listing()]
    got, wanted = (each.vectors.of_texts(EMBEDDER, [*hashes, "0" * 64]) for each in (store, oracle))
    assert got.keys() == wanted.keys() == set(hashes)
    for each in hashes:
        assert got[each][0] == wanted[each][0]
        assert np.allclose(got[each][1], wanted[each][1], atol=1e-3)
    store.vector_sets.import_statistics(VectorSet(EMBEDDER, "copied", complete=True), 7, {3: 2, 5: 1})
    assert [each.complete for each in store.vector_sets.all()] == [True]
    assert store.vector_sets.all_token_frequencies(EMBEDDER) == (7, {3: 2, 5: 1})
    assert store.vector_sets.token_frequencies(EMBEDDER, [3, ord("e")]) == (7, [2, 0])


def test_two_workers_never_hold_the_same_text(store: Store, opens: Opens) -> None:
    fill(store)
    other = opens()
    first = store.pending.lease(EMBEDDER, everything(), "one", 5, 600)
    second = other.pending.lease(EMBEDDER, everything(), "two", 5, 600)
    assert (len(first), len(second)) == (5, 5)
    # A worker does not get the texts that it has leased again.
    assert other.pending.lease(EMBEDDER, everything(), "two", 0, 600) == []
    assert {each.hash for each in first}.isdisjoint(each.hash for each in second)
    assert len(store.pending.lease(EMBEDDER, everything(), "three", 50, 600)) == len(TEXTS) - 10
    # A text is free again if it is released, embedded, or leased for too long.
    other.pending.release("two")
    again = store.pending.lease(EMBEDDER, everything(), "four", 50, -1)
    assert {each.hash for each in again} == {each.hash for each in second}
    again = store.pending.lease(EMBEDDER, everything(), "five", 50, 600)
    assert {each.hash for each in again} == {each.hash for each in second}
    embed(store)
    assert store.pending.lease(EMBEDDER, everything(), "six", 50, 600) == []
    store.vector_sets.drop(everything(), EMBEDDER)
    assert len(store.pending.lease(EMBEDDER, everything(), "six", 50, 600)) == len(TEXTS)


def test_deleted_documents_do_not_end_the_work_of_a_worker(store: Store) -> None:
    texts = {f"{number}.md": f"text number {number}" for number in range(40)}
    fill(store, texts)
    given = {item.hash for item in store.pending.lease(EMBEDDER, everything(), "worker", 2, 600)}
    kept = {document.path: document.hash for document in list(store.documents.listing("a"))[::8]}
    store.documents.apply("a", [], [path for path in texts if path not in kept])
    while found := store.pending.lease(EMBEDDER, everything(), "worker", 2, 600):
        given |= {item.hash for item in found}
    assert given >= set(kept.values())


@pytest.mark.parametrize("kind", ["sqlite", milvus.KINDS[1]], indirect=True)
def test_concurrent_embedding_loses_no_count_and_repeats_no_text(store: Store, opens: Opens) -> None:
    texts = {f"{number}.md": f"text number {number} about pelicans" for number in range(40)}
    fill(store, texts)
    stores = [opens() for _ in range(4)]
    with ThreadPoolExecutor(len(stores)) as pool:
        done = list(pool.map(lambda at: embed_leased(stores[at], f"worker {at}", 2), range(len(stores))))
    assert sum(done) == len(texts)
    assert store.vector_sets.chunk_counts() == {EMBEDDER: len(texts)}
    chunks, counts = store.vector_sets.all_token_frequencies(EMBEDDER)
    assert (chunks, counts[ord("p")]) == (len(texts), len(texts))
    assert counts == Counter(ord(letter) for text in texts.values() for letter in set(text))


def test_open_store_continues_after_another_dropped_vectors(store: Store, opens: Opens) -> None:
    fill(store)
    embed(store)
    other = opens()
    assert other.vectors.search(EMBEDDER, vector("x"), everything(), 3)
    store.vector_sets.drop(everything(), EMBEDDER)
    with suppress(StoreError):  # the cached state of the store is outdated once
        other.vectors.search(EMBEDDER, vector("x"), everything(), 3)
    assert other.vectors.search(EMBEDDER, vector("x"), everything(), 3) == []
    assert embed(store) == len(TEXTS)
    assert other.vectors.search(EMBEDDER, vector("x"), everything(), 3)


def test_sync_rewrites_a_configuration_copy_of_another_version(store: Store, opens: Opens) -> None:
    config = Config("/c/index.yml", "1", {"a": Collection("a", "/files/a")}, archive="/posts")
    store.collections.sync(config)
    assert opens().collections.config_copy(config.path, "1") == config
    # The same bytes of the file, read by a version that knows more settings.
    newer = replace(config, store="milvus://localhost:19530/")
    store.collections.sync(newer)
    assert opens().collections.config_copy(config.path, "1") == newer
