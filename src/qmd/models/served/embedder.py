"""An embedder whose weights are behind a service."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.errors import ModelError
from qmd.models import answers
from qmd.models.served import RefusedError

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


#: How services say that a text has more tokens than they read, and the characters that are always few enough.
_TOO_LONG = re.compile(r"too (?:large|long|many)|context|maximum|exceed", re.IGNORECASE)
_SHORT = 64


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
        prompts = (card.query_prompt, card.document_prompt, *filter(None, (card.pooling,)))
        recipe = (card.name, card.source, card.size, *prompts)
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
        return self._service.loaded

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
        try:
            answer = self._service.post("/embeddings", payload)
        except RefusedError as error:
            if not _TOO_LONG.search(error.message):
                raise
            return self._shorter(texts, error)
        found = answers.vectors(answer, len(texts), self.name)
        with self._lock:
            self._dimension = self._dimension or found.shape[1]
            if found.shape[1] != self._dimension:
                raise ModelError(
                    f"'{self.name}' answered vectors of {found.shape[1]} numbers, not {self._dimension}",
                    "Another model answers under its name: name that one, or run 'qmd embed --force'.",
                )
        return found

    def _shorter(self, texts: Sequence[str], refusal: RefusedError) -> NDArray[np.float32]:
        """Embed what was too long by halves, whose mean is the text's vector: none of it goes unread.

        Tokens are counted on the safe side, but no count is safe for every script and every tokenizer.
        """
        import numpy as np

        if len(texts) > 1:
            return np.concatenate([self._batch([text]) for text in texts])
        (text,) = texts
        if len(text) < _SHORT:
            raise refusal
        middle = text.rfind(" ", 0, len(text) // 2 + 1) + 1 or len(text) // 2
        mean = np.concatenate([self._batch([text[:middle]]), self._batch([text[middle:]])]).mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)[None, :]


def _filled(prompt: str, text: str, title: str = "") -> str:
    # Not str.format, which would read braces in the text's own title.
    before, _, after = prompt.partition("{text}")
    return before.replace("{title}", title) + text + after
