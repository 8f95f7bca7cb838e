"""The default reranker: late interaction over the embedder's own token vectors.

The method is ColBERT's (Khattab and Zaharia 2020, https://arxiv.org/abs/2004.12832). Token vectors are
centred and the query's tokens are weighted by rarity, because this model was not trained for the method.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from qmd.models.base import CancelledError
from qmd.models.catalog import LATE_INTERACTION as CARD

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qmd.models.base import Cancelled, Frequencies
    from qmd.models.e5.embedder import E5Embedder
    from qmd.models.e5.model import E5Model

#: Passages that are encoded together, about two batches. A cancelled call returns the scores of whole groups.
_GROUP = 12
_CACHED_PASSAGES = 512


class LateInteractionReranker:
    """Scores a passage by Σ_q w_q · max_x cos(q − μ_Q, x − μ_D), for query tokens q and passage tokens x.

    w_q = log(1 + N / (1 + df_q)), scaled to the sum 1; all w_q are equal if no frequencies are given. Safe to
    call from several threads.
    """

    name = CARD.name

    def __init__(self, embedder: E5Embedder) -> None:
        self._embedder = embedder
        self._cache = _PassageCache(_CACHED_PASSAGES)

    @property
    def model(self) -> E5Model:
        """The model that is shared with the embedder."""
        return self._embedder.model

    def token_ids(self, text: str) -> list[int]:
        """Return the ids that `frequencies` is called with, which are the embedder's."""
        return self._embedder.token_ids(text)

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
        import numpy as np

        try:
            (states,), (ids,) = self._embedder.encode_tokens([query], "query", cancelled=cancelled)
        except CancelledError:
            return []
        if not ids:
            return [0.0] * len(passages)
        query_mean, _ = _centroids()
        tokens = _directions(states, query_mean)
        weights = _weights(ids, frequencies)
        scores: list[float] = []
        for start in range(0, len(passages), _GROUP):
            try:
                group = self._encoded(passages[start : start + _GROUP], cancelled)
            except CancelledError:
                break
            for vectors in group:
                best = (vectors.astype(np.float32) @ tokens.T).max(axis=0, initial=-1)
                scores.append(float(np.clip(best @ weights, 0, 1)) if len(vectors) else 0.0)
        return scores

    def _encoded(self, passages: Sequence[str], cancelled: Cancelled | None) -> list[NDArray[np.float16]]:
        """Return the centred token vectors of each passage, of length 1. They are cached."""
        import numpy as np

        if cancelled and cancelled():
            raise CancelledError
        keys = [hashlib.blake2b(_bytes(passage), digest_size=16).digest() for passage in passages]
        vectors_of = {key: vectors for key in keys if (vectors := self._cache.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, passages, strict=True) if key not in vectors_of}
        if missing:
            _, document_mean = _centroids()
            states, _ = self._embedder.encode_tokens([*missing.values()], "document", cancelled=cancelled)
            for key, rows in zip(missing, states, strict=True):
                vectors_of[key] = vectors = _directions(rows, document_mean).astype(np.float16)
                self._cache.put(key, vectors)
        return [vectors_of[key] for key in keys]


@cache
def _centroids() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean token vectors (μ_Q, μ_D) of queries and passages, float32 of shape (384,).

    All token vectors of a model point in similar directions; their differences show after the mean is
    subtracted. `tools/make_centroids.py` computed the file.
    """
    import numpy as np

    table = np.load(Path(__file__).with_name("centroids.npy"), allow_pickle=False)
    query, document = table.astype(np.float32)
    return query, document


class _PassageCache:
    """The token vectors of recent passages: 384 × 2 bytes per token, about 120 kB per passage."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, NDArray[np.float16]] = OrderedDict()

    def get(self, key: bytes) -> NDArray[np.float16] | None:
        with self._lock:
            vectors = self._entries.get(key)
            if vectors is not None:
                self._entries.move_to_end(key)
            return vectors

    def put(self, key: bytes, vectors: NDArray[np.float16]) -> None:
        with self._lock:
            self._entries[key] = vectors
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _weights(ids: Sequence[int], frequencies: Frequencies | None) -> NDArray[np.float32]:
    """Return w_q of each query token; their sum is 1."""
    import numpy as np

    if frequencies is None:
        return np.full(len(ids), 1 / len(ids), np.float32)
    total, counts = frequencies(ids)
    weights = np.log1p(total / (1 + np.asarray(counts, np.float64)))
    if not weights.sum() > 0:
        return np.full(len(ids), 1 / len(ids), np.float32)
    shares: NDArray[np.float32] = (weights / weights.sum()).astype(np.float32)
    return shares


def _directions(states: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    """Subtract the mean from each row, and scale the rows to length 1."""
    import numpy as np

    centred = states - mean
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    directions: NDArray[np.float32] = centred / np.maximum(lengths, 1e-12)
    return directions
