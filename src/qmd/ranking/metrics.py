"""How good a ranked list is, measured by judgements.

A list is the names of documents, best first, each once. Judgements map names to grades: above 0 is relevant,
and more so the higher it is. A document that is not judged is not relevant. Every measure is 0 to 1, and 0
where nothing is relevant; all are those of trec_eval, but for `capped_recall`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Grades = Mapping[str, int]


def ndcg(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """nDCG@k: Σ grade / log2(rank + 1) down to rank k, over the same sum of the best possible list.

    Järvelin & Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002), with the discount of
    Burges et al. (2005) and linear gains.
    """
    best = _dcg(sorted(grades.values(), reverse=True)[:k])
    return _dcg([grades.get(name, 0) for name in ranked[:k]]) / best if best > 0 else 0.0


def precision(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """P@k: the share of the first k places that hold a relevant document; places that are empty do not."""
    return _found(ranked, grades, k) / k


def recall(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """R@k: the share of the relevant documents that are among the first k."""
    return _share(_found(ranked, grades, k), _relevant(grades))


def capped_recall(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """R_cap@k: relevant documents among the first k, over how many could be there.

    Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models"
    (2021), appendix.
    """
    return _share(_found(ranked, grades, k), min(k, _relevant(grades)))


def reciprocal_rank(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """RR@k: 1 / the rank of the first relevant document, 0 where it is below rank k; its mean is MRR@k.

    Voorhees, "The TREC-8 Question Answering Track Report" (1999).
    """
    ranks = (rank for rank, name in enumerate(ranked[:k], 1) if grades.get(name, 0) > 0)
    return 1.0 / next(ranks, math.inf)


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; 0 where there are no values."""
    return math.fsum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The least of the values that `share` (0 to 1) of them do not exceed: nearest rank; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _dcg(gains: Sequence[int]) -> float:
    return math.fsum(max(0, gain) / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _found(ranked: Sequence[str], grades: Grades, k: int) -> int:
    return sum(grades.get(name, 0) > 0 for name in ranked[:k])


def _relevant(grades: Grades) -> int:
    return sum(grade > 0 for grade in grades.values())


def _share(found: int, possible: int) -> float:
    return found / possible if possible else 0.0
