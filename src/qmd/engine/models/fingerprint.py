"""The fingerprint of an embedder's vectors."""

from __future__ import annotations

import hashlib

from qmd.models.base import Embedder
from qmd.text import chunking

#: Changes if other text is put around chunks.
VERSION = 2


def fingerprint(embedder: Embedder) -> str:
    """Return a digest of the inputs of vectors: the model, the chunking and the text around chunks."""
    recipe = (embedder.fingerprint, chunking.VERSION, VERSION, embedder.chunk_tokens, embedder.chunk_overlap)
    return hashlib.sha256(repr(recipe).encode()).hexdigest()[:16]
