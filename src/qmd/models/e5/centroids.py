"""The mean token vectors of queries and of passages, constants that ship with the model.

Token vectors of one model lie in a narrow cone; what tells two of them apart is left once the mean is taken
off. `tools/make_centroids.py` computed the file.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@cache
def load() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(μ_Q, μ_D): float32 of shape (384,) each."""
    import numpy as np

    table = np.load(Path(__file__).with_name("centroids.npy"), allow_pickle=False)
    query, document = table.astype(np.float32)
    return query, document
