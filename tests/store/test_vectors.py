"""Vector search and vectors in every store."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from qmd.errors import ModelError
from qmd.features.portable.copying import copy
from qmd.store.base import Store
from qmd.store.values import Embedded, Scope, VectorSet
from qmd.text.query import parse
from qmd.types import Chunk
from tests.store.material import (
    DIMENSION,
    EMBEDDER,
    QUERIES,
    TEXTS,
    Opens,
    assert_alike,
    changed,
    config,
    dense_rows,
    embed,
    embedded,
    everything,
    fill,
    lexical_rows,
    vector,
)


@pytest.mark.slow
def test_vector_search_equals_that_of_sqlite(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
        each.documents.apply(
            "b", [changed("copy.md", TEXTS["ops/backup.md"]), changed("own.md", "only in b")], []
        )
        assert not each.vectors.exist(EMBEDDER, everything())
        assert each.pending.count(EMBEDDER, everything()) == len(TEXTS) + 1
        assert each.pending.count(EMBEDDER, everything("b")) == 2
        assert embed(each, scope=everything("b")) == 2
        assert each.pending.count(EMBEDDER, everything()) == len(TEXTS) - 1
        assert embed(each) == len(TEXTS) - 1
        assert each.pending.count(EMBEDDER, everything()) == 0
        assert each.vectors.exist(EMBEDDER, everything("b"))
        assert not each.vectors.exist(EMBEDDER, everything("none"))
        assert not each.vectors.exist("other", everything())
    for seed in ("one", "two", TEXTS["long.md"][40:80], TEXTS["笔记/部署.md"][:40]):
        for scope in (everything(), everything("b"), everything("none")):
            for limit in (1, 5, 100):
                got, wanted = (dense_rows(each, vector(seed), scope, limit) for each in (store, oracle))
                assert_alike(got, wanted)
    assert store.vector_sets.token_frequencies(
        EMBEDDER, [ord("e"), ord("部"), 7]
    ) == oracle.vector_sets.token_frequencies(EMBEDDER, [ord("e"), ord("部"), 7])


def test_population_answers_like_a_store_of_its_own(store: Store, oracle: Store) -> None:
    short = {path: text for path, text in TEXTS.items() if path != "long.md"}
    hidden = {path: text for path, text in short.items() if path > "l"} | {
        "many.md": "deploy deployed deployer performance 部署 库存 foo_bar search page call on",
        "more.md": " ".join(f"performancx{number}" for number in range(4_500)),
    }
    store.collections.sync(config("a", "b", "c"))
    oracle.collections.sync(config("a", "c"))
    halves = [dict(list(short.items())[at::2]) for at in (0, 1)]
    store.documents.apply("b", [changed(path, text) for path, text in hidden.items()], [])
    for each in (store, oracle):
        for name, texts in zip("ac", halves, strict=True):
            each.documents.apply(name, [changed(path, text) for path, text in texts.items()], [])
        each.documents.refresh_statistics()
        embed(each, scope=everything("a", "b", "c"))
    for query in (*QUERIES, "performanc* call", "deploye*", "performancx12*"):
        for names in (("a", "c"), ("c",)):
            for limit in (2, 50):
                scope = Scope(names, population=("a", "c"))
                got = store.lexical.search(parse(query), scope, limit)
                wanted = oracle.lexical.search(parse(query), everything(*names), limit)
                assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))
                assert got.bound == pytest.approx(wanted.bound)
                assert got.idf == pytest.approx(wanted.idf)
    for seed in ("one", TEXTS["ops/deploy.md"][:40]):
        got_, wanted_ = (dense_rows(each, vector(seed), everything("a", "c"), 9) for each in (store, oracle))
        assert_alike(got_, wanted_)
    asked = [*map(ord, "ex部库#"), 7]
    known = oracle.vector_sets.token_frequencies(EMBEDDER, asked)
    assert store.vector_sets.token_frequencies(EMBEDDER, asked, ("a", "c")) == known
    assert store.vector_sets.token_frequencies(EMBEDDER, asked) != known
    assert store.vector_sets.token_frequencies(EMBEDDER, asked, ("none",)) == (0, [0] * len(asked))


def test_changed_population_is_counted_again(store: Store) -> None:
    fill(store)
    store.documents.apply("b", [changed("x.md", "deploy")], [])
    scope = Scope(("a",), population=("a",))
    before = store.lexical.search(parse("deploy"), scope, 5)
    store.documents.apply("b", [changed("y.md", "deploy deploy")], [])
    assert store.lexical.search(parse("deploy"), scope, 5) == before
    store.documents.refresh_statistics()
    assert store.lexical.search(parse("deploy"), scope, 5) == before
    store.documents.apply("a", [changed("y.md", "deploy deploy")], [])
    assert store.lexical.search(parse("deploy"), scope, 5).idf != before.idf


def test_similarities_of_chosen_documents_are_exact(store: Store, oracle: Store) -> None:
    found = []
    for each in (store, oracle):
        fill(each)
        embed(each)
        ids = {document.id: document.file for document in each.documents.listing("a")}
        matches = each.vectors.similarities(EMBEDDER, vector("q"), [*ids, 999])
        found.append(sorted((ids[key], match.chunk, match.similarity) for key, match in matches.items()))
    assert [row[:2] for row in found[0]] == [row[:2] for row in found[1]]
    assert [row[2] for row in found[0]] == pytest.approx([row[2] for row in found[1]], abs=1e-3)


def test_moved_or_copied_text_keeps_its_vectors(store: Store) -> None:
    fill(store)
    embed(store)
    text = TEXTS["ops/deploy.md"]
    store.documents.apply("b", [changed("moved.md", text)], [])
    store.documents.apply("a", [], ["ops/deploy.md"])
    assert store.pending.count(EMBEDDER, everything()) == 0
    ((_, file, similarity),) = dense_rows(store, vector(text[:40]), everything("b"), 5)
    assert (file, similarity) == ("b/moved.md", pytest.approx(1.0, abs=1e-3))
    assert "a/ops/deploy.md" not in [row[1] for row in dense_rows(store, vector(text[:40]), everything(), 99)]


def test_removed_text_keeps_its_vectors_until_prune(store: Store) -> None:
    fill(store)
    embed(store)
    store.documents.apply("a", [], ["ops/deploy.md"])
    store.documents.apply("a", [changed("ops/back.md", TEXTS["ops/deploy.md"])], [])
    assert store.pending.count(EMBEDDER, everything()) == 0
    store.documents.apply("a", [], ["ops/back.md"])
    assert store.documents.prune() == 1
    store.documents.apply("a", [changed("ops/back.md", TEXTS["ops/deploy.md"])], [])
    assert store.pending.count(EMBEDDER, everything()) == 1


def test_edited_document_is_not_found_by_its_old_text(store: Store) -> None:
    fill(store)
    embed(store)
    store.documents.apply("a", [changed("ops/deploy.md", "all new", version=2)], [])
    old = vector(TEXTS["ops/deploy.md"][:40])
    assert "a/ops/deploy.md" not in [row[1] for row in dense_rows(store, old, everything(), 99)]
    assert embed(store) == 1
    assert dense_rows(store, vector("all new"), everything(), 1)[0][1] == "a/ops/deploy.md"


@pytest.mark.slow
def test_partly_embedded_text_is_found_stays_pending_and_is_resumed(store: Store) -> None:
    fill(store, {"long.md": TEXTS["long.md"], "short.md": "short"})
    made = VectorSet(EMBEDDER, "model")
    short, long = store.pending.lease(EMBEDDER, everything(), "a", 10, 600)
    whole = embedded([long])[0]
    chunks = len(whole.chunks)

    def part(start: int, end: int) -> Embedded:
        return Embedded(
            long.content,
            whole.chunks[start:end],
            whole.vectors[start:end],
            whole.tokens[start:end],
            continues=end < chunks,
        )

    def state() -> tuple[int | None, int, int]:
        pending = {each.content: each for each in store.pending.texts(EMBEDDER, everything(), 0, 10)}
        counted = store.vector_sets.token_frequencies(EMBEDDER, [])[0]
        return pending[long.content].embedded_from, store.vector_sets.chunk_counts()[EMBEDDER], counted

    store.vectors.add(made, [*embedded([short]), part(chunks - 30, chunks)])
    assert state() == (chunks - 30, 31, 31)
    assert store.pending.count(EMBEDDER, everything()) == 1
    (left,) = store.pending.sizes(EMBEDDER, everything())
    assert left == whole.chunks[chunks - 30].start
    # The embedded part is found, and each chunk only once.
    last = vector(long.text[whole.chunks[-1].start :])
    assert dense_rows(store, last, everything(), 5)[0][1] == "a/long.md"
    assert store.vector_sets.activate(EMBEDDER, everything()) is None
    assert store.upkeep.faults(lambda _: None) == []

    # The worker keeps the text until it is complete. Then any worker resumes it from there.
    assert store.pending.lease(EMBEDDER, everything(), "b", 10, 600) == []
    store.pending.release("a")
    (resumed,) = store.pending.lease(EMBEDDER, everything(), "b", 10, 600)
    assert resumed.embedded_from == chunks - 30
    # Chunks that exist already, or that would leave a gap, are ignored.
    store.vectors.add(made, [part(chunks - 40, chunks - 20), part(3, 9)])
    assert state() == (chunks - 40, 41, 41)
    # Another document with the same text has the same vectors.
    store.documents.apply("b", [changed("copy.md", long.text)], [])
    assert dense_rows(store, last, everything("b"), 5)[0][1] == "b/copy.md"
    store.vectors.add(made, [part(0, chunks - 40)])
    assert store.pending.count(EMBEDDER, everything()) == 0
    assert store.pending.sizes(EMBEDDER, everything()) == []
    first = vector(long.text[:40])
    assert {row[1] for row in dense_rows(store, first, everything(), 2)} == {"a/long.md", "b/copy.md"}
    assert store.vector_sets.token_frequencies(EMBEDDER, [])[0] == chunks + 1
    assert store.vector_sets.activate(EMBEDDER, everything()) == []
    assert store.upkeep.faults(lambda _: None) == []


def test_text_whose_vectors_were_dropped_is_embedded_from_its_start(store: Store) -> None:
    fill(store, {"long.md": TEXTS["long.md"]})
    made = VectorSet(EMBEDDER, "model")
    (item,) = store.pending.lease(EMBEDDER, everything(), "a", 10, 600)
    (whole,) = embedded([item])
    half = len(whole.chunks) // 2
    begin = Embedded(item.content, whole.chunks[half:], whole.vectors[half:], whole.tokens[half:])
    rest = Embedded(item.content, whole.chunks[:half], whole.vectors[:half], whole.tokens[:half], True)
    store.vectors.add(made, [begin])
    store.vector_sets.drop(everything(), EMBEDDER)
    store.vectors.add(made, [rest])
    assert store.pending.count(EMBEDDER, everything()) == 1
    assert [each.embedded_from for each in store.pending.texts(EMBEDDER, everything(), 0, 10)] == [None]


def test_partly_embedded_text_is_copied_and_completed_later(store: Store, oracle: Store) -> None:
    fill(oracle, {"long.md": TEXTS["long.md"]})
    made = VectorSet(EMBEDDER, "model")
    (whole,) = embedded(oracle.pending.texts(EMBEDDER, everything(), 0, 10))
    parts = [
        Embedded(
            whole.content,
            whole.chunks[at : at + 100],
            whole.vectors[at : at + 100],
            whole.tokens[at : at + 100],
            at + 100 < len(whole.chunks),
        )
        for at in range(0, len(whole.chunks), 100)
    ]
    done = 0
    for count in (1, 2, len(parts) - 3):
        for _ in range(count):
            oracle.vectors.add(made, [parts.pop()])
        report = copy(oracle, store, config("a", "b"))
        held = oracle.vector_sets.chunk_counts()[EMBEDDER]
        assert (store.vector_sets.chunk_counts()[EMBEDDER], report.chunks) == (held, held - done)
        done = held
    assert store.pending.count(EMBEDDER, everything()) == 0
    assert store.vector_sets.token_frequencies(EMBEDDER, [ord("w")]) == oracle.vector_sets.token_frequencies(
        EMBEDDER, [ord("w")]
    )


def test_lease_returns_small_texts_first(store: Store) -> None:
    words = [2_000, 3, 90, 12_000, 400]
    fill(store, {f"{count}.md": f"{count} " + "word " * count for count in words})
    leased = []
    while found := store.pending.lease(EMBEDDER, everything(), "a", 2, 600):
        leased += [int(item.title.removesuffix(".md")) for item in found]
    assert leased == sorted(words)


def test_vector_search_refuses_vectors_of_another_length(store: Store) -> None:
    fill(store)
    embed(store)
    short = np.ones(DIMENSION // 2, np.float32) / np.sqrt(np.float32(DIMENSION // 2))
    with pytest.raises(ModelError):
        store.vectors.search(EMBEDDER, short, everything(), 3)
    with pytest.raises(ModelError):
        store.vectors.similarities(EMBEDDER, short, [1])


@pytest.mark.slow
def test_drop_removes_vectors_by_scope(store: Store, oracle: Store) -> None:
    answers = []
    for each in (store, oracle):
        fill(each)
        each.documents.apply("b", [changed("own.md", "only in b")], [])
        embed(each)
        embed(each, "other")
        chunks = each.vector_sets.chunk_counts()
        dropped = each.vector_sets.drop(everything("b"), EMBEDDER)
        left = each.pending.count(EMBEDDER, everything()), each.pending.count("other", everything())
        rest = each.vector_sets.drop(everything(), EMBEDDER)
        sets = [made.fingerprint for made in each.vector_sets.all()]
        answers.append((chunks, dropped, left, rest, sets, each.vector_sets.chunk_counts()))
    assert answers[0] == answers[1]


def test_activate_replaces_other_sets_once_every_text_is_embedded(store: Store, opens: Opens) -> None:
    fill(store)
    embed(store)
    made = VectorSet("new", "a new model", "model", "hf:somewhere")
    first, *rest = store.pending.texts("new", everything(), 0, 100)
    chunk = [Chunk(0, 0, 1, 1, 1)]
    store.vectors.add(made, [Embedded(first.content, chunk, vector("x")[None], [[1]])])
    assert store.vector_sets.activate("new", everything()) is None
    assert store.vector_sets.activate("unknown", everything()) is None
    assert {each.fingerprint for each in store.vector_sets.all()} == {EMBEDDER, "new"}
    store.vectors.add(made, [Embedded(each.content, chunk, vector("y")[None], [[1]]) for each in rest])
    assert store.vector_sets.activate("new", everything()) == ["model"]
    assert opens().vector_sets.all() == [replace(made, complete=True)]
    assert store.vectors.exist("new", everything())
    assert not store.vectors.exist(EMBEDDER, everything())


def test_sample_returns_first_chunks_as_embedded(store: Store) -> None:
    fill(store)
    embed(store)
    found = store.vectors.sample(EMBEDDER, 5)
    assert 2 <= len({each.text for each in found}) <= 5
    for each in found:
        assert any(text.startswith(each.text) for text in TEXTS.values())
        assert each.vector @ vector(each.text) == pytest.approx(1.0, abs=1e-3)
    assert store.vectors.sample("other", 5) == []
