"""An embedder whose weights are behind a service."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.errors import ModelError
from qmd.models import answers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qmd.models.catalog import ModelCard
    from qmd.models.served import Service

#: Texts in one request.
BATCH = 32
#: A token of any tokenizer is, about, so much at most: four characters of a spaced script, one of another,
#: or a mark. English comes out a third longer than it is, and no script much shorter.
_TOKEN = re.compile(r"[A-Za-z]{1,4}|\d{1,3}|[^\W\d_A-Za-z]|[^\w\s]|_+")


class ServedEmbedder:
    """Embeds by asking. Its tokenizer is not known here, so tokens are counted on the safe side."""

    def __init__(self, card: ModelCard, service: Service) -> None:
        self._card = card
        self._service = service
        self._lock = threading.Lock()
        self._dimension = card.dimension

    @property
    def name(self) -> str:
        return self._card.name

    @property
    def fingerprint(self) -> str:
        """The model, where it lies, and its prompts: no server need be asked for it."""
        card = self._card
        recipe = (card.name, card.source, card.query_prompt, card.document_prompt)
        return f"{card.backend}-{hashlib.sha256(repr(recipe).encode()).hexdigest()[:16]}"

    @property
    def dimension(self) -> int:
        """As the card says, or the first answer."""
        if not self._dimension:
            self.embed_queries(["a"])
        return self._dimension

    @property
    def window(self) -> int:
        return self._card.window

    @property
    def chunk_tokens(self) -> int:
        return self._card.chunk_tokens

    @property
    def chunk_overlap(self) -> int:
        return self._card.chunk_overlap

    @property
    def loaded(self) -> bool:
        """Nothing of it is in memory here."""
        return False

    def embed_documents(
        self, texts: Sequence[str], titles: Sequence[str] | None = None
    ) -> NDArray[np.float32]:
        """Embed passages: float32 of shape (n, dimension), each row of length 1. Raises `ModelError`."""
        prompt = self._card.document_prompt
        named = titles or [""] * len(texts)
        return self._embed(
            [_filled(prompt, text, title or "none") for text, title in zip(texts, named, strict=True)]
        )

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed queries: float32 of shape (n, dimension), each row of length 1. Raises `ModelError`."""
        return self._embed([_filled(self._card.query_prompt, text) for text in texts])

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character span (start, end) of about every token, in order."""
        return [match.span() for match in _TOKEN.finditer(text)]

    def token_ids(self, text: str) -> list[int]:
        """None: no reranker shares the tokens of this model."""
        return []

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        rows = [self._batch(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        return np.concatenate(rows) if rows else np.zeros((0, self._dimension), np.float32)

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        payload = {"model": self._card.model, "input": list(texts), "encoding_format": "float"}
        found = answers.vectors(self._service.post("/embeddings", payload), len(texts), self.name)
        with self._lock:
            self._dimension = self._dimension or found.shape[1]
            if found.shape[1] != self._dimension:
                raise ModelError(
                    f"'{self.name}' answered vectors of {found.shape[1]} numbers, not {self._dimension}",
                    "Another model answers under its name: name that one, or run 'qmd embed --force'.",
                )
        return found


def _filled(prompt: str, text: str, title: str = "") -> str:
    # Not str.format, which would read braces in the text's own title.
    before, _, after = prompt.partition("{text}")
    return before.replace("{title}", title) + text + after
