"""The three roles a model can play, each a small protocol (E50).

A backend implements one of them; `qmd.models.registry` finds it by name and imports it on use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from qmd.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Called between batches; returns True when the caller no longer wants the answer.
Cancelled = Callable[[], bool]


class CancelledError(ModelError):
    """The caller turned `cancelled` true; there is no result."""

    def __init__(self) -> None:
        super().__init__("Cancelled")


@dataclass(frozen=True, slots=True)
class Variant:
    """One reformulation of a query. `kind` says which list it goes to; None means both."""

    kind: Literal["lex", "vec", "hyde"] | None
    query: str


class Embedder(Protocol):
    """Texts to vectors.

    `window` is the most tokens the model reads, prompt included; `chunk_tokens` and `chunk_overlap` are the
    chunk sizes (in tokens of this model) that suit it.
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str:
        """Changes with the model's weights, dimension and prompts: vectors of two prints are never mixed."""
        ...

    @property
    def dimension(self) -> int: ...
    @property
    def window(self) -> int: ...
    @property
    def chunk_tokens(self) -> int: ...
    @property
    def chunk_overlap(self) -> int: ...

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory; they load at the first call that needs them."""
        ...

    def embed_documents(
        self, texts: Sequence[str], titles: Sequence[str] | None = None
    ) -> NDArray[np.float32]:
        """Embed passages: float32 of shape (n, dimension), each row of length 1 (L2)."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed queries: float32 of shape (n, dimension), each row of length 1 (L2)."""
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character span (start, end) of every token of `text`, in order, special tokens left out."""
        ...

    def token_ids(self, text: str) -> list[int]:
        """The ids of the tokens of `text`, special tokens left out."""
        ...


class Reranker(Protocol):
    """A query and passages to relevance, each 0..1."""

    @property
    def name(self) -> str: ...

    def score(
        self,
        query: str,
        passages: Sequence[str],
        *,
        frequencies: Callable[[Sequence[int]], tuple[int, Sequence[int]]] | None = None,
        cancelled: Cancelled | None = None,
    ) -> list[float]:
        """Relevance of each passage to the query, in the order given.

        `frequencies` maps token ids to (number of passages in the index, how many contain each): a reranker
        that weighs query tokens by rarity asks it. A reranker stops between batches when `cancelled` turns
        true and returns the scores it has.
        """
        ...


class Expander(Protocol):
    """A query to 3..5 typed variants, in the query's own language."""

    @property
    def name(self) -> str: ...

    def expand(self, query: str, *, intent: str | None = None) -> list[Variant]: ...
