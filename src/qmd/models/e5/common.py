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
    means, directions = _common()
    with np.errstate(over="ignore", invalid="ignore"):
        rest = np.vstack([query[None] - means[0], chunks - means[1]])
        rest -= (rest @ directions.T) @ directions
        rest /= np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-12)
        cosines: NDArray[np.float32] = np.nan_to_num(rest[1:] @ rest[0], posinf=0.0, neginf=0.0)
    return cosines


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
