"""Calibrate the scores of searches that use vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from qmd.engine.embedding.active_vectors import ActiveVectors
from qmd.engine.retrieval.search import Search
from qmd.models.base import WindowReranker
from qmd.models.catalog import MULTILINGUAL_E5_SMALL
from qmd.ranking.calibration import SPREAD, Spread, calibrate
from qmd.store.values import Scope
from qmd.types import Ranked

#: The documents whose vectors tell how similar those of an unknown embedder are to each other.
_SAMPLE = 40
#: Of fewer vectors, the spread would be chance.
_LEAST_SAMPLE = 8


def calibrated(search: Search, ranked: Sequence[Ranked], vectors: ActiveVectors | None) -> Sequence[Ranked]:
    """Return the documents with estimates as scores.

    If a reranker that was not calibrated has read some of them, they are returned as they are.
    """
    if any("rerank" in item.signals for item in ranked):
        reranker = search.models.reranker
        if not isinstance(reranker, WindowReranker):
            reason = f"scores depend on {reranker.name}, which was not calibrated"
            search.skip("calibrate", reason, expected=True)
            return ranked
    if vectors is None or vectors.embedder.name == MULTILINGUAL_E5_SMALL.name:
        return calibrate(ranked)
    return calibrate(ranked, _spread(search, vectors))


def _spread(search: Search, vectors: ActiveVectors) -> Spread:
    """Return the spread of the cosines of documents with each other, as far as the caller may see them."""
    store, scope = search.store, search.scope
    visible = Scope(scope.collections if scope.population is None else scope.population)
    documents = store.documents.by_id(store.fields.newest(visible, _SAMPLE))
    hashes = sorted({document.hash for document in documents.values()})
    sample = [
        rows[0] for _, rows in store.vectors.of_texts(vectors.fingerprint, hashes).values() if len(rows)
    ]
    if len(sample) < _LEAST_SAMPLE:
        return SPREAD
    cosines = [float(one @ other) for one, other in combinations(sample, 2)]
    return Spread(float(np.mean(cosines)), float(np.std(cosines)))
