from __future__ import annotations

from collections.abc import Sequence

import pytest

from qmd.models.e5.embedder import E5Embedder
from qmd.models.e5.reranker import LateInteractionReranker

PASSAGES = [
    "Bananas are rich in potassium and grow in bunches.",
    "The connection pool keeps at most twenty database connections open.",
    "To reset the password, open the account settings and choose 'Forgot password'.",
    "连接池最多保持二十个数据库连接。",
]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("how do I reset my password", {2}),
        ("database connection pool size", {1}),
        ("数据库连接池大小", {1, 3}),
        ("which fruit has potassium?", {0}),
    ],
)
def test_score_is_highest_for_the_passage_with_the_answer(
    reranker: LateInteractionReranker, query: str, best: set[int]
) -> None:
    scores = reranker.score(query, PASSAGES)
    ranked = sorted(range(len(PASSAGES)), key=lambda index: -scores[index])
    assert set(ranked[: len(best)]) == best
    assert all(0 <= score <= 1 for score in scores)


def test_rare_query_tokens_have_more_weight(reranker: LateInteractionReranker, embedder: E5Embedder) -> None:
    passages = ["The password policy.", "The banana policy."]
    query = "password banana"
    lookup = dict(zip(embedder.token_ids("password"), [1], strict=False))

    def password_is_rare(ids: Sequence[int]) -> tuple[int, Sequence[int]]:
        return 1000, [lookup.get(token, 1000) for token in ids]

    def password_is_common(ids: Sequence[int]) -> tuple[int, Sequence[int]]:
        return 1000, [1000 if token in lookup else 1 for token in ids]

    password, banana = reranker.score(query, passages, frequencies=password_is_rare)
    assert password > banana
    password, banana = reranker.score(query, passages, frequencies=password_is_common)
    assert banana > password


def test_query_tokens_have_equal_weights_if_the_index_is_empty(reranker: LateInteractionReranker) -> None:
    query = "reset the password"
    empty = reranker.score(query, PASSAGES, frequencies=lambda ids: (0, [0] * len(ids)))
    assert empty == reranker.score(query, PASSAGES)


def test_score_does_not_depend_on_other_passages(reranker: LateInteractionReranker) -> None:
    query = "reset the password"
    fresh = [reranker.score(query, [passage])[0] for passage in PASSAGES]
    assert reranker.score(query, [*reversed(PASSAGES), *PASSAGES]) == pytest.approx(
        [*reversed(fresh), *fresh], abs=1e-3
    )


def test_query_or_passage_without_tokens_scores_0(reranker: LateInteractionReranker) -> None:
    assert reranker.score("", PASSAGES) == [0.0] * len(PASSAGES)
    assert reranker.score("password", ["", " \n"]) == [0.0, 0.0]
    assert reranker.score("password", []) == []


def test_score_reads_the_whole_of_a_long_passage(reranker: LateInteractionReranker) -> None:
    filler = "word " * 700
    with_answer, without = reranker.score("reset the password", [f"{filler}{PASSAGES[2]}", filler])
    assert with_answer > without + 0.1


def test_cancelled_score_returns_the_first_scores(reranker: LateInteractionReranker) -> None:
    passages = [f"{passage} {number}" for number in range(10) for passage in PASSAGES]
    answers = iter([False] * 4 + [True] * 9)
    some = reranker.score("reset the password", passages, cancelled=lambda: next(answers))
    everything = reranker.score("reset the password", passages)
    assert 0 < len(some) < len(passages)
    assert some == pytest.approx(everything[: len(some)], abs=1e-3)
    assert reranker.score("reset the password", passages, cancelled=lambda: True) == []
