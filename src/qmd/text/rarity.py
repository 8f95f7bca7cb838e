"""How much a term tells parts of a text apart."""

from __future__ import annotations

import math


def inverse_frequency(frequency: float, count: int) -> float:
    """Return the inverse frequency of a term among `count` parts of a text, as BM25 has it."""
    return math.log1p((max(0.0, count - frequency) + 0.5) / (frequency + 0.5))
