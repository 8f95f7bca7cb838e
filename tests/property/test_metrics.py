"""The measures equal those of trec_eval (through `ir-measures`) for arbitrary rankings and judgements."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given, strategies as st
from ir_measures import RR, P, R, nDCG

from qmd.ranking import metrics

NAMES = [f"d{number}" for number in range(25)]
ranked_lists = st.lists(st.sampled_from(NAMES), unique=True, max_size=20)
judgements = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3), max_size=12)
cutoffs = st.integers(1, 12)
MEASURES = {
    nDCG: metrics.ndcg,
    P: metrics.precision,
    R: metrics.recall,
    RR: metrics.reciprocal_rank,
}


@given(ranked=ranked_lists, grades=judgements, k=cutoffs)
def test_metrics_equal_trec_eval(ranked: list[str], grades: dict[str, int], k: int) -> None:
    qrels = [ir_measures.Qrel("q", name, grade) for name, grade in grades.items()]
    run = [ir_measures.ScoredDoc("q", name, float(-rank)) for rank, name in enumerate(ranked)]
    for measure, ours in MEASURES.items():
        theirs = ir_measures.calc_aggregate([measure @ k], qrels, run)[measure @ k] if qrels and run else 0.0
        # trec_eval leaves out queries without judgements. If there is no other, the mean is NaN.
        assert ours(ranked, grades, k) == pytest.approx(0.0 if math.isnan(theirs) else theirs, abs=1e-9)


@given(ranked=ranked_lists, grades=judgements, k=cutoffs)
def test_capped_recall_is_recall_if_k_covers_all_relevant_documents(
    ranked: list[str], grades: dict[str, int], k: int
) -> None:
    relevant = sum(grade > 0 for grade in grades.values())
    capped = metrics.capped_recall(ranked, grades, k)
    if relevant <= k:
        assert capped == metrics.recall(ranked, grades, k)
    else:
        assert capped == metrics.precision(ranked, grades, k)


@given(grades=judgements, k=cutoffs)
def test_metrics_are_1_for_the_best_possible_list_except_precision(grades: dict[str, int], k: int) -> None:
    best = sorted(grades, key=lambda name: -grades[name])
    expected = 1.0 if any(grades.values()) else 0.0
    assert metrics.ndcg(best, grades, k) == pytest.approx(expected)
    assert metrics.reciprocal_rank(best, grades, k) == expected
    assert metrics.capped_recall(best, grades, k) == expected


@given(values=st.lists(st.floats(0, 1e6), min_size=1), share=st.floats(0.01, 1))
def test_percentile_is_the_nearest_rank(values: list[float], share: float) -> None:
    result = metrics.percentile(values, share)
    assert result in values
    assert sum(value <= result for value in values) >= share * len(values)
    assert sum(value < result for value in values) < share * len(values)


def test_mean_and_percentile_are_0_without_values() -> None:
    assert metrics.mean([]) == metrics.percentile([], 0.5) == 0.0
