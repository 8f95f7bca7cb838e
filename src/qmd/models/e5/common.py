"""How near vectors are without the part that all texts share.

The vectors of this model point in similar directions, and those of one language more so: the cosine of a
question with any text is about 0.8, and less if they are in different languages. Without the mean and the
main directions in which vectors of all kinds differ (language, and code or prose), unrelated texts have a
cosine of about 0.2 in any language. Mu and Viswanath, "All-but-the-Top" (2018, https://arxiv.org/abs/1702.01417).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


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
