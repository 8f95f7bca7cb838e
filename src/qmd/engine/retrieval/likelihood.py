"""Collect what the calibrated scores of searches that use vectors are estimated from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from qmd.engine.retrieval.keyword_search import shares
from qmd.models.catalog import MULTILINGUAL_E5_SMALL
from qmd.ranking.calibration import SPREAD, Measured, Spread, calibrate
from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.types import Ranked
from qmd.types.traces import Signal

if TYPE_CHECKING:
    from qmd.engine.embedding.active_vectors import ActiveVectors
    from qmd.engine.retrieval.reranking import Candidates
    from qmd.ranking.rerank import Evidence

#: The documents whose vectors tell how similar those of an unknown embedder are to each other.
_SAMPLE = 40
#: Of fewer vectors, the spread would be chance.
_LEAST_SAMPLE = 8


def of_meaning(
    ranked: Sequence[Ranked],
    cosines: Mapping[int, float],
    store: Store,
    vectors: ActiveVectors,
    scope: Scope,
) -> list[Ranked]:
    """Calibrate the scores of a search by meaning."""
    return calibrate(ranked, Measured.of({"meaning": _converted(cosines, store, vectors, scope)}))


def of_both(
    ranked: Sequence[Ranked],
    candidates: Candidates,
    evidence: Mapping[int, Evidence],
    store: Store,
    scope: Scope,
) -> list[Ranked]:
    """Calibrate the scores of a hybrid search."""
    values: dict[Signal, dict[int, float]] = {}
    if candidates.lexical.first is not None:
        words = shares(candidates.lexical.first)
        values["words"] = {item.document: words.get(item.document, 0.0) for item in ranked}
    if candidates.vectors is not None:
        cosines = {document: match[0] for document, match in candidates.dense.chunks.items()}
        values["meaning"] = _converted(cosines, store, candidates.vectors, scope)
    if evidence:
        values["title"] = {document: found.title for document, found in evidence.items()}
        values["rerank"] = {
            document: found.rerank for document, found in evidence.items() if found.rerank is not None
        }
    return calibrate(ranked, Measured.of(values))


def _converted(
    cosines: Mapping[int, float], store: Store, vectors: ActiveVectors, scope: Scope
) -> dict[int, float]:
    """Return cosines as those of the embedder that the constants were fitted with."""
    if vectors.embedder.name == MULTILINGUAL_E5_SMALL.name:
        return dict(cosines)
    spread = _spread(store, vectors.fingerprint, scope)
    return {document: spread.convert(cosine, SPREAD) for document, cosine in cosines.items()}


def _spread(store: Store, fingerprint: str, scope: Scope) -> Spread:
    """Return the spread of the cosines of documents with each other, as far as the caller may see them."""
    import numpy as np

    visible = Scope(scope.collections if scope.population is None else scope.population)
    documents = store.documents.by_id(store.fields.newest(visible, _SAMPLE))
    hashes = sorted({document.hash for document in documents.values()})
    sample = [rows[0] for _, rows in store.vectors.of_texts(fingerprint, hashes).values() if len(rows)]
    if len(sample) < _LEAST_SAMPLE:
        return SPREAD
    cosines = [float(one @ other) for one, other in combinations(sample, 2)]
    return Spread(float(np.mean(cosines)), float(np.std(cosines)))
