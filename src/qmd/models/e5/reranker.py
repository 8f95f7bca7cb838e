"""The default reranker: late interaction over the embedder's own token vectors.

The method is ColBERT's (Khattab and Zaharia 2020, https://arxiv.org/abs/2004.12832). Token vectors are
centred and the query's tokens are weighted by rarity, because this model was not trained for the method. The
vectors of a document are read in three bits a dimension, which is no worse in measurements (see
bench/README.md), so that what was read once can be kept in 144 bytes a token.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qmd.models.base import CancelledError, WindowScores
from qmd.models.catalog import LATE_INTERACTION as CARD

if TYPE_CHECKING:
    from qmd.models.base import Cancelled, Frequencies, KeptWindows
    from qmd.models.e5.embedder import E5Embedder

#: Windows that are encoded together. A cancelled call returns the scores of whole groups.
_GROUP = 24
#: The bytes of recent windows in memory: about 8 kB each.
_CACHED_BYTES = 40 << 20
#: The dimension of the model's vectors.
_DIMENSION = 384
#: The quantizer with eight levels that loses least of a normal distribution (Max 1960,
#: https://doi.org/10.1109/TIT.1960.1057548): the positive levels, and all of them.
_POSITIVE = (0.2451, 0.7560, 1.3439, 2.1520)
_LEVELS = np.array([*(-level for level in reversed(_POSITIVE)), *_POSITIVE], np.float32)
_BITS = 3
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
        #: The packed vectors of recent windows by digests of their texts, and their bytes together.
        self._cache: dict[bytes, bytes] = {}
        self._cached = 0

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
        kept: KeptWindows | None = None,
    ) -> list[WindowScores]:
        """Return the relevance of each document, given as the texts of its windows, and of each window.

        Windows are encoded one by one, unless `kept` has their vectors. A token of the query counts with its
        best match in all windows. The score of a window alone also counts its cosine with the query.
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
                vectors = iter(self._encoded([*chain.from_iterable(group)], cancelled, kept))
            except CancelledError:
                break
            for windows in group:
                whole_of, rows, ends = _unpacked([next(vectors) for _ in windows])
                # einsum calls no BLAS, whose further threads would spin after each of these small products.
                matches = np.einsum("ik,jk->ij", rows, tokens)
                best = np.array([part.max(axis=0, initial=-1) for part in np.split(matches, ends)])
                best = best[: len(windows)].reshape(len(windows), len(ids))
                near = _COSINE * (whole_of @ whole - _UNRELATED) / (1 - _UNRELATED)
                alone = np.clip((best @ weights + near) / (1 + _COSINE), 0, 1)
                together = np.clip(best.max(axis=0, initial=-1) @ weights, 0, 1)
                scores.append(WindowScores(float(together), [float(score) for score in alone]))
        return scores

    def _encoded(
        self, passages: Sequence[str], cancelled: Cancelled | None, kept: KeptWindows | None
    ) -> list[bytes]:
        """Return the packed vectors of passages. They are cached."""
        if cancelled and cancelled():
            raise CancelledError
        encoded = [passage.encode("utf-8", "surrogatepass") for passage in passages]
        keys = [hashlib.blake2b(passage, digest_size=16).digest() for passage in encoded]
        with self._lock:
            vectors_of = {key: self._cache[key] for key in keys if key in self._cache}
        missing = {text: key for key, text in zip(keys, passages, strict=True) if key not in vectors_of}
        if missing and kept is not None:
            found = kept.get([*missing])
            vectors_of |= {missing.pop(text): packed for text, packed in found.items() if _is_packed(packed)}
        if missing:
            states, _ = self.embedder.encode_tokens([*missing], "document", cancelled=cancelled)
            made = dict(zip(missing, map(_packed, states), strict=True))
            vectors_of |= {missing[text]: packed for text, packed in made.items()}
            if kept is not None:
                kept.put(made)
        with self._lock:
            # The least recently used come first.
            for key, vectors in vectors_of.items():
                self._cached += len(vectors) - len(self._cache.pop(key, b""))
                self._cache[key] = vectors
            while self._cached > _CACHED_BYTES:
                self._cached -= len(self._cache.pop(next(iter(self._cache))))
        return [vectors_of[key] for key in keys]


def _packed(states: NDArray[np.float32]) -> bytes:
    """Return the mean direction of token vectors as int8, and of each its levels, one bit after the other."""
    _, mean = _centroids()
    whole = _mean_direction(states)
    whole = whole * (127 / max(float(np.abs(whole).max()), 1e-12))
    centred = _directions(states, mean) * _DIMENSION**0.5
    levels = np.searchsorted((_LEVELS[1:] + _LEVELS[:-1]) / 2, centred)
    planes = levels[:, np.newaxis] >> np.arange(_BITS)[:, np.newaxis] & 1
    return bytes(np.rint(whole).astype(np.int8)) + bytes(np.packbits(planes.astype(np.uint8), axis=2))


def _is_packed(packed: bytes) -> bool:
    """Tell whether this may be what `_packed` returns: a file may be damaged."""
    return len(packed) >= _DIMENSION and not (len(packed) - _DIMENSION) * 8 % (_BITS * _DIMENSION)


def _unpacked(windows: Sequence[bytes]) -> tuple[NDArray[np.float32], NDArray[np.float32], list[int]]:
    """Return the directions of windows, one row each, those of all their tokens, and where the tokens of each
    window but the first begin."""
    whole = np.array([np.frombuffer(each, np.int8, _DIMENSION) for each in windows], np.float32)
    tokens = [(len(each) - _DIMENSION) * 8 // (_BITS * _DIMENSION) for each in windows]
    bits = np.frombuffer(b"".join(each[_DIMENSION:] for each in windows), np.uint8)
    planes = np.unpackbits(bits).reshape(-1, _BITS, _DIMENSION)
    levels = sum((planes[:, bit] << bit for bit in range(1, _BITS)), planes[:, 0])
    return _scaled(whole.reshape(-1, _DIMENSION)), _scaled(_LEVELS[levels]), [*accumulate(tokens)][:-1]


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
    return _scaled(states - mean)


def _scaled(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows scaled to length 1."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = rows / np.maximum(lengths, 1e-12)
    return scaled
