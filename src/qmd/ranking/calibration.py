"""Estimate how likely a document is about a query: the calibrated scale of scores.

The scale has two named places. Below `RELATED` nothing is about the subject of the query, and from `ABOUT`
on a document is. Documents between are related. Whether a document answers, its score does not know.

A second estimate, of the first document alone, says how likely it answers. It goes by how far the document is
ahead of those after it: without the one that answers, several are about the subject in the same way. So it is
low as well if several answer. It decides when hooks give passages.

The estimate is a logistic regression on signals of the document itself, not of the others that a search has
found: if many documents are about a subject, none of them is far ahead. Only their number
counts, because the nearest of many unrelated texts is nearer than that of few. The exception is the first
document if it has hardly any word of the query, as one in another language: there only how far the reranker
puts it ahead tells right from wrong.

`bench/calibration.py` fits constants on first hits that answer questions, and on those of questions about
other subjects. Some of those here were chosen between two such fits (see bench/README.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from qmd.ranking import bm25
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
    Regression(-2.20, {"subject": 3.30, "rerank": 5.00, "rerank_lead": 28.70}),
    Regression(-4.10, {"subject": 22.00, "rerank": 12.00}),
    Regression(-3.43, {"rerank": 19.64, "exact": 1.19}),
    Regression(-1.70, {"subject": 14.74, "exact": 4.67}),
    Regression(-3.55, {"subject": 24.84}),
    Regression(-1.68, {"words": 12.0}),
)
#: The values of documents about other subjects. The subject's grows with the number of documents.
UNRELATED: Signals = {
    "subject": 0.05,
    "rerank": 0.3,
    "passage": 0.0,
    "words": bm25.BY_CHANCE,
    "exact": 0.0,
    "title": 0.0,
    "meaning": 0.8,
    "word_lead": 0.0,
    "meaning_lead": 0.0,
    "agree": 0.0,
    "rerank_lead": 0.0,
}
GROWTH = 0.018
#: How much of it is what was measured for the language of the query, instead of the value of all languages.
MEASURED = 0.8
#: The regressions of `answers`, those that use more signals first.
ANSWERING = (
    Regression(-2.63, {"word_lead": 9.6, "meaning_lead": 25.4, "agree": 0.7}),
    Regression(-3.0, {"word_lead": 14.0}),
)
#: How many documents the first one is compared with.
FIELD = 5
#: The reranker's lead counts if it has read this many documents, of this many that there are, as among few
#: the lead is chance, and if the first is nearer in meaning by this than documents about other subjects.
READ, OF, NEAR = 20, 1_000, 0.03
#: If a document has less of the query's words, only meaning counts: it may say the same in other words, or in
#: another language.
FEW_WORDS = 0.1
#: A document that has all words of the query counts as if it had at least this share of the BM25 score, which
#: is low in long texts.
ALL_WORDS = 0.35
#: A document with this share of the BM25 score is related at least. Half of the right first hits have it, and
#: of those of 189 everyday questions, none.
MANY_WORDS = 0.45


def unrelated_subject(measured: float, sample: int, documents: int) -> float:
    """Return the subject of the best of some unrelated documents, by what was measured of a sample."""
    grown = measured + GROWTH * math.log(max(1, documents) / sample)
    return MEASURED * grown + (1.0 - MEASURED) * _usual_subject(documents)


def _usual_subject(documents: int) -> float:
    return UNRELATED["subject"] + GROWTH * math.log(max(1, documents))


def calibrate(
    ranked: Sequence[Ranked],
    documents: int = 0,
    unrelated: float | None = None,
    chance: float = bm25.BY_CHANCE,
) -> list[Ranked]:
    """Replace the scores by estimates of how likely each document is about the query.

    The order stays, because ordering by the estimates is worse (see bench/README.md). So a document scores at
    most what the one before it does, times the ratio of their scores in the ranking. With meaning, in which
    the ranking's scores differ little, it is the square of the ratio. Documents up to the last one with many
    words of the query are related at least.

    Args:
        ranked: The documents, with scores that do not increase.
        documents: The number of documents that were compared with the query by meaning.
        unrelated: The subject of unrelated documents, if it was measured.
        chance: The share of the query's words that unrelated documents have.
    """
    subject = _usual_subject(documents) if unrelated is None else unrelated
    background = {**UNRELATED, "subject": subject, "words": chance}
    calibrated: list[Ranked] = []
    score, before = 1.0, 0.0
    many = [item.signals.get("words", 0.0) >= MANY_WORDS for item in ranked]
    related = len(many) - many[::-1].index(True) if any(many) else 0
    for number, item in enumerate(ranked):
        signals = dict(item.signals)
        ahead = {} if number else _leads(ranked)
        if "subject" in signals and signals.get("words", 0.0) < FEW_WORDS and not signals.get("exact"):
            signals.pop("words", None)
            signals.pop("exact", None)
            signals.pop("passage", None)
            if not number and documents >= OF and signals["subject"] - background["subject"] >= NEAR:
                signals |= _lead_of_reranker(ranked)
        elif signals.get("exact"):
            signals["words"] = max(signals["words"], ALL_WORDS)
        signals |= ahead
        if before > 0:
            score *= min(1.0, item.score / before) ** (2 if "subject" in signals else 1)
        before = item.score
        estimated = estimate(signals, background)
        if estimated is not None:
            score = min(score, estimated)
        # Different values stay different.
        shown = max(score, RELATED + _EDGE * score) if number < related else score
        trace = Likelihood(item.score, signals, {name: background[name] for name in signals})
        calibrated.append(replace(item, score=uncertain(shown), traces=(*item.traces, trace)))
    return calibrated


def _leads(ranked: Sequence[Ranked]) -> dict[Signal, float]:
    """Return how far the first document is ahead of the best others, by words and by meaning."""
    first, leads = ranked[0].signals, dict[Signal, float]()
    if "words" in first:
        leads["word_lead"] = first["words"] - sum(_others(ranked, "words")) / FIELD
    if "words" in first and "meaning" in first:
        leads["meaning_lead"] = first["meaning"] - _mean_of_others(ranked, "meaning")
        signals: tuple[Signal, ...] = ("words", "meaning")
        leads["agree"] = float(
            all(first[name] >= max(_others(ranked, name), default=0.0) for name in signals)
        )
    return leads


def _lead_of_reranker(ranked: Sequence[Ranked]) -> dict[Signal, float]:
    """Return how far the reranker puts the first document ahead of the best others, if it has read enough."""
    if "rerank" not in ranked[0].signals or sum("rerank" in item.signals for item in ranked) < READ:
        return {}
    return {"rerank_lead": ranked[0].signals["rerank"] - _mean_of_others(ranked, "rerank")}


def _mean_of_others(ranked: Sequence[Ranked], name: Signal) -> float:
    """Return the mean of the best others; without any, the value of unrelated documents."""
    others = _others(ranked, name)
    return sum(others) / len(others) if others else UNRELATED[name]


def _others(ranked: Sequence[Ranked], name: Signal) -> list[float]:
    """Return the highest values of a signal of the documents after the first."""
    values = (item.signals[name] for item in ranked[1:] if name in item.signals)
    return sorted(values, reverse=True)[:FIELD]


def answers(signals: Signals) -> float:
    """Return how likely the first document of a search answers, 0..1, from the signals of its `Likelihood`.

    It is 0 if the search had no words.
    """
    regression = next((item for item in ANSWERING if item.weights.keys() <= signals.keys()), None)
    return 0.0 if regression is None else regression.probability(signals, UNRELATED)


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

    It is estimated by the first regression that uses only these signals, and without meaning by the one that
    says most, because a document whose vectors are not made yet is judged by what is known; None if there is
    none.
    """
    usable = [item for item in REGRESSIONS if item.weights.keys() <= signals.keys()]
    estimates = (
        item.probability(signals, background) for item in usable[: 1 if "subject" in signals else None]
    )
    return max(estimates, default=None)


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
