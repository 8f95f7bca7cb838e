"""Estimate how likely a document answers a query: the calibrated scale of scores.

The estimate is a logistic regression on what a search has measured. A value counts as it is, and by how far
it leads the background, the documents that are ranked below the first ones: a document that answers a
question is usually far ahead of them, while the best of those that do not answer it is hardly better.

The constants come from `bench/calibration.py`, which fits them on questions that documents answer, on the
same questions without these documents, and on questions about other subjects.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from qmd.types import Hit, Ranked, Stage
from qmd.types.traces import Likelihood, Signal

#: A document that scores less probably does not answer the query.
THRESHOLD = 0.5
#: The ranks of the background, from 0. Documents before it may all answer the query.
BACKGROUND = (10, 30)

Signals = Mapping[Signal, float]


class Regression(Struct, frozen=True):
    """The weights of the signals, and of their leads over the mean of the background."""

    intercept: float
    values: Signals
    leads: Signals

    @property
    def signals(self) -> frozenset[Signal]:
        return frozenset((*self.values, *self.leads))

    def probability(self, signals: Signals, background: Signals) -> float:
        """Return the estimate, 0..1."""
        total = self.intercept
        total += sum(weight * signals[name] for name, weight in self.values.items())
        total += sum(weight * (signals[name] - background[name]) for name, weight in self.leads.items())
        return 1.0 / (1.0 + math.exp(-total))


class Spread(Struct, frozen=True):
    """The mean and the standard deviation of the cosines of random chunks, which depend on the embedder."""

    mean: float
    deviation: float

    def convert(self, cosine: float, to: Spread) -> float:
        """Return the cosine that stands out from `to` as this one stands out from this spread."""
        return to.mean + (cosine - self.mean) / max(self.deviation, 1e-6) * to.deviation


#: The spread of the embedder that the constants were fitted with, multilingual-e5-small.
SPREAD = Spread(0.83, 0.025)
#: The regressions, those that use more signals first.
REGRESSIONS = (
    Regression(-5.59, {"words": 4.54, "title": 1.84}, {"meaning": 35.65, "rerank": 13.07}),
    Regression(-8.10, {"rerank": 10.29}, {"meaning": 49.68, "rerank": 15.87}),
    Regression(-5.43, {"words": 5.09, "title": 2.06}, {"rerank": 16.61}),
    Regression(-4.79, {"words": 7.07}, {"meaning": 67.46}),
    Regression(-20.97, {"meaning": 19.53}, {"meaning": 95.63}),
    Regression(-3.02, {"words": 7.14}, {}),
)
#: The values of documents about other subjects, which stand for the background if there are few documents.
UNRELATED: Signals = {"meaning": 0.80, "rerank": 0.30, "words": 0.0, "title": 0.0}
#: If a document has less of the query's words, only meaning counts: it may say the same in other words, or in
#: another language.
FEW_WORDS = 0.1


def calibrate(ranked: Sequence[Ranked], spread: Spread = SPREAD) -> list[Ranked]:
    """Replace the scores by estimates of how likely each document answers the query.

    The order stays, because ordering by the estimates is worse (see bench/README.md). Where they contradict
    it, a document scores as much less than the one before it as it does in the ranking.

    Args:
        ranked: The documents, with scores that do not increase.
        spread: The spread of the embedder's cosines.
    """
    values: dict[Signal, list[float]] = {}
    for item in ranked:
        for name, value in item.signals.items():
            values.setdefault(name, []).append(_converted(name, value, spread))
    background = {name: _background(name, found) for name, found in values.items()}
    calibrated: list[Ranked] = []
    score, before = 1.0, 0.0
    for item in ranked:
        signals = {name: _converted(name, value, spread) for name, value in item.signals.items()}
        if "meaning" in signals and signals.get("words", 0.0) < FEW_WORDS:
            signals.pop("words", None)
            signals.pop("title", None)
        regression = _regression_for(signals)
        if before > 0:
            score *= min(1.0, item.score / before)
        before = item.score
        if regression is not None:
            score = min(score, regression.probability(signals, background))
        trace = Likelihood(item.score, signals, {name: background[name] for name in signals})
        calibrated.append(replace(item, score=score, traces=(*item.traces, trace)))
    return calibrated


def _converted(name: Signal, value: float, spread: Spread) -> float:
    return spread.convert(value, SPREAD) if name == "meaning" and spread != SPREAD else value


def _background(name: Signal, values: Iterable[float]) -> float:
    first, last = BACKGROUND
    found = heapq.nlargest(last, values)[first:]
    missing = last - first - len(found)
    return (sum(found) + missing * UNRELATED[name]) / (last - first)


def _regression_for(signals: Signals) -> Regression | None:
    """Return the first regression that uses only these signals; None if there is none."""
    return next((item for item in REGRESSIONS if item.signals <= signals.keys()), None)


def doubts(ranked: Sequence[Ranked], hits: Sequence[Hit], min_score: float) -> list[Stage]:
    """Return a stage if even the best document probably does not answer the query; else an empty list.

    A hit that the user pinned answers it.
    """
    if (
        not ranked
        or (best := ranked[0].score) >= max(THRESHOLD, min_score)
        or any(hit.pinned for hit in hits)
    ):
        return []
    hidden = f": the best result scores {best:.2f}, less than the least score of {min_score:g}"
    return [Stage("answer", "ran", "nothing here seems to answer this" + hidden * (best < min_score))]
