"""Measure the quality of ranked lists with relevance judgements.

A list consists of the names of documents without duplicates, best first. Judgements map names to grades. A
grade above 0 is relevant; a document without a grade is not. Every measure is 0 to 1, and 0 if no document is
relevant. All measures are those of trec_eval, except `capped_recall`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Grades = Mapping[str, int]


def ndcg(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """nDCG@k: Σ grade / log2(rank + 1) up to rank k, divided by that sum of the best possible list.

    Järvelin & Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002), with the discount of
    Burges et al. (2005) and linear gains.
    """
    best = _dcg(sorted(grades.values(), reverse=True)[:k])
    return _dcg([grades.get(name, 0) for name in ranked[:k]]) / best if best > 0 else 0.0


def precision(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """P@k: the number of relevant documents among the first k, divided by k."""
    return _hits(ranked, grades, k) / k


def recall(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """R@k: the share of the relevant documents that is among the first k."""
    relevant = _relevant(grades)
    return _hits(ranked, grades, k) / relevant if relevant else 0.0


def capped_recall(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """R_cap@k: the number of relevant documents among the first k, divided by the largest possible number.

    Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models"
    (2021), appendix.
    """
    possible = min(k, _relevant(grades))
    return _hits(ranked, grades, k) / possible if possible else 0.0


def reciprocal_rank(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """RR@k: 1 / the rank of the first relevant document, 0 if it is below rank k. The mean is MRR@k.

    Voorhees, "The TREC-8 Question Answering Track Report" (1999).
    """
    ranks = (rank for rank, name in enumerate(ranked[:k], 1) if grades.get(name, 0) > 0)
    return 1.0 / next(ranks, math.inf)


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, 0 without values."""
    return math.fsum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile for a share (0 to 1) of the values, 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _dcg(gains: Sequence[int]) -> float:
    return math.fsum(max(0, gain) / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _hits(ranked: Sequence[str], grades: Grades, k: int) -> int:
    return sum(grades.get(name, 0) > 0 for name in ranked[:k])


def _relevant(grades: Grades) -> int:
    return sum(grade > 0 for grade in grades.values())
