"""Move Chinese queries away from their mean.

The vectors of this model's Chinese queries have more in common with each other than with what they ask for,
most of all if the documents are in another language. Other languages lose by the same rule, see
bench/README.md.
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


def is_chinese(text: str) -> bool:
    """Return whether a text has Chinese characters and no Japanese or Korean ones."""
    return bool(_HAN.search(text)) and not _OTHER_CJK.search(text)


def centred(query: str, vector: NDArray[np.float32]) -> Probe:
    """Return the vector to search with for a query and its vector.

    The cosines have the scale of other queries: on the mean, nothing is subtracted from them.
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
