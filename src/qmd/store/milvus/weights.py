"""A document's words as numbers: a sparse vector to rank by, and arrays of terms to filter by.

A weight is f / (f + n): the term's frequency f, counted by field as BM25 counts it, and the document's length
norm n at `REFERENCE` as the average length. So the inner product with the terms' idf is BM25 but for the true
average, which picks candidates; and `frequency` gives f back, from which the true BM25 is worked out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from qmd.ranking import bm25
from qmd.store.milvus.ids import dimension
from qmd.store.milvus.schema import MAX_ARRAY, TERM_FIELDS
from qmd.text.tokens import index_form

#: Terms of a document of ordinary length.
REFERENCE = 400.0


@dataclass(frozen=True, slots=True)
class Weighted:
    """A document's terms with their frequencies, weighted by field, and its length in terms."""

    frequencies: dict[str, float]
    length: int

    def fields(self) -> dict[str, Any]:
        """The fields of a row that hold them."""
        norm = bm25.length_norm(self.length, REFERENCE)
        weights: dict[int, float] = {}
        arrays: list[dict[int, None]] = [{} for _ in range(TERM_FIELDS)]
        # The most frequent first: in a text with more different terms than arrays hold, the rarest stay out.
        for term, frequency in sorted(self.frequencies.items(), key=lambda item: -item[1]):
            at = dimension(term)
            weights[at] = frequency / (frequency + norm)
            array = arrays[at % TERM_FIELDS]
            if len(array) < MAX_ARRAY:
                array[at] = None
        # Milvus takes no vector without any dimension.
        return {f"terms_{at}": list(array) for at, array in enumerate(arrays)} | {
            "weights": weights or {0: 1.0}
        }


def weigh(title: str, body: str, path: str) -> Weighted:
    """The terms of a document's fields together."""
    frequencies: Counter[str] = Counter()
    length = 0
    for text, weight in zip((title, body, path), bm25.FIELD_WEIGHTS, strict=True):
        terms = index_form(text).split()
        length += len(terms)
        for term, count in Counter(terms).items():
            frequencies[term] += weight * count  # type: ignore[assignment]
    return Weighted(dict(frequencies), length)


def frequency(weight: float, length: int) -> float:
    """The frequency behind a weight of a document of this length: a multiple of one half."""
    norm = bm25.length_norm(length, REFERENCE)
    return round(2.0 * weight * norm / max(1e-9, 1.0 - weight)) / 2.0
