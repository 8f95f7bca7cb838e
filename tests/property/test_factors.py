"""The factors of scores, and the queries that pins and marks count for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st

from qmd.config.marks_file import MarkEntry
from qmd.engine.marks import guidance_for, words_of_text
from qmd.engine.retrieval.adjust import Guidance
from qmd.engine.retrieval.factors import OLDEST, Facts, of_date, scale, weigh
from qmd.text.question import Question
from qmd.types import Ranked

NOW = datetime(2026, 1, 1, tzinfo=UTC)
scores = st.floats(0, 1)
factors = st.floats(0.01, 100)
words = st.lists(st.sampled_from("deploy restore backup the how nightly 数据库 备份".split()), max_size=6)
queries = words.map(" ".join)


@given(scores, scores, factors)
def test_scale_keeps_scores_in_range_and_in_order(first: float, second: float, factor: float) -> None:
    low, high = sorted((first, second))
    assert 0 <= scale(low, factor) <= scale(high, factor) + 1e-12 <= 1 + 1e-9
    assert scale(low, 1.0) == low


@given(scores, factors)
def test_scale_raises_by_factors_above_one_and_lowers_below(score: float, factor: float) -> None:
    if factor >= 1:
        assert scale(score, factor) >= score - 1e-12
    else:
        assert scale(score, factor) <= score


@given(scores)
def test_weigh_keeps_a_document_without_factors(score: float) -> None:
    item = Ranked(1, score, {"lexical": 1})
    assert weigh(item, Facts("2025-01-01T00:00:00", NOW)) is item


@given(st.floats(0, 36_500), st.floats(0.01, 36_500))
def test_date_factor_halves_after_the_half_life_within_limits(age: float, half: float) -> None:
    def factor(days: float) -> float:
        moment = NOW - timedelta(days=days)
        found = of_date(Facts(moment.replace(tzinfo=None).isoformat(), NOW, half_life=half))
        assert found is not None
        return found.value

    assert OLDEST <= factor(age) <= 1
    assert factor(-age) == 1  # a date in the future
    if half < 36_000:
        assert abs(factor(half) - (1 + OLDEST) / 2) < 1e-3


def test_unreadable_date_counts_as_the_oldest() -> None:
    found = of_date(Facts("", NOW, half_life=30))
    assert found is not None and found.value == OLDEST


@given(queries, queries)
def test_guidance_is_that_of_queries_with_the_same_words(query: str, marked: str) -> None:
    entry = MarkEntry(marked or "x", {"pin": ("n/a.md",), "good": ("n/b.md",)})
    found = guidance_for(Question.read(query), [entry])
    same = bool(words_of_text(query)) and words_of_text(query) == words_of_text(marked or "x")
    assert found == (Guidance(("n/a.md",), {"n/b.md": "good"}) if same else Guidance())
