"""The default embedder: multilingual-e5-small (Wang et al. 2024, https://arxiv.org/abs/2402.05672)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.errors import ModelError
from qmd.models.base import CancelledError
from qmd.models.catalog import MULTILINGUAL_E5_SMALL as CARD
from qmd.models.e5.convert import FINGERPRINT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qmd.models.base import Cancelled
    from qmd.models.e5.model import E5Model, Kind


class E5Embedder:
    """Returns the mean of a text's last hidden states, scaled to length 1. Safe to call from several threads.

    A vector depends on its own text only, not on the rest of the batch.
    """

    name = CARD.name
    fingerprint = f"{CARD.name}-{FINGERPRINT}"
    dimension = CARD.dimension
    window = CARD.window
    chunk_tokens = CARD.chunk_tokens
    chunk_overlap = CARD.chunk_overlap

    def __init__(self, model: E5Model) -> None:
        self.model = model

    @property
    def loaded(self) -> bool:
        return self.model.loaded

    def embed_documents(
        self,
        texts: Sequence[str],
        titles: Sequence[str] | None = None,
        *,
        cancelled: Cancelled | None = None,
    ) -> NDArray[np.float32]:
        """Embed passages: float32 of shape (n, 384), rows of length 1. Titles are not used by this model.

        Raises:
            ModelError: A text is longer than the window.
            CancelledError: `cancelled` returned True.
        """
        ids = [self.token_ids(text) for text in texts]
        capacity = self.model.capacity("document")
        for index, row in enumerate(ids):
            if len(row) > capacity:
                raise ModelError(
                    f"Text {index + 1} of {len(texts)} has {len(row)} tokens; {CARD.name} reads {capacity}",
                    "Use smaller chunks.",
                )
        return self._embed(ids, "document", cancelled)

    def embed_queries(
        self, texts: Sequence[str], *, cancelled: Cancelled | None = None
    ) -> NDArray[np.float32]:
        """Embed queries: float32 of shape (n, 384), rows of length 1.

        A query that is longer than the window (see `query_fits`) is truncated. Raises `CancelledError` if
        `cancelled` returned True.
        """
        capacity = self.model.capacity("query")
        return self._embed([self.token_ids(text)[:capacity] for text in texts], "query", cancelled)

    def query_fits(self, text: str) -> bool:
        """Return True if `embed_queries` reads the whole text."""
        return len(self.token_ids(text)) <= self.model.capacity("query")

    def encode_tokens(
        self, texts: Sequence[str], kind: Kind, *, cancelled: Cancelled | None = None
    ) -> tuple[list[NDArray[np.float32]], list[list[int]]]:
        """Return the vectors and the ids of the tokens of each text, for late interaction.

        A text that is longer than the window is read in consecutive windows.

        Returns:
            For each text, vectors as float32 of shape (tokens, 384), neither centred nor scaled, and token
            ids; both without special tokens and without the prompt.

        Raises:
            CancelledError: `cancelled` returned True.
        """
        import numpy as np

        ids = [self.token_ids(text) for text in texts]
        capacity, skip = self.model.capacity(kind), len(self.model.prompt_ids(kind))
        owners, windows = [], []
        for index, row in enumerate(ids):
            for start in range(0, len(row), capacity):
                owners.append(index)
                windows.append(row[start : start + capacity])
        parts: list[NDArray[np.float32] | None] = [None] * len(windows)
        for window, states in self.model.hidden_states(windows, kind, cancelled):
            parts[window] = states[skip:-1]
        vectors: list[list[NDArray[np.float32]]] = [[] for _ in texts]
        for owner, part in zip(owners, parts, strict=True):
            if part is None:
                raise CancelledError
            vectors[owner].append(part)
        empty = np.zeros((0, CARD.dimension), np.float32)
        return [np.concatenate(rows) if rows else empty for rows in vectors], ids

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the span (start, end) of every token in order. They cover everything except white space."""
        return self.model.tokenizer.offsets(text)

    def token_ids(self, text: str) -> list[int]:
        """Return the ids of the tokens of `text`, without special tokens and without the prompt."""
        return self.model.tokenizer.ids(text)

    def _embed(
        self, ids: Sequence[Sequence[int]], kind: Kind, cancelled: Cancelled | None
    ) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.empty((len(ids), CARD.dimension), np.float32)
        done = 0
        for index, states in self.model.hidden_states(ids, kind, cancelled):
            pooled = states.mean(axis=0)
            vectors[index] = pooled / np.linalg.norm(pooled)
            done += 1
        if done < len(ids):
            raise CancelledError
        return vectors
