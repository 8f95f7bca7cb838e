"""BM25 with weighted fields, and its calibration to 0..1.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with Lucene's idf,
which is never negative. Field weights multiply the term frequency.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

K1 = 1.2
B = 0.75
#: Weights of the fields title, body, path.
FIELD_WEIGHTS = (4.0, 1.0, 0.5)


def idf(documents: int, containing: int) -> float:
    """Return the rarity of a term in n = `containing` of N `documents`: log(1 + (N − n + ½) / (n + ½))."""
    containing = min(containing, documents)
    return math.log(1.0 + (documents - containing + 0.5) / (containing + 0.5))


def length_norm(length: float, average: float) -> float:
    """Return k1 · (1 − b + b · length / average), the length term in the denominator."""
    return K1 * (1.0 - B + B * length / average) if average > 0 else K1


def term_score(weight: float, frequency: float, norm: float) -> float:
    """Return a term's part of a document's score; it is always below `weight · (k1 + 1)`."""
    return weight * frequency * (K1 + 1.0) / (frequency + norm)


def bound(weights: Sequence[float]) -> float:
    """Return the score that no document exceeds for a query whose terms have these idf. It becomes 1.0."""
    return (K1 + 1.0) * sum(weights)
