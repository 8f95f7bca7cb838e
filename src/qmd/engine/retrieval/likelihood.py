"""Calibrate the scores of searches that use vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec.structs import replace

from qmd.engine.retrieval.found import Found
from qmd.engine.retrieval.search import Search
from qmd.models.base import WindowReranker
from qmd.models.catalog import MULTILINGUAL_E5_SMALL
from qmd.ranking.calibration import calibrate, unrelated_subject
from qmd.store.values import Scope
from qmd.types import Ranked

#: The first documents get an estimate of their own; the scores of later ones only fall with the ranking.
_ESTIMATED = 40
#: The documents whose vectors tell how similar those of an unknown embedder are to each other, and those that
#: tell how near unrelated questions are.
_SAMPLE, _UNRELATED_SAMPLE = 40, 120
#: Of fewer vectors, the mean would be chance. Then it is that of many embedders.
_LEAST_SAMPLE = 8
_USUAL = 0.8


def calibrated(search: Search, ranked: Sequence[Ranked], found: Found) -> Sequence[Ranked]:
    """Return the documents with estimates as scores.

    If a reranker that was not calibrated has read some of them, they are returned as they are.
    """
    if any("rerank" in item.signals for item in ranked):
        reranker = search.models.reranker
        if not isinstance(reranker, WindowReranker):
            reason = f"scores depend on {reranker.name}, which was not calibrated"
            search.skip("calibrate", reason, expected=True)
            return ranked
    subjects = _subjects(search, ranked, found)
    documents = search.store.fields.count(search.scope) if subjects else 0
    measured = [_measured(item, subjects) for item in ranked]
    return calibrate(measured, documents, _unrelated(search, found, documents) if subjects else None)


def _measured(item: Ranked, subjects: Mapping[int, float]) -> Ranked:
    """Return a document with the signals that only scores use."""
    signals = dict(item.signals)
    if item.document in subjects:
        signals["subject"] = subjects[item.document]
    if item.windows:
        signals["passage"] = max(window.share for window in item.windows)
    return replace(item, signals=signals)


def _subjects(search: Search, ranked: Sequence[Ranked], found: Found) -> dict[int, float]:
    """Return how near the best chunks are in meaning, without the part that all texts share."""
    vectors, query = found.vectors, found.vector
    chunks = {item.document: item.chunk for item in ranked[:_ESTIMATED] if item.chunk is not None}
    if vectors is None or query is None or not chunks:
        return {}
    if vectors.embedder.name != MULTILINGUAL_E5_SMALL.name:
        mean = mean_cosine(search, vectors.fingerprint)
        # The centred cosine of unit vectors with this mean.
        return {
            item.document: (item.signals["meaning"] - mean) / max(1.0 - mean, 1e-6)
            for item in ranked
            if "meaning" in item.signals
        }
    from qmd.models.e5.common import subject_cosines

    hashes = {key: row.hash for key, row in search.store.documents.by_id([*chunks]).items()}
    stored = search.store.vectors.of_texts(vectors.fingerprint, sorted({*hashes.values()}))
    best: dict[int, np.ndarray] = {}
    for document, text in hashes.items():
        parts, rows = stored.get(text, ((), None))
        at = next((at for at, part in enumerate(parts) if part.seq == chunks[document].seq), None)
        if rows is not None and at is not None:
            best[document] = rows[at]
    if not best:
        return {}
    cosines = subject_cosines(query, np.stack([*best.values()]))
    return dict(zip(best, map(float, cosines), strict=True))


def _unrelated(search: Search, found: Found, documents: int) -> float | None:
    """Return the signal `subject` of questions in the language of the query about other subjects.

    It is measured by a sample, so indexes need nothing for it but their vectors.
    """
    vectors, query = found.vectors, found.vector
    if vectors is None or query is None or vectors.embedder.name != MULTILINGUAL_E5_SMALL.name:
        return None
    kept = search.store.computed()
    key = ("sample", vectors.fingerprint, search.scope.collections, search.scope.population)
    if key not in kept:
        kept[key] = _sample(search, vectors.fingerprint, _UNRELATED_SAMPLE)
    if not kept[key]:
        return None
    from qmd.models.e5.common import unrelated_cosine

    return unrelated_subject(unrelated_cosine(query, np.stack(kept[key])), len(kept[key]), documents)


def mean_cosine(search: Search, fingerprint: str) -> float:
    """Return the mean cosine of documents with each other, as far as the caller may see them."""
    sample = _sample(search, fingerprint, _SAMPLE)
    if len(sample) < _LEAST_SAMPLE:
        return _USUAL
    return float(np.mean([float(one @ other) for one, other in combinations(sample, 2)]))


def _sample(search: Search, fingerprint: str, count: int) -> list[np.ndarray]:
    """Return the first vectors of the newest documents that the caller may see."""
    store, scope = search.store, search.scope
    visible = Scope(scope.collections if scope.population is None else scope.population)
    documents = store.documents.by_id(store.fields.newest(visible, count))
    hashes = sorted({document.hash for document in documents.values()})
    return [rows[0] for _, rows in store.vectors.of_texts(fingerprint, hashes).values() if len(rows)]
