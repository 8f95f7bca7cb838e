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
    """Mean of a text's last hidden states, scaled to length 1. Safe to call from several threads.

    A text's vector does not depend on the texts it is embedded with.
    """

    def __init__(self, model: E5Model) -> None:
        self.model = model

    @property
    def name(self) -> str:
        return CARD.name

    @property
    def fingerprint(self) -> str:
        return f"{CARD.name}-{FINGERPRINT}"

    @property
    def dimension(self) -> int:
        return CARD.dimension

    @property
    def window(self) -> int:
        return CARD.window

    @property
    def chunk_tokens(self) -> int:
        return CARD.chunk_tokens

    @property
    def chunk_overlap(self) -> int:
        return CARD.chunk_overlap

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
        """Embed passages: float32 of shape (n, 384), each row of length 1. E5's prompt has no title.

        Raises ModelError for a text longer than the window, CancelledError once `cancelled` is true.
        """
        ids = [self.token_ids(text) for text in texts]
        room = self.model.room("document")
        for index, row in enumerate(ids):
            if len(row) > room:
                raise ModelError(
                    f"Text {index + 1} of {len(texts)} has {len(row)} tokens; {CARD.name} reads {room}",
                    "Cut it into smaller chunks.",
                )
        return self._embed(ids, "document", cancelled)

    def embed_queries(
        self, texts: Sequence[str], *, cancelled: Cancelled | None = None
    ) -> NDArray[np.float32]:
        """Embed queries: float32 of shape (n, 384), each row of length 1.

        Of a query that does not fit (`query_fits`) the tokens that do are read. Raises CancelledError once
        `cancelled` is true.
        """
        room = self.model.room("query")
        return self._embed([self.token_ids(text)[:room] for text in texts], "query", cancelled)

    def query_fits(self, text: str) -> bool:
        """Whether `embed_queries` reads all of `text`."""
        return len(self.token_ids(text)) <= self.model.room("query")

    def encode_tokens(
        self, texts: Sequence[str], kind: Kind, *, cancelled: Cancelled | None = None
    ) -> tuple[list[NDArray[np.float32]], list[list[int]]]:
        """The vector and the id of every token of each text, for late interaction.

        Arrays are float32 of shape (tokens, 384), neither centred nor scaled, without special and prompt
        tokens. A text longer than the window is read in consecutive windows. Raises CancelledError once
        `cancelled` is true.
        """
        import numpy as np

        ids = [self.token_ids(text) for text in texts]
        room, skip = self.model.room(kind), len(self.model.prompt_ids(kind))
        owners, windows = [], []
        for index, row in enumerate(ids):
            for start in range(0, len(row), room):
                owners.append(index)
                windows.append(row[start : start + room])
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
        """Character span (start, end) of every token, in order; together they cover all but white space."""
        return self.model.tokenizer.offsets(text)

    def token_ids(self, text: str) -> list[int]:
        """The ids of the tokens of `text`, special and prompt tokens left out."""
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
