"""The part that all texts, or all queries in Chinese, share, and vectors without it.

The vectors of this model point in similar directions, and those of one language more so: the cosine of a
question with any text is about 0.8, and less if they are in different languages. Without the mean and the
main directions in which vectors of all kinds differ (language, and code or prose), unrelated texts have a
cosine of about 0.2 in any language. Mu and Viswanath, "All-but-the-Top" (2018, https://arxiv.org/abs/1702.01417).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qmd.models.base import Probe

#: How much of the mean is subtracted (measured, see bench/README.md).
SHARE = 0.4

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_OTHER_CJK = re.compile("[\u3041-\u30ff\uac00-\ud7af]")


def subject_cosines(query: NDArray[np.float32], chunks: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosines of a query with chunks, (n, 384), without the part that all texts share.

    Those of damaged vectors, which are not finite, are 0.
    """
    cosines: NDArray[np.float32] = _subject_cosines(query[None], chunks)[0]
    return cosines


def _subject_cosines(queries: NDArray[np.float32], chunks: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(over="ignore", invalid="ignore"):
        cosines: NDArray[np.float32] = np.nan_to_num(
            _subject(queries, 0) @ _subject(chunks, 1).T, posinf=0.0, neginf=0.0
        )
    return cosines


def _subject(vectors: NDArray[np.float32], kind: int) -> NDArray[np.float32]:
    """Return vectors of queries (kind 0) or passages (1) without the part that all texts share."""
    means, directions = _common()
    rest: NDArray[np.float32] = vectors - means[kind]
    rest -= (rest @ directions.T) @ directions
    rest /= np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-12)
    return rest


def unrelated_cosine(query: NDArray[np.float32], chunks: NDArray[np.float32]) -> float:
    """Return how near the nearest of some chunks is to most questions that have nothing to do with them.

    Texts of one language have more in common than `_common` knows of, and some languages more than others. So
    this is the median of everyday questions in the language of the query, which its vector tells.
    """
    everyday, languages = _everyday()
    middle = languages.mean(axis=0)
    of_language = languages - middle
    of_language /= np.linalg.norm(of_language, axis=1, keepdims=True)
    asked = everyday[int(np.nan_to_num((query - middle) @ of_language.T).argmax())]
    return float(np.median(_subject_cosines(asked, chunks).max(axis=1)))


@cache
def _everyday() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the vectors of everyday questions by language, (languages, n, 384), and the mean of each.

    `tools/make_everyday.py` computed the file.
    """
    table = np.load(Path(__file__).with_name("everyday.npy"), allow_pickle=False).astype(np.float32)
    table /= np.linalg.norm(table, axis=2, keepdims=True)
    return table, table.mean(axis=1)


@cache
def _common() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean vectors of queries and passages, and the main directions, (n, 384).

    `tools/make_common.py` computed the file.
    """
    table = np.load(Path(__file__).with_name("common.npy"), allow_pickle=False).astype(np.float32)
    return table[:2], table[2:]


def is_chinese(text: str) -> bool:
    """Return whether a text has Chinese characters and no Japanese or Korean ones."""
    return bool(_HAN.search(text)) and not _OTHER_CJK.search(text)


def centred(query: str, vector: NDArray[np.float32]) -> Probe:
    """Return the vector to search with for a query and its vector.

    The vectors of this model's Chinese queries have more in common with each other than with what they ask
    for, most of all if the documents are in another language. Other languages lose by the same rule, see
    bench/README.md. The cosines have the scale of other queries: on the mean, nothing is subtracted.
    """
    if not is_chinese(query):
        return Probe(vector, vector)
    of_queries, of_passages = _means()
    rest = vector - SHARE * of_queries
    length = float(np.linalg.norm(rest))
    return Probe(vector, (rest / length).astype(np.float32), length, SHARE * float(of_queries @ of_passages))


@cache
def _means() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean vectors of Chinese queries and of passages; `tools/make_centroids.py` made the file."""
    table = np.load(Path(__file__).with_name("chinese.npy"), allow_pickle=False)
    of_queries, of_passages = table.astype(np.float32)
    return of_queries, of_passages
