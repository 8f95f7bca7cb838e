"""Estimate how likely a document is about a query: the calibrated scale of scores.

The scale has two named places. Below `RELATED` nothing is about the subject of the query, and from `ABOUT`
on a document is. Documents between are related. Whether a document answers, its score does not know.

The estimate is a logistic regression on signals of the document itself, not of the others that a search has
found: if many documents are about a subject, none of them is far ahead. Only their number
counts, because the nearest of many unrelated texts is nearer than that of few.

`bench/calibration.py` fits constants on first hits that answer questions, and on those of questions about
other subjects. Some of those here were chosen between two such fits (see bench/README.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from qmd.types import Hit, Ranked, Stage
from qmd.types.traces import Likelihood, Signal

#: Even the best document is not about the subject of the query if it scores less.
RELATED = 0.3
#: A document that scores this or more is about the subject of the query.
ABOUT = 0.5
#: Above `ABOUT`, evidence counts by this factor: being about the subject is not yet an answer.
DAMPING = 0.6
#: An estimate is never certain: all are between `LEAST` and 1 - `LEAST`, which two decimals still show.
#: Within `_EDGE` of 0 and 1 they approach these limits, so that different values stay different.
LEAST = 0.01
_EDGE = 2 * LEAST

Signals = Mapping[Signal, float]


class Regression(Struct, frozen=True):
    """The weights of the signals relative to their values for unrelated documents."""

    intercept: float
    weights: Signals

    def probability(self, signals: Signals, background: Signals) -> float:
        """Return the estimate, 0..1."""
        total = self.intercept
        total += sum(weight * (signals[name] - background[name]) for name, weight in self.weights.items())
        total *= DAMPING if total > 0 else 1.0
        # The logistic function, which does not overflow in this form.
        return 0.5 * (1.0 + math.tanh(total / 2.0))


#: The regressions, those that use more signals first.
REGRESSIONS = (
    Regression(-4.90, {"subject": 13.00, "rerank": 8.50, "passage": 5.20}),
    Regression(-4.10, {"subject": 22.00, "rerank": 12.00}),
    Regression(-3.43, {"rerank": 19.64, "exact": 1.19}),
    Regression(-1.70, {"subject": 14.74, "exact": 4.67}),
    Regression(-3.55, {"subject": 24.84}),
    Regression(-3.03, {"words": 10.79}),
)
#: The values of documents about other subjects. The subject's grows with the number of documents.
UNRELATED: Signals = {
    "subject": 0.05,
    "rerank": 0.3,
    "passage": 0.0,
    "words": 0.0,
    "exact": 0.0,
    "title": 0.0,
    "meaning": 0.8,
}
GROWTH = 0.018
#: If a document has less of the query's words, only meaning counts: it may say the same in other words, or in
#: another language.
FEW_WORDS = 0.1
#: A document that has all words of the query counts as if it had at least this share of the BM25 score, which
#: is low in long texts.
ALL_WORDS = 0.35
#: A document with this share of the BM25 score is related at least. Half of the right first hits have it, and
#: of those of 189 everyday questions, none.
MANY_WORDS = 0.45


def calibrate(ranked: Sequence[Ranked], documents: int = 0) -> list[Ranked]:
    """Replace the scores by estimates of how likely each document is about the query.

    The order stays, because ordering by the estimates is worse (see bench/README.md). So a document scores at
    most what the one before it does, times the ratio of their scores in the ranking. With meaning, in which
    the ranking's scores differ little, it is the square of the ratio.

    Args:
        ranked: The documents, with scores that do not increase.
        documents: The number of documents that were compared with the query by meaning.
    """
    background = {**UNRELATED, "subject": UNRELATED["subject"] + GROWTH * math.log(max(1, documents))}
    calibrated: list[Ranked] = []
    score, before = 1.0, 0.0
    for item in ranked:
        signals = dict(item.signals)
        if "subject" in signals and signals.get("words", 0.0) < FEW_WORDS and not signals.get("exact"):
            signals.pop("words", None)
            signals.pop("exact", None)
            signals.pop("passage", None)
        elif signals.get("exact"):
            signals["words"] = max(signals["words"], ALL_WORDS)
        if before > 0:
            score *= min(1.0, item.score / before) ** (2 if "subject" in signals else 1)
        before = item.score
        estimated = estimate(signals, background)
        if estimated is not None:
            score = min(score, estimated)
        trace = Likelihood(item.score, signals, {name: background[name] for name in signals})
        calibrated.append(replace(item, score=uncertain(score), traces=(*item.traces, trace)))
    return calibrated


def uncertain(value: float) -> float:
    """Return an estimate for any number: the number itself, unless it is near 0 or 1 or beyond.

    Greater numbers have greater estimates. No estimate is as low as `LEAST` or as high as 1 - `LEAST`.
    """
    if value > 0.5:
        return 1.0 - uncertain(1.0 - value)
    if value >= _EDGE:
        return value
    # A hyperbola that continues the line with the same slope.
    return LEAST + (_EDGE - LEAST) ** 2 / (2 * _EDGE - LEAST - value)


def within(score: float) -> float:
    """Return the nearest possible estimate to a score that was adjusted."""
    return min(max(score, LEAST), 1.0 - LEAST)


def estimate(signals: Signals, background: Signals) -> float | None:
    """Return how likely a document is about the query, 0..1.

    It is estimated by the first regression that uses only these signals; None if there is none.
    """
    regression = next((item for item in REGRESSIONS if item.weights.keys() <= signals.keys()), None)
    if regression is None:
        return None
    least = RELATED if signals.get("words", 0.0) >= MANY_WORDS else 0.0
    return max(least, regression.probability(signals, background))


def doubts(ranked: Sequence[Ranked], hits: Sequence[Hit], min_score: float) -> list[Stage]:
    """Return a stage if even the best document is not about the subject, or is hidden; else an empty list.

    A hit that the user pinned answers the query.
    """
    if not ranked or any(hit.pinned for hit in hits):
        return []
    best = ranked[0].score
    reasons = ["nothing here seems to answer this"] if best < RELATED else []
    if best < min_score:
        reasons.append(f"the best result scores {best:.2f}, less than the least score of {min_score:g}")
    return [Stage("answer", "ran", ": ".join(reasons))] if reasons else []
