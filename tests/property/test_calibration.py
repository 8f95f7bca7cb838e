from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from qmd.ranking.calibration import LEAST, calibrate, uncertain, within
from qmd.types import Ranked
from qmd.types.traces import Signal

unit = st.floats(0.0, 1.0)
documents = st.lists(st.tuples(unit, unit, unit, unit), min_size=1, max_size=60)


def calibrated(rows: list[tuple[float, float, float, float]], names: tuple[Signal, ...]) -> list[Ranked]:
    return calibrate(
        [
            Ranked(at, 1.0 - at / len(rows), signals=dict(zip(names, row, strict=False)))
            for at, row in enumerate(rows)
        ]
    )


@given(documents)
def test_calibrated_scores_keep_the_order_between_0_and_1(
    rows: list[tuple[float, float, float, float]],
) -> None:
    for names in (("words",), ("meaning",), ("words", "meaning"), ("words", "meaning", "rerank", "title")):
        found = calibrated(rows, names)  # type: ignore[arg-type]
        assert [item.document for item in found] == list(range(len(rows)))
        scores = [item.score for item in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)


@given(documents)
def test_scores_fall_with_those_of_the_ranking(rows: list[tuple[float, float, float, float]]) -> None:
    for names in (("words",), ("words", "meaning", "rerank", "title")):
        found = calibrated(rows, names)  # type: ignore[arg-type]
        assert all(one.score > other.score for one, other in pairwise(found))


@given(documents, st.sampled_from(("words", "meaning")))
def test_more_of_a_signal_does_not_lower_the_score(
    rows: list[tuple[float, float, float, float]], name: Signal
) -> None:
    lower = calibrated(rows, (name,))[0].score
    more = [(min(1.0, rows[0][0] + 0.1), *rows[0][1:]), *rows[1:]]
    assert calibrated(more, (name,))[0].score >= lower - 1e-9


@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 4), min_size=1, max_size=20))
def test_calibrated_scores_are_never_certain(rows: list[tuple[float, float, float, float]]) -> None:
    for names in (("words", "exact"), ("meaning",), ("words", "subject", "rerank", "passage"), ("subject",)):
        for item in calibrated(rows, names):  # type: ignore[arg-type]
            assert LEAST < item.score < 1 - LEAST


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_uncertain_keeps_the_order_of_all_numbers(first: float, second: float) -> None:
    low, high = sorted((first, second))
    if high - low > 1e-6:
        assert LEAST < uncertain(low) < uncertain(high) < 1 - LEAST
    assert within(uncertain(low)) == uncertain(low)


@given(st.floats(0.02, 0.98))
def test_uncertain_leaves_a_usual_estimate_as_it_is(value: float) -> None:
    assert uncertain(value) == pytest.approx(value, abs=1e-12)
