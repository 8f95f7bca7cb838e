"""The values of embedding that pass between a store and the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from qmd.types import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class Pending(Struct, frozen=True):
    """A text with chunks that have no vectors yet.

    The chunks of a text are embedded from the last to the first: chunks from number `embedded_from` on have
    vectors. It is None if no chunk has a vector.
    """

    content: int
    title: str
    text: str
    hash: str
    embedded_from: int | None = None


class Embedded(Struct, frozen=True):
    """Consecutive chunks of a text, their vectors (float32, shape (n, dimension)) and their token ids.

    The text is embedded once its first chunk is stored. If `continues` is true, the chunks after these are
    already stored; otherwise the last chunk of the text is included.
    """

    content: int
    chunks: Sequence[Chunk]
    vectors: Floats
    tokens: Sequence[Sequence[int]]
    continues: bool = False


class VectorSet(Struct, frozen=True):
    """The vectors of one embedder.

    Attributes:
        fingerprint: Identifies the model and its prompt format.
        name: Name of the model for users.
        model: Fingerprint of the model alone; empty if an earlier version made the set.
        source: Name of the model in a configuration; empty if an earlier version made the set.
        complete: Whether the set once covered every text, so that only new texts lack vectors.
    """

    fingerprint: str
    name: str
    model: str = ""
    source: str = ""
    complete: bool = False


class EmbeddedSample(Struct, frozen=True):
    """The first chunk of a text as it was embedded: document title, chunk text and vector (float32)."""

    title: str
    text: str
    vector: Floats
