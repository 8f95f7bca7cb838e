"""What every store does alike."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from qmd.engine.upkeep.copying import copy
from qmd.errors import CollectionNotFoundError, ConfigError, ConflictError, ModelError, StoreError
from qmd.store.base import Store
from qmd.store.values import Applied, DocumentChange, Embedded, Retention, Scope, VectorSet
from qmd.text.filters import from_options
from qmd.text.predicates import Among, Not
from qmd.text.query import parse
from qmd.types import Chunk, Collection, Config, Fingerprint, SourceText
from tests import milvus
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
    embed_leased,
    embedded,
    everything,
    fill,
    lexical_rows,
    vector,
)

# -- documents ---------------------------------------------------------------------------------------------


def test_a_batch_says_what_it_did_and_is_in_the_manifest(store: Store) -> None:
    store.collections.sync(config("a"))
    first = [changed("x.md", "one"), changed("y.md", "two")]
    assert store.documents.apply("a", first, []) == Applied(added=2)
    assert store.documents.manifest("a") == {each.path: each.fingerprint for each in first}

    second = [
        changed("x.md", "one", version=2),
        changed("y.md", "two more", version=2),
        changed("z.md", "three"),
    ]
    assert store.documents.apply("a", second, ["gone.md"]) == Applied(added=1, updated=1)
    assert store.documents.manifest("a") == {each.path: each.fingerprint for each in second}

    # Saved anew without a change: only what tells the file from a changed one is other.
    saved = replace(second[0], fingerprint=Fingerprint(9, 9, 9))
    assert store.documents.apply("a", [saved], ["z.md"]) == Applied(removed=1)
    assert store.documents.manifest("a")["x.md"] == Fingerprint(9, 9, 9)
    assert sorted(store.documents.manifest("a")) == ["x.md", "y.md"]


def test_a_batch_for_an_unknown_collection_is_refused(store: Store) -> None:
    store.collections.sync(config("a"))
    with pytest.raises(CollectionNotFoundError):
        store.documents.apply("b", [changed("x.md", "one")], [])
    with pytest.raises(CollectionNotFoundError):
        store.documents.manifest("b")


def test_documents_are_found_by_place_name_and_hash(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
        each.documents.apply("b", [changed("ops/deploy.md", "another text")], [])

    def answers(store: Store) -> object:
        deploy = store.documents.find("a", "ops/deploy.md")
        assert deploy is not None
        return (
            (deploy.file, deploy.title, deploy.hash, deploy.size, deploy.modified_ns),
            store.documents.find("a", "ops/none.md"),
            store.documents.find("c", "ops/deploy.md"),
            [each.file for each in store.documents.ending_with("deploy.md")],
            [each.file for each in store.documents.ending_with("a/ops/deploy.md")],
            [each.file for each in store.documents.ending_with("ploy.md")],
            [each.file for each in store.documents.ending_with("100%.md")],
            [each.file for each in store.documents.path_contains("_")],
            [each.file for each in store.documents.path_contains("笔记")],
            [each.file for each in store.documents.by_hash(deploy.hash[:6])],
            [each.file for each in store.documents.listing()],
            [each.file for each in store.documents.listing("b")],
            [each.file for each in store.documents.listing("a", "ops")],
            [each.file for each in store.documents.listing("a", "/ops/deploy.md/")],
            [each.file for each in store.documents.listing("a", "op")],
            [each.file for each in store.documents.listing("c")],
        )

    assert answers(store) == answers(oracle)


def test_texts_come_back_as_they_were(store: Store) -> None:
    long = "长文\n" * 60_000
    store.collections.sync(config("a"))
    store.documents.apply("a", [changed("long.md", long), changed("zero.md", "a\u0000b \U0001f600")], [])
    for path, text in (("long.md", long), ("zero.md", "a\u0000b \U0001f600")):
        document = store.documents.find("a", path)
        assert document is not None
        assert store.documents.texts([document.id, 12345]) == {document.id: text}
        assert store.documents.by_id([document.id, 12345]) == {document.id: document}


HOSTILE = {
    "word.md": f"# Data\n\nbefore {'x' * 200_000}q after",
    "han.md": "数据" * 10_000 + " aardvark",
    "line.md": "a line of walrus words " * 180_000,
    "headings.md": "".join(f"# heading {number}\n" for number in range(100_000)),
    "zero.md": "left\x00right",
    "bidi.md": "\u202e\u2066lairt\u2069\u202c \u200ftrial",
    "marks.md": "a" + "\u0301\u0316" * 20_000 + " ก" + "\u0e48\u0e38" * 20_000 + " okapi",
    "symbols.md": "📅" * 5_000 + " 👩\u200d💻 \U0001f3fd",
    "controls.md": "".join(map(chr, range(1, 32))) + " badger \ufffe\uffff\U0010ffff",
}


@pytest.mark.slow
def test_hostile_texts_are_kept_and_found(store: Store) -> None:
    store.collections.sync(config("a"))
    store.documents.apply("a", [changed(path, text) for path, text in HOSTILE.items()], [])
    store.documents.refresh_statistics()

    def found(query: str) -> list[str]:
        matches = store.lexical.search(parse(query), everything("a"), 20)
        return sorted(row[1].removeprefix("a/") for row in lexical_rows(store, matches))

    assert found("x" * 200_000) == found("x" * 128) == found("x" * 500 + "*") == ["word.md"]
    assert found('"before ' + "x" * 300 + ' after"') == ["word.md"]
    assert found("x" * 127) == ["word.md"]  # a longer word
    assert found("数据 aardvark") == found('"数据数据"') == ["han.md"]
    assert found("walrus") == ["line.md"]
    assert found("heading 99999") == ["headings.md"]
    assert found("left") == found('"left right"') == found("le\x00ft right") == ["zero.md"]
    assert found("trial") == found("lairt") == ["bidi.md"]
    assert found("okapi") == ["marks.md"]
    assert found("📅") == found("💻") == found("👩\u200d💻") == ["symbols.md"]
    assert found("badger") == ["controls.md"]
    assert found("\ud800badger\udfff") == ["controls.md"]  # half characters are no letters
    for path, text in HOSTILE.items():
        document = store.documents.find("a", path)
        assert document is not None
        assert store.documents.texts([document.id]) == {document.id: text}
    assert store.upkeep.faults(lambda _: None) == []


def test_half_characters_in_a_text_are_refused_and_nothing_changes(store: Store) -> None:
    store.collections.sync(config("a"))
    source = SourceText("half \ud800 a character", "0" * 64, "title")
    with pytest.raises(UnicodeEncodeError):
        store.documents.apply(
            "a", [changed("a.md", "whole"), DocumentChange("b.md", Fingerprint(1, 1, 1), source)], []
        )
    assert store.documents.manifest("a") == {}


# -- collections -------------------------------------------------------------------------------------------


def test_collections_are_those_of_the_configuration(store: Store) -> None:
    fill(store)
    store.documents.apply("b", [changed("x.md", "in b")], [])
    stats = store.collections.stats()
    assert (stats["a"].documents, stats["b"].documents) == (len(TEXTS), 1)
    assert stats["a"].bytes == sum(len(text.encode()) for text in TEXTS.values())
    assert stats["a"].updated_at is not None
    assert store.collections.last_scans() == {"a": stats["a"].updated_at, "b": None}

    store.collections.sync(config("b", "c", digest="2"))
    assert {name: each.documents for name, each in store.collections.stats().items()} == {"b": 1, "c": 0}
    assert [each.file for each in store.documents.listing()] == ["b/x.md"]


def test_sync_with_another_configuration_drops_documents_only_if_told(store: Store) -> None:
    fill(store)
    other = replace(config("b", "c", digest="2"), path="/d/index.yml")
    with pytest.raises(ConfigError, match=r"belongs to /c/index\.yml.* of a$"):
        store.collections.sync(other)
    assert {name: each.documents for name, each in store.collections.stats().items()} == {
        "a": len(TEXTS),
        "b": 0,
    }
    store.collections.sync(other, drop=True)
    assert {name: each.documents for name, each in store.collections.stats().items()} == {"b": 0, "c": 0}
    # Nothing is lost by this one, so the index is its own from now on.
    store.documents.apply("b", [changed("x.md", "in b")], [])
    store.collections.sync(replace(config("b", digest="3"), path="/e/index.yml"))
    store.collections.sync(replace(config("c", digest="4"), path="/e/index.yml"))
    assert list(store.documents.listing()) == []


def test_the_copy_of_the_configuration_is_that_of_its_digest(store: Store, opens: Opens) -> None:
    written = config("a", "b")
    store.collections.sync(written)
    assert opens().collections.config_copy(written.path, "1") == written
    assert store.collections.config_copy(written.path, "2") is None
    assert store.collections.config_copy("/other.yml", "1") is None


def test_a_renamed_collection_keeps_documents_ids_and_vectors(store: Store) -> None:
    fill(store)
    embed(store)
    before = store.documents.find("a", "ops/deploy.md")
    with pytest.raises(ConflictError):
        store.collections.rename("a", "b")
    store.collections.rename("a", "z")
    after = store.documents.find("z", "ops/deploy.md")
    assert before is not None and after is not None
    assert (after.id, after.file) == (before.id, "z/ops/deploy.md")
    assert store.pending.count(EMBEDDER, everything("z")) == 0
    assert lexical_rows(store, store.lexical.search(parse("deploy"), everything("z"), 5))
    # Its old name is free again, for other documents.
    store.collections.sync(config("a", "z", digest="3"))
    store.documents.apply("a", [changed("ops/deploy.md", "another")], [])
    assert len(list(store.documents.listing())) == len(TEXTS) + 1


def test_a_removed_collection_is_gone_and_its_texts_are_pruned(store: Store) -> None:
    fill(store)
    embed(store)
    store.documents.apply("b", [changed("same.md", TEXTS["ops/deploy.md"])], [])
    assert store.collections.remove("a") == len(TEXTS)
    assert store.collections.remove("a") == 0
    assert [each.file for each in store.documents.listing()] == ["b/same.md"]
    assert store.documents.prune() == len(TEXTS) - 1
    assert store.documents.prune() == 0
    assert store.pending.count(EMBEDDER, everything()) == 0


# -- search by words ---------------------------------------------------------------------------------------


def test_keyword_search_answers_as_on_sqlite(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
        each.documents.apply(
            "b", [changed("other.md", "deploy here too"), changed("copy.md", TEXTS["ops/backup.md"])], []
        )
        each.documents.refresh_statistics()
    for query in QUERIES:
        for scope in (everything(), everything("a"), everything("b"), everything("none")):
            for limit in (3, 100):
                got, wanted = (each.lexical.search(parse(query), scope, limit) for each in (store, oracle))
                assert got.bound == pytest.approx(wanted.bound), query
                assert dict(got.idf) == pytest.approx(dict(wanted.idf)), query
                assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))


def test_longer_words_are_left_out_where_they_are_not_wanted(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
    got, wanted = (
        each.lexical.search(parse("perform dep"), everything(), 9, longer=False) for each in (store, oracle)
    )
    assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))


def test_keyword_search_follows_changes_and_removals(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
        edited = changed("ops/deploy.md", "nothing of that any more, but pelicans", version=2)
        each.documents.apply("a", [edited, changed("new.md", "pelicans deploy")], ["meetings/march.md"])
    for query in ("deploy", "pelicans", "search page", "的"):
        # Statistics are those of now, counted or not.
        for _ in range(2):
            got, wanted = (each.lexical.search(parse(query), everything(), 9) for each in (store, oracle))
            assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))
            store.documents.refresh_statistics()


# -- search by vectors -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_vector_search_answers_as_on_sqlite(store: Store, oracle: Store) -> None:
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


def test_population_answers_as_a_store_of_its_own(store: Store, oracle: Store) -> None:
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


def test_population_that_changes_is_counted_anew(store: Store) -> None:
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


def test_the_similarity_of_chosen_documents_is_exact(store: Store, oracle: Store) -> None:
    found = []
    for each in (store, oracle):
        fill(each)
        embed(each)
        ids = {document.id: document.file for document in each.documents.listing("a")}
        matches = each.vectors.similarities(EMBEDDER, vector("q"), [*ids, 999])
        found.append(sorted((ids[key], match.chunk, match.similarity) for key, match in matches.items()))
    assert [row[:2] for row in found[0]] == [row[:2] for row in found[1]]
    assert [row[2] for row in found[0]] == pytest.approx([row[2] for row in found[1]], abs=1e-3)


def test_a_text_that_moves_or_is_copied_keeps_its_vectors(store: Store) -> None:
    fill(store)
    embed(store)
    text = TEXTS["ops/deploy.md"]
    store.documents.apply("b", [changed("moved.md", text)], [])
    store.documents.apply("a", [], ["ops/deploy.md"])
    assert store.pending.count(EMBEDDER, everything()) == 0
    ((_, file, similarity),) = dense_rows(store, vector(text[:40]), everything("b"), 5)
    assert (file, similarity) == ("b/moved.md", pytest.approx(1.0, abs=1e-3))
    assert "a/ops/deploy.md" not in [row[1] for row in dense_rows(store, vector(text[:40]), everything(), 99)]


def test_a_text_that_is_away_for_a_moment_keeps_its_vectors_until_it_is_pruned(store: Store) -> None:
    fill(store)
    embed(store)
    store.documents.apply("a", [], ["ops/deploy.md"])
    store.documents.apply("a", [changed("ops/back.md", TEXTS["ops/deploy.md"])], [])
    assert store.pending.count(EMBEDDER, everything()) == 0
    store.documents.apply("a", [], ["ops/back.md"])
    assert store.documents.prune() == 1
    store.documents.apply("a", [changed("ops/back.md", TEXTS["ops/deploy.md"])], [])
    assert store.pending.count(EMBEDDER, everything()) == 1


def test_an_edited_document_is_not_found_by_its_old_text(store: Store) -> None:
    fill(store)
    embed(store)
    store.documents.apply("a", [changed("ops/deploy.md", "all new", version=2)], [])
    old = vector(TEXTS["ops/deploy.md"][:40])
    assert "a/ops/deploy.md" not in [row[1] for row in dense_rows(store, old, everything(), 99)]
    assert embed(store) == 1
    assert dense_rows(store, vector("all new"), everything(), 1)[0][1] == "a/ops/deploy.md"


@pytest.mark.slow
def test_partly_embedded_text_stays_pending_is_found_and_is_resumed(store: Store) -> None:
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
    # What is embedded is found, and nothing of it twice.
    last = vector(long.text[whole.chunks[-1].start :])
    assert dense_rows(store, last, everything(), 5)[0][1] == "a/long.md"
    assert store.vector_sets.activate(EMBEDDER, everything()) is None
    assert store.upkeep.faults(lambda _: None) == []

    # It stays the worker's until it is complete; then it is resumed from there, by whoever.
    assert store.pending.lease(EMBEDDER, everything(), "b", 10, 600) == []
    store.pending.release("a")
    (resumed,) = store.pending.lease(EMBEDDER, everything(), "b", 10, 600)
    assert resumed.embedded_from == chunks - 30
    # Chunks that are there already, or that would leave a gap, are left out.
    store.vectors.add(made, [part(chunks - 40, chunks - 20), part(3, 9)])
    assert state() == (chunks - 40, 41, 41)
    # Another document with the same text has as much of it.
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


def test_vectors_dropped_meanwhile_begin_a_text_anew(store: Store) -> None:
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


def test_partly_embedded_text_is_copied_as_it_is_and_completed_later(store: Store, oracle: Store) -> None:
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


def test_small_texts_are_leased_first(store: Store) -> None:
    words = [2_000, 3, 90, 12_000, 400]
    fill(store, {f"{count}.md": f"{count} " + "word " * count for count in words})
    leased = []
    while found := store.pending.lease(EMBEDDER, everything(), "a", 2, 600):
        leased += [int(item.title.removesuffix(".md")) for item in found]
    assert leased == sorted(words)


def test_vectors_of_another_length_are_refused(store: Store) -> None:
    fill(store)
    embed(store)
    short = np.ones(DIMENSION // 2, np.float32) / np.sqrt(np.float32(DIMENSION // 2))
    with pytest.raises(ModelError):
        store.vectors.search(EMBEDDER, short, everything(), 3)
    with pytest.raises(ModelError):
        store.vectors.similarities(EMBEDDER, short, [1])


@pytest.mark.slow
def test_vectors_can_be_dropped_by_scope(store: Store, oracle: Store) -> None:
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


def test_a_set_that_has_every_text_takes_the_place_of_the_others(store: Store, opens: Opens) -> None:
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


def test_a_sample_has_first_chunks_as_they_were_embedded(store: Store) -> None:
    fill(store)
    embed(store)
    found = store.vectors.sample(EMBEDDER, 5)
    assert 2 <= len({each.text for each in found}) <= 5
    for each in found:
        assert any(text.startswith(each.text) for text in TEXTS.values())
        assert each.vector @ vector(each.text) == pytest.approx(1.0, abs=1e-3)
    assert store.vectors.sample("other", 5) == []


# -- upkeep and cache --------------------------------------------------------------------------------------


def test_answers_are_remembered_and_forgotten(store: Store, opens: Opens) -> None:
    store.answers.put({"k1": "v1", "鍵": '{"a": "b\\n"}'})
    assert (opens().answers.get("k1"), store.answers.get("鍵"), store.answers.get("k2")) == (
        "v1",
        '{"a": "b\\n"}',
        None,
    )
    store.upkeep.clear(Retention(None, None, datetime.now(UTC) + timedelta(days=1)), lambda _: None)
    assert store.answers.get("k1") is None


@pytest.mark.slow
def test_a_cleanup_lets_go_of_what_is_not_kept(store: Store, oracle: Store) -> None:
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


def test_reading_without_an_index_finds_an_empty_one(store: Store) -> None:
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


# -- authors and dates -------------------------------------------------------------------------------------


def test_searches_can_be_narrowed_to_an_author_and_to_dates(store: Store) -> None:
    store.collections.sync(config("a", "b"))
    store.documents.apply(
        "a",
        [
            changed("1.md", "pelican one", author="Ana Gómez", date="2024-05-01"),
            changed("2.md", "pelican two", author="JUN", date="2024-06-01T12:00:00"),
            changed("3.md", "pelican three", date="2025-01-01T00:00:00"),
        ],
        [],
    )
    embed(store)

    def found(**narrow: str) -> list[str]:
        scope = replace(everything(), where=from_options(narrow))
        by_words = sorted(
            row[1] for row in lexical_rows(store, store.lexical.search(parse("pelican"), scope, 9))
        )
        assert by_words == sorted(row[1] for row in dense_rows(store, vector("x"), scope, 9))
        return by_words

    assert found() == ["a/1.md", "a/2.md", "a/3.md"]
    assert found(author="ana gómez") == ["a/1.md"]
    assert found(author="Jun") == ["a/2.md"]
    assert found(after="2024-05-01") == ["a/1.md", "a/2.md", "a/3.md"]
    assert found(after="2024-05-02") == ["a/2.md", "a/3.md"]
    assert found(before="2024-06-01") == ["a/1.md"]
    assert found(after="2024-06-01", before="2024-06-02") == ["a/2.md"]
    document = store.documents.find("a", "1.md")
    assert document is not None
    assert (document.author, document.date) == ("Ana Gómez", "2024-05-01")
    # Another author of the same text costs no vectors, and is what counts from then on.
    store.documents.apply("a", [changed("1.md", "pelican one", author="Petra", date="2024-05-01")], [])
    assert store.pending.count(EMBEDDER, everything()) == 0
    assert (found(author="petra"), found(author="ana gómez")) == (["a/1.md"], [])


# -- fields and links --------------------------------------------------------------------------------------

FIELDS = {
    "plan.md": "---\nstatus: Draft\npriority: 2\ntags: [work/planning, home]\naliases: [Q1 plan, Übersicht]\n"
    "due: 2026-03-01\nauthor: [Ann, Bob]\n---\n# Plan\n\nSee [[Budget]], [[notes/old|old]] and #finance.\n",
    "budget.md": "---\nstatus: draft\npriority: 10\nreviewed: true\n---\n\n[plan](plan.md) [site](https://a.org)\n",
    "notes/old.md": "---\nstatus: done\npriority: high\ntags: work\n---\n\nBack to [[Q1 plan]].\n",
    "notes/homework.md": "---\ntags: homework\ndue: 2026-04-02 10:00\n---\n\nPelicans and numbers.\n",
    "readme.txt": "no fields\n",
    "many.md": "---\nkeys: ["
    + ", ".join(f"'{number} {'語' * 300}'" for number in range(90))
    + "]\n---\n\n"
    + " ".join(f"[[target {number}]]" for number in range(5_000)),
}

FILTERS = [
    {"where": "status=draft"},
    {"where": ["priority>=2", "status!=done"]},
    {"where": "priority=high"},
    {"tag": "work"},
    {"tag": "work/planning"},
    {"path": "notes/"},
    {"path": "**/*.md"},
    {"author": "bob"},
    {"after": "2024", "where": "reviewed"},
    {"before": "2024-05-03"},
    {"where": "due<2026-04", "before": "2025"},
    {"where": "keys~語"},
    {"where": "size>1000"},
    {"where": "collection=b"},
    {"where": "title~plan"},
    {"filter": {"operator": "not", "operands": [{"field": "tag", "operator": "exists"}]}},
    {"where": "status=nothing"},
    {"where": "nosuch"},
]


def fill_fields(store: Store, *, many: bool = False) -> None:
    """Index documents with fields and links, two of them in another collection."""
    texts = {path: text for path, text in FIELDS.items() if many or path != "many.md"}
    store.collections.sync(config("a", "b"))
    rows = [
        changed(path, text, date=f"2024-05-0{number}T00:00:00", author="Eve" if "old" in path else "")
        for number, (path, text) in enumerate(texts.items(), 1)
    ]
    store.documents.apply("a", rows, [])
    store.documents.apply("b", [replace(rows[0], path="copy of plan.md"), rows[4]], [])


def told_of_fields(store: Store) -> dict[str, object]:
    """What a store says of fields and links, without ids."""
    files = {document.id: document.file for document in store.documents.listing()}
    ids = [*files]
    names = ("budget", "plan", "q1 plan", "target 4999", "https://a.org", "nothing")
    told: dict[str, object] = {}
    for options in FILTERS:
        scope = replace(everything(), where=from_options(options))
        listed = sorted(files[document] for document in store.fields.newest(scope, 100))
        assert store.fields.count(scope) == len(listed)
        told[str(options)] = listed
    for scope in (everything(), everything("b"), Scope(("a", "b"), from_options({"tag": "work"}))):
        summaries = store.fields.summaries(scope)
        told[f"summaries {scope}"] = summaries
        told[f"values {scope}"] = [store.fields.values(scope, each.name, 4) for each in summaries]
    for name in ("tag", "year", "collection", "priority", "nothing"):
        told[f"facet {name}"] = store.fields.facet(ids, name, 3)
    told["newest"] = [files[document] for document in store.fields.newest(everything("a"), 2)]
    told["changed last"] = [document.file for document in store.documents.changed_last(["a", "none"], 2)]
    told["fields"] = {
        files[document]: {name: Counter(values) for name, values in fields.items()}
        for document, fields in store.fields.of([*ids, 999]).items()
    }
    told["links"] = {files[document]: links for document, links in store.fields.links(ids).items()}
    told["linking"] = [
        sorted(files[document] for document in store.fields.linking(collection, [name]))
        for collection in ("a", "b", "none")
        for name in names
    ]
    told["targets"] = [
        [(path, sorted(aliases)) for _, path, aliases in store.fields.targets(collection)]
        for collection in ("a", "b", "none")
    ]
    return told


@pytest.mark.slow
def test_fields_and_links_are_told_as_on_sqlite(store: Store, oracle: Store, opens: Opens) -> None:
    for each in (store, oracle):
        fill_fields(each, many=True)
    before = told_of_fields(store)
    assert before == told_of_fields(oracle)
    assert before["{'where': 'status=draft'}"] == ["a/budget.md", "a/plan.md", "b/copy of plan.md"]

    for each in (store, oracle):
        edited = changed("plan.md", "---\nstatus: done\n---\n\n[[readme]]", version=2, date="2026-01-01")
        again = changed("many.md", FIELDS["many.md"], version=2, date="2024-05-06T00:00:00")
        each.documents.apply("a", [edited, again], ["budget.md"])
    after = told_of_fields(store)
    assert after == told_of_fields(oracle) == told_of_fields(opens())
    assert after["{'where': 'status=draft'}"] == ["b/copy of plan.md"]

    for each in (store, oracle):
        each.collections.remove("a")
        each.documents.prune()
    assert told_of_fields(store) == told_of_fields(oracle)


@pytest.mark.slow
def test_searches_are_narrowed_by_fields_as_on_sqlite(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill_fields(each)
        embed(each)
    for options in FILTERS:
        scope = replace(everything(), where=from_options(options))
        for query in ("plan", "see -budget"):
            got, wanted = (each.lexical.search(parse(query), scope, 9) for each in (store, oracle))
            assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))
        got_, wanted_ = (dense_rows(each, vector("x"), scope, 3) for each in (store, oracle))
        assert_alike(got_, wanted_)
        pending = [each.pending.count("another", scope) for each in (store, oracle)]
        assert pending[0] == pending[1]


def test_searches_are_narrowed_to_listed_documents(store: Store) -> None:
    fill_fields(store)
    embed(store)
    ids = {document.file: document.id for document in store.documents.listing()}
    listed = Among((ids["a/plan.md"], ids["a/readme.txt"]), "link:x")
    for where, passing in ((listed, {"a/plan.md", "a/readme.txt"}), (Not(listed), set(ids))):
        scope = Scope(("a", "b"), where)
        found = {row[1] for row in dense_rows(store, vector("x"), scope, 99)}
        assert found == (passing if where is listed else passing - {"a/plan.md", "a/readme.txt"})
        assert store.fields.count(scope) == len(found)
    assert store.fields.count(Scope(("a",), Among((), "link:y"))) == 0


def test_aliases_are_searched_like_titles(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill_fields(each)
    for query in ("Q1", '"q1 plan"', "übersicht", '"übersicht plan"'):
        got, wanted = (each.lexical.search(parse(query), everything("a"), 9) for each in (store, oracle))
        assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))
    assert lexical_rows(store, store.lexical.search(parse("übersicht"), everything("a"), 9))


# -- moving, and sharing the work --------------------------------------------------------------------------


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
    # What it holds is not given to it again.
    assert other.pending.lease(EMBEDDER, everything(), "two", 0, 600) == []
    assert {each.hash for each in first}.isdisjoint(each.hash for each in second)
    assert len(store.pending.lease(EMBEDDER, everything(), "three", 50, 600)) == len(TEXTS) - 10
    # What is held is free again once it was released, embedded, or held for too long.
    other.pending.release("two")
    again = store.pending.lease(EMBEDDER, everything(), "four", 50, -1)
    assert {each.hash for each in again} == {each.hash for each in second}
    again = store.pending.lease(EMBEDDER, everything(), "five", 50, 600)
    assert {each.hash for each in again} == {each.hash for each in second}
    embed(store)
    assert store.pending.lease(EMBEDDER, everything(), "six", 50, 600) == []
    store.vector_sets.drop(everything(), EMBEDDER)
    assert len(store.pending.lease(EMBEDDER, everything(), "six", 50, 600)) == len(TEXTS)


def test_documents_that_go_meanwhile_do_not_end_the_work_of_a_worker(store: Store) -> None:
    texts = {f"{number}.md": f"text number {number}" for number in range(40)}
    fill(store, texts)
    given = {item.hash for item in store.pending.lease(EMBEDDER, everything(), "worker", 2, 600)}
    kept = {document.path: document.hash for document in list(store.documents.listing("a"))[::8]}
    store.documents.apply("a", [], [path for path in texts if path not in kept])
    while found := store.pending.lease(EMBEDDER, everything(), "worker", 2, 600):
        given |= {item.hash for item in found}
    assert given >= set(kept.values())


@pytest.mark.parametrize("kind", ["sqlite", milvus.KINDS[1]], indirect=True)
def test_writers_at_the_same_time_lose_no_count_and_repeat_no_text(store: Store, opens: Opens) -> None:
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


def test_a_store_that_stays_open_goes_on_after_another_dropped_vectors(store: Store, opens: Opens) -> None:
    fill(store)
    embed(store)
    other = opens()
    assert other.vectors.search(EMBEDDER, vector("x"), everything(), 3)
    store.vector_sets.drop(everything(), EMBEDDER)
    with suppress(StoreError):  # what was known of the store is out of date once
        other.vectors.search(EMBEDDER, vector("x"), everything(), 3)
    assert other.vectors.search(EMBEDDER, vector("x"), everything(), 3) == []
    assert embed(store) == len(TEXTS)
    assert other.vectors.search(EMBEDDER, vector("x"), everything(), 3)


def test_a_copy_of_the_configuration_by_another_version_is_written_anew(store: Store, opens: Opens) -> None:
    config = Config("/c/index.yml", "1", {"a": Collection("a", "/files/a")}, archive="/posts")
    store.collections.sync(config)
    assert opens().collections.config_copy(config.path, "1") == config
    # The same bytes of the file, read by a version that knows more of what they say.
    newer = replace(config, store="milvus://localhost:19530/")
    store.collections.sync(newer)
    assert opens().collections.config_copy(config.path, "1") == newer
