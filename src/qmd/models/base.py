"""The three roles of models: embedder, reranker, expander.

A backend implements one or more of these protocols. `qmd.models.registry` imports it on use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from qmd.types.cancelling import Cancelled as Cancelled, CancelledError as CancelledError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Token ids to (number of passages in the index, how many of them contain each token).
Frequencies = Callable[[Sequence[int]], tuple[int, Sequence[int]]]


class Variant(Struct, frozen=True):
    """A reformulation of a query. `kind` is the search it is for; None means all."""

    kind: Literal["lex", "vec", "hyde"] | None
    query: str


class Probe(NamedTuple):
    """A query's vector, and the one to search with: `scale · c + offset` is the query's cosine for its c."""

    query: NDArray[np.float32]
    vector: NDArray[np.float32]
    scale: float = 1.0
    offset: float = 0.0


class Embedder(Protocol):
    """Turns texts into vectors.

    `window` is the maximum number of tokens that the model reads, prompt included. `chunk_tokens` and
    `chunk_overlap` are the recommended chunk sizes, in tokens of this model.
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str:
        """An identifier of weights, dimension and prompts. Vectors of two fingerprints are never mixed."""
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
        """True if the weights are in memory. They load at the first call that needs them."""
        ...

    def embed_documents(
        self, texts: Sequence[str], titles: Sequence[str] | None = None
    ) -> NDArray[np.float32]:
        """Embed passages: float32 of shape (n, dimension), rows of length 1 (L2)."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed queries: float32 of shape (n, dimension), rows of length 1 (L2)."""
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the character span (start, end) of every token in order, without special tokens."""
        ...

    def token_ids(self, text: str) -> list[int]:
        """Return the ids of the tokens of `text`, without special tokens."""
        ...


@runtime_checkable
class ProbingEmbedder(Embedder, Protocol):
    """An embedder that searches with other vectors than those of the queries."""

    def probes(self, texts: Sequence[str]) -> list[Probe]:
        """Embed queries, and return the probe of each."""
        ...


class Reranker(Protocol):
    """Scores the relevance of passages to a query."""

    @property
    def name(self) -> str: ...

    def score(
        self,
        query: str,
        passages: Sequence[str],
        *,
        frequencies: Frequencies | None = None,
        cancelled: Cancelled | None = None,
    ) -> list[float]:
        """Return the relevance of each passage to the query, 0..1, in the order of `passages`.

        Args:
            query: The text of the query.
            passages: Parts of documents.
            frequencies: Used by rerankers that weight the query's tokens by rarity.
            cancelled: If it returns True between two batches, only the scores so far are returned.
        """
        ...


class WindowScores(NamedTuple):
    """The relevance of a document by the windows that were read, and that of each window, 0..1."""

    document: float
    windows: list[float]


class KeptWindows(Protocol):
    """Keeps what a reranker made of texts."""

    def get(self, texts: Sequence[str]) -> Mapping[str, bytes]:
        """Return what is kept, by text."""
        ...

    def put(self, made: Mapping[str, bytes]) -> None:
        """Keep what was made, by text."""
        ...


@runtime_checkable
class WindowReranker(Reranker, Protocol):
    """A reranker that reads a document in windows and also tells which of them match."""

    def score_windows(
        self,
        query: str,
        documents: Sequence[Sequence[str]],
        *,
        frequencies: Frequencies | None = None,
        cancelled: Cancelled | None = None,
        kept: KeptWindows | None = None,
    ) -> list[WindowScores]:
        """Return the scores of documents, each given as the texts of its windows; otherwise as `score`.

        What `kept` has of a window is not made again, and what is made is given to it.
        """
        ...


class Expander(Protocol):
    """Rewrites a query as 3 to 5 typed variants in the query's own language."""

    @property
    def name(self) -> str: ...

    def expand(self, query: str, *, intent: str | None = None) -> list[Variant]: ...


@runtime_checkable
class Writer(Protocol):
    """A model that writes texts. `window` is the most tokens that it reads and writes, 0 if not known."""

    @property
    def name(self) -> str: ...
    @property
    def window(self) -> int: ...

    def write(
        self, system: str, prompt: str, *, tokens: int, seconds: float, on_text: Callable[[str], bool]
    ) -> None:
        """Give the pieces of an answer to `on_text` as they are written, until it returns true.

        Args:
            system: Instructions.
            prompt: What is asked.
            tokens: The most tokens of the answer.
            seconds: How long a piece may take.
            on_text: Takes a piece, and returns whether to stop.
        """
        ...
