"""Upkeep and the cache of model answers in every store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from qmd.store.base import Store
from qmd.store.values import Retention
from qmd.text.query import parse
from tests.store.material import (
    EMBEDDER,
    Opens,
    changed,
    embed,
    everything,
    fill,
    vector,
)


def test_answers_are_cached_and_cleared(store: Store, opens: Opens) -> None:
    store.answers.put({"k1": "v1", "鍵": '{"a": "b\\n"}'})
    assert (opens().answers.get("k1"), store.answers.get("鍵"), store.answers.get("k2")) == (
        "v1",
        '{"a": "b\\n"}',
        None,
    )
    store.upkeep.clear(Retention(None, None, datetime.now(UTC) + timedelta(days=1)), lambda _: None)
    assert store.answers.get("k1") is None


@pytest.mark.slow
def test_clear_removes_data_outside_the_retention(store: Store, oracle: Store) -> None:
    answers = []
    for each in (store, oracle):
        fill(each)
        each.documents.apply("b", [changed("own.md", "only in b")], [])
        embed(each)
        embed(each, "other")
        each.answers.put({"k": "v"})
        each.documents.apply("a", [], ["ops/deploy.md"])
        keep = Retention(("a",), (EMBEDDER,), datetime.now(UTC) + timedelta(days=1))
        found = {waste.kind: waste.count for waste in each.upkeep.waste(keep)}
        each.upkeep.clear(keep, lambda _: None)
        named = ("answers", "documents", "texts", "vectors")
        left = [waste for waste in each.upkeep.waste(keep) if waste.kind in named]
        rest = sorted(document.file for document in each.documents.listing())
        answers.append(([found.get(kind) for kind in named[:3]], found["vectors"] > 0, left, rest))
        assert each.upkeep.faults(lambda _: None) == []
        assert set(each.vector_sets.chunk_counts()) == {EMBEDDER}
    assert answers[0] == answers[1]


def test_store_without_an_index_is_read_as_empty(store: Store) -> None:
    assert store.size() == 0
    assert store.collections.stats() == {}
    assert store.lexical.search(parse("x"), everything(), 5).matches == ()
    assert store.vectors.search(EMBEDDER, vector("x"), everything(), 5) == []
    assert store.vectors.similarities(EMBEDDER, vector("x"), [1]) == {}
    assert store.pending.texts(EMBEDDER, everything(), 0, 5) == []
    assert store.pending.count(EMBEDDER, everything()) == 0
    assert (store.documents.prune(), list(store.documents.listing()), store.answers.get("k")) == (0, [], None)
    assert store.upkeep.waste(Retention(None, None, datetime.now(UTC))) == []
    assert store.upkeep.faults(lambda _: None) == []
    assert (store.vector_sets.chunk_counts(), store.vector_sets.all()) == ({}, [])
