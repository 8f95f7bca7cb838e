"""The terms of a document as numbers: a sparse vector for ranking, and arrays for filters.

A weight is f / (f + n), with the frequency f of the term, weighted by field as in BM25, and the length norm n
of the document for the average length `REFERENCE`. The inner product with the idf of the terms is then BM25
with an assumed average length, which is good enough to select candidates. `frequency` recovers f from a
weight to compute the true BM25.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import Struct

from qmd.features.milvus.schema import MAX_ARRAY, TERM_FIELDS, dimension
from qmd.ranking import bm25

#: The assumed average length of documents in terms.
REFERENCE = 400.0


class Weighted(Struct, frozen=True):
    """The frequencies of a document's terms, weighted by field, and its length in terms."""

    frequencies: dict[str, float]
    length: int

    def fields(self) -> dict[str, Any]:
        """Return the fields of the document's row."""
        norm = bm25.length_norm(self.length, REFERENCE)
        weights: dict[int, float] = {}
        arrays: list[dict[int, None]] = [{} for _ in range(TERM_FIELDS)]
        # Frequent terms first: if a text has more terms than the arrays can hold, the rarest are left out.
        for term, frequency in sorted(self.frequencies.items(), key=lambda item: -item[1]):
            at = dimension(term)
            weights[at] = frequency / (frequency + norm)
            array = arrays[at % TERM_FIELDS]
            if len(array) < MAX_ARRAY:
                array[at] = None
        # Milvus rejects a sparse vector without entries.
        terms = {f"terms_{at}": list(array) for at, array in enumerate(arrays)}
        return {"length": self.length, "weights": weights or {0: 1.0}, **terms}


def weigh(forms: tuple[str, str, str]) -> Weighted:
    """Count the terms of a document; see `Indexed.forms`."""
    frequencies: Counter[str] = Counter()
    length = 0
    for form, weight in zip(forms, bm25.FIELD_WEIGHTS, strict=True):
        terms = form.split()
        length += len(terms)
        for term, count in Counter(terms).items():
            frequencies[term] += weight * count  # type: ignore[assignment]
    return Weighted(dict(frequencies), length)


def frequency(weight: float, length: int) -> float:
    """Recover the frequency, a multiple of one half, from a weight in a document of this length."""
    norm = bm25.length_norm(length, REFERENCE)
    return round(2.0 * weight * norm / max(1e-9, 1.0 - weight)) / 2.0
