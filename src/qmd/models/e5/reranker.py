"""The default reranker: late interaction over the embedder's own token vectors.

The method is ColBERT's (Khattab and Zaharia 2020, https://arxiv.org/abs/2004.12832). Token vectors are
centred and the query's tokens are weighted by rarity, because this model was not trained for the method.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qmd.models.base import CancelledError, WindowScores
from qmd.models.catalog import LATE_INTERACTION as CARD

if TYPE_CHECKING:
    from qmd.models.base import Cancelled, Frequencies
    from qmd.models.e5.embedder import E5Embedder

#: Windows that are encoded together, about two batches. A cancelled call returns the scores of whole groups.
_GROUP = 24
_CACHED_WINDOWS = 1_024
#: The weight of the cosine of a window with the query, relative to the matches of tokens (measured, see
#: bench/README.md), and the cosine that the model gives texts that have nothing in common.
_COSINE, _UNRELATED = 0.45, 0.7


class LateInteractionReranker:
    """Scores windows by Σ_q w_q · max_x cos(q − μ_Q, x − μ_D), for query tokens q and tokens x of the
    windows.

    w_q = log(1 + N / (1 + df_q)), scaled to the sum 1; all w_q are equal if no frequencies are given. Safe to
    call from several threads.
    """

    name = CARD.name

    def __init__(self, embedder: E5Embedder) -> None:
        self.embedder = embedder
        self._lock = threading.Lock()
        #: The token vectors of recent windows, 384 × 2 bytes per token, about 40 kB per window.
        self._cache: dict[bytes, NDArray[np.float16]] = {}

    def score(
        self,
        query: str,
        passages: Sequence[str],
        *,
        frequencies: Frequencies | None = None,
        cancelled: Cancelled | None = None,
    ) -> list[float]:
        """Return the relevance of each passage, 0..1, in the order of `passages`.

        A query or passage without tokens scores 0. If `cancelled` returns True, only the scores so far are
        returned.
        """
        documents = [[passage] for passage in passages]
        scores = self.score_windows(query, documents, frequencies=frequencies, cancelled=cancelled)
        return [document for document, _ in scores]

    def score_windows(
        self,
        query: str,
        documents: Sequence[Sequence[str]],
        *,
        frequencies: Frequencies | None = None,
        cancelled: Cancelled | None = None,
    ) -> list[WindowScores]:
        """Return the relevance of each document, given as the texts of its windows, and of each window.

        Windows are encoded one by one. A token of the query counts with its best match in all windows. The
        score of a window alone also counts its cosine with the query.
        """
        try:
            (states,), (ids,) = self.embedder.encode_tokens([query], "query", cancelled=cancelled)
        except CancelledError:
            return []
        if not ids:
            return [WindowScores(0.0, [0.0] * len(windows)) for windows in documents]
        query_mean, _ = _centroids()
        tokens, whole = _directions(states, query_mean), _mean_direction(states)
        weights = _weights(ids, frequencies)
        scores: list[WindowScores] = []
        for group in _groups(documents):
            try:
                vectors = iter(self._encoded([*chain.from_iterable(group)], cancelled))
            except CancelledError:
                break
            for windows in group:
                read = [next(vectors).astype(np.float32) for _ in windows]
                # One row for each window: the best match of each token of the query. einsum calls no BLAS,
                # whose further threads would spin after each of these small products.
                best = np.array(
                    [np.einsum("ik,jk->ij", rows[1:], tokens).max(axis=0, initial=-1) for rows in read]
                )
                best = best.reshape(len(windows), len(ids))
                cosines = np.array([rows[0] @ whole for rows in read])
                near = _COSINE * (cosines - _UNRELATED) / (1 - _UNRELATED)
                alone = np.clip((best @ weights + near) / (1 + _COSINE), 0, 1)
                together = np.clip(best.max(axis=0, initial=-1) @ weights, 0, 1)
                scores.append(WindowScores(float(together), [float(score) for score in alone]))
        return scores

    def _encoded(self, passages: Sequence[str], cancelled: Cancelled | None) -> list[NDArray[np.float16]]:
        """Return vectors of length 1 of each passage: that of the whole, then its centred token vectors.

        They are cached.
        """
        if cancelled and cancelled():
            raise CancelledError
        encoded = [passage.encode("utf-8", "surrogatepass") for passage in passages]
        keys = [hashlib.blake2b(passage, digest_size=16).digest() for passage in encoded]
        with self._lock:
            vectors_of = {key: self._cache[key] for key in keys if key in self._cache}
        missing = {key: text for key, text in zip(keys, passages, strict=True) if key not in vectors_of}
        if missing:
            _, document_mean = _centroids()
            states, _ = self.embedder.encode_tokens([*missing.values()], "document", cancelled=cancelled)
            for key, rows in zip(missing, states, strict=True):
                both = np.vstack([_mean_direction(rows), _directions(rows, document_mean)])
                vectors_of[key] = both.astype(np.float16)
        with self._lock:
            # The least recently used come first.
            for key, vectors in vectors_of.items():
                self._cache.pop(key, None)
                self._cache[key] = vectors
            for key in [*self._cache][:-_CACHED_WINDOWS]:
                del self._cache[key]
        return [vectors_of[key] for key in keys]


def _groups(documents: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Yield groups of documents with at least `_GROUP` windows; the last may have fewer."""
    group: list[Sequence[str]] = []
    for windows in documents:
        group.append(windows)
        if sum(map(len, group)) >= _GROUP:
            yield group
            group = []
    if group:
        yield group


@cache
def _centroids() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean token vectors (μ_Q, μ_D) of queries and passages, float32 of shape (384,).

    All token vectors of a model point in similar directions; their differences show after the mean is
    subtracted. `tools/make_centroids.py` computed the file.
    """
    table = np.load(Path(__file__).with_name("centroids.npy"), allow_pickle=False)
    query, document = table.astype(np.float32)
    return query, document


def _weights(ids: Sequence[int], frequencies: Frequencies | None) -> NDArray[np.float32]:
    """Return w_q of each query token; their sum is 1."""
    total, counts = frequencies(ids) if frequencies else (0, [0] * len(ids))
    weights = np.log1p(total / (1 + np.asarray(counts, np.float64)))
    if not weights.sum() > 0:
        weights = np.ones(len(ids))
    shares: NDArray[np.float32] = (weights / weights.sum()).astype(np.float32)
    return shares


def _mean_direction(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of the rows, scaled to length 1: the vector of the whole text."""
    mean: NDArray[np.float32] = states.sum(axis=0)
    return mean / max(float(np.linalg.norm(mean)), 1e-12)


def _directions(states: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    """Subtract the mean from each row, and scale the rows to length 1."""
    centred = states - mean
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    directions: NDArray[np.float32] = centred / np.maximum(lengths, 1e-12)
    return directions
