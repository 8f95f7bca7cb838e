"""Lexical search in every store."""

from __future__ import annotations

import random
from itertools import product

import pytest
from msgspec.structs import replace

from qmd.store.base import Store
from qmd.store.sqlite.terms import COMMON_FROM
from qmd.store.values import Scope
from qmd.text.query import parse
from tests.store.material import (
    QUERIES,
    TEXTS,
    assert_alike,
    changed,
    everything,
    fill,
    lexical_rows,
)


def test_lexical_search_equals_that_of_sqlite(store: Store, oracle: Store) -> None:
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


def test_synonyms_count_less_in_every_store(store: Store, oracle: Store) -> None:
    texts = {
        "word.md": "the tom cat sat",
        "other.md": "the tom cat sat, a feline",
        "both.md": "a cat: a feline",
    }
    for each in (store, oracle):
        fill(each)
        fill(each, texts, "b")
    term = parse("cat sat").terms[0]
    forms = (("felin",), ("tom", "cat"), ("data", "base", "move"))
    term = replace(term, tokens=("felin",), alternatives=forms[1:], synonyms=frozenset(forms[1:]))
    query = replace(parse("cat sat"), terms=(term, *parse("sat").terms))
    for scope in (everything(), everything("b")):
        got, wanted = (each.lexical.search(query, scope, 9) for each in (store, oracle))
        assert got.bound == pytest.approx(wanted.bound)
        assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))
    alone = replace(query, terms=(replace(term, synonyms=frozenset()),))
    less, same = (
        {match.document: match.score for match in oracle.lexical.search(each, everything("b"), 9).matches}
        for each in (replace(query, terms=(term,)), alone)
    )
    assert less.keys() == same.keys()
    assert all(less[document] <= same[document] for document in less)
    assert less != same


def test_lexical_search_can_leave_out_longer_words(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
    got, wanted = (
        each.lexical.search(parse("perform dep"), everything(), 9, longer=False) for each in (store, oracle)
    )
    assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))


def test_matching_returns_the_documents_of_a_search_without_limit(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
        for query in (*QUERIES, "deploy -backup"):
            for scope in (everything(), everything("a"), everything("none")):
                found = each.lexical.search(parse(query), scope, 1_000, longer=False)
                got = each.lexical.matching(parse(query), scope)
                assert sorted(got) == sorted(match.document for match in found.matches), query


def test_lexical_search_follows_changes_and_removals(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
        edited = changed("ops/deploy.md", "nothing of that any more, but pelicans", version=2)
        each.documents.apply("a", [edited, changed("new.md", "pelicans deploy")], ["meetings/march.md"])
    for query in ("deploy", "pelicans", "search page", "的"):
        # The statistics are always up to date, whether they have been recounted or not.
        for _ in range(2):
            got, wanted = (each.lexical.search(parse(query), everything(), 9) for each in (store, oracle))
            assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))
            store.documents.refresh_statistics()


def test_existing_counts_the_documents_of_the_population_with_terms(store: Store) -> None:
    fill(store)
    fill(store, {"more.md": "restore and deploy"}, "b")
    terms = ["deploy", "backup", "nowhere", "数据"]
    everything_found = store.lexical.existing(terms, everything())
    assert everything_found.keys() == {"deploy", "backup", "数据"}
    assert store.lexical.existing(terms, Scope(("b",), population=("b",))) == {"deploy": 1}
    assert store.lexical.existing([], everything()) == {}


def test_words_that_are_left_out_do_not_change_scores_in_large_indexes(oracle: Store) -> None:
    # In an index this large, common words do not find candidates, but count for the scores.
    chance = random.Random(7)
    rare = [f"rare{number}" for number in range(6)]
    words = [*("ant bee cat dog elk fox gnu hen".split() * 8), *rare]
    fill(oracle, {f"{at}.md": " ".join(chance.choices(words, k=9)) for at in range(COMMON_FROM)})
    for word, common in product(rare, ("ant", "bee", "cat")):
        plain, without = (
            oracle.lexical.search(parse(f'"{word} {common}" elk {left_out}'), everything(), 20).matches
            for left_out in ("", "-dog")
        )
        scores = {match.document: match.score for match in plain}
        again = {match.document: match.score for match in without if match.document in scores}
        assert again
        assert again.items() <= scores.items()
