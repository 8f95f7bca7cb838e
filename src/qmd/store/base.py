"""What the engine asks of a store, and the values that pass between them.

A store keeps collections, documents, terms, chunks and vectors; ranking stays outside, filters go in. Every
method that writes is one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from qmd.types import Chunk, Config, Document, Fingerprint, SourceText

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from qmd.text.query import LexicalQuery


#: Called with what is being done, before each step of work that takes long.
OnStep = Callable[[str], None]
#: Called with (pages copied, pages in all).
OnPages = Callable[[int, int], None]

WasteKind = Literal["answers", "documents", "texts", "vectors", "slots", "segments", "pages"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which documents a search is about. Applied before any cut.

    `author` is compared without regard to case or composition. `after`, included, and `before`, not included,
    are ISO, `2024-03-07` or `2024-03-07T10:00:00`, and compared as texts with the documents' dates.

    `population` are the collections whose documents the statistics of a search (document frequencies, average
    length) are taken from; None: the whole index, as fast as possible and as of the last count. With a
    population, an answer is the one of an index that holds only these collections.
    """

    collections: tuple[str, ...]
    author: str | None = None
    after: str | None = None
    before: str | None = None
    population: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class LexicalMatch:
    """A document that matched: its BM25, and whether it has all terms, any, or only longer words."""

    document: int
    score: float
    tier: Literal["all", "any", "longer"]


@dataclass(frozen=True, slots=True)
class LexicalMatches:
    """Matches, best first; `bound` is the most that any document could score, `idf` each term's rarity."""

    matches: tuple[LexicalMatch, ...]
    bound: float
    idf: Mapping[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class ChunkMatch:
    """A document found by vector: its best chunk, and that chunk's cosine with the query."""

    document: int
    chunk: Chunk
    similarity: float


@dataclass(frozen=True, slots=True)
class Changed:
    """A file whose text is to be stored, with its author and its date as `Document` has them."""

    path: str
    fingerprint: Fingerprint
    source: SourceText
    author: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """What a batch did. `updated` counts documents whose text or title really changed."""

    added: int = 0
    updated: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Pending:
    """A text some of whose chunks have no vectors yet.

    The chunks of a text are embedded from the last to the first, so those that have vectors are the ones from
    number `embedded_from` on. None if no chunk has one.
    """

    content: int
    title: str
    text: str
    hash: str
    embedded_from: int | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """Neighbouring chunks of a text, their vectors (float32, shape (n, dimension)), and each one's token ids.

    The text counts as embedded once its first chunk is stored. `continues`: the chunks after these were
    stored before; otherwise the text's last chunk is among them.
    """

    content: int
    chunks: Sequence[Chunk]
    vectors: NDArray[np.float32]
    tokens: Sequence[Sequence[int]]
    continues: bool = False


@dataclass(frozen=True, slots=True)
class VectorSet:
    """The vectors of one embedder, told from others by `fingerprint`: the model and how texts are put to it.

    `model` is the fingerprint of the model alone, and `source` what names it in a configuration; both are
    empty where an earlier version kept neither. `complete`: it once had every text, so that those it lacks
    are new ones.
    """

    fingerprint: str
    name: str
    model: str = ""
    source: str = ""
    complete: bool = False


@dataclass(frozen=True, slots=True)
class CollectionStats:
    """What the index holds of a collection."""

    documents: int
    bytes: int
    updated_at: str | None


@dataclass(frozen=True, slots=True)
class Keep:
    """What a cleanup leaves: these collections, vectors of these embedders, answers since this moment.

    None for collections or for embedders leaves all of them.
    """

    collections: tuple[str, ...] | None
    embedders: tuple[str, ...] | None
    answers_since: datetime


@dataclass(frozen=True, slots=True)
class Waste:
    """What an index can do without: how many of a kind, and about how many bytes they take."""

    kind: WasteKind
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in an index that should not be; `hint` says how to mend it."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Sampled:
    """The first chunk of a text, as it was embedded: its document's title, its text, its vector (float32)."""

    title: str
    text: str
    vector: NDArray[np.float32]


class Store(Protocol):
    """An index. Safe to share between threads."""

    @property
    def location(self) -> str: ...
    def close(self) -> None: ...
    def size(self) -> int:
        """Bytes on disk."""
        ...

    # collections
    def sync(self, config: Config, *, drop: bool = False) -> None:
        """Make the collections and contexts those of the configuration; gone ones lose their documents.

        Raises `ConfigError` if the index belongs to another configuration's file, and that would remove
        documents; `drop` allows it.
        """
        ...

    def config_copy(self, path: str, digest: str) -> Config | None:
        """The configuration as of the last `sync`, where its file has not changed since."""
        ...

    def collection_stats(self) -> Mapping[str, CollectionStats]: ...
    def last_scans(self) -> Mapping[str, str | None]:
        """When each collection was last scanned, ISO 8601 in UTC; None before its first scan."""
        ...

    def rename_collection(self, old: str, new: str) -> None: ...
    def remove_collection(self, name: str) -> int:
        """Drop a collection and its documents; returns how many there were."""
        ...

    # documents
    def manifest(self, collection: str) -> dict[str, Fingerprint]: ...
    def apply(self, collection: str, changed: Sequence[Changed], removed: Sequence[str]) -> Applied: ...
    def finish_scan(self, collection: str, root: str = "") -> None:
        """Note that a collection has been scanned; `root` tells its folder from another at the same path."""
        ...

    def last_root(self, collection: str) -> str | None:
        """The `root` of a collection's last scan; None if it was not given."""
        ...

    def prune(self) -> int:
        """Drop texts that no document has any more, with their vectors; returns how many."""
        ...

    def refresh_statistics(self, force: bool = False) -> None:
        """Count the terms that are in many documents anew, where the index has changed enough."""
        ...

    def documents(self, ids: Sequence[int]) -> dict[int, Document]: ...
    def texts(self, ids: Sequence[int]) -> dict[int, str]: ...
    def find(self, collection: str, path: str) -> Document | None: ...
    def ending_with(self, suffix: str) -> list[Document]:
        """Documents whose display path ends with `suffix` at a `/`."""
        ...

    def path_contains(self, text: str) -> Iterator[Document]:
        """Documents whose path holds `text`."""
        ...

    def by_hash(self, prefix: str) -> list[Document]:
        """Documents whose hash begins with `prefix`."""
        ...

    def listing(self, collection: str | None = None, under: str = "") -> Iterator[Document]:
        """Documents in order of display path; `under` is a folder or a file inside the collection."""
        ...

    # search
    def lexical(
        self, query: LexicalQuery, scope: Scope, limit: int, *, longer: bool = True
    ) -> LexicalMatches:
        """The best documents by BM25; `longer`: where they are too few, also those with longer words."""
        ...

    def dense(
        self, embedder: str, vector: NDArray[np.float32], scope: Scope, limit: int
    ) -> list[ChunkMatch]: ...
    def similarities(
        self, embedder: str, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> dict[int, ChunkMatch]:
        """The best chunk of each of these documents, exactly; documents without vectors are left out."""
        ...

    # vectors
    def has_vectors(self, embedder: str, scope: Scope) -> bool: ...
    def pending_count(self, embedder: str, scope: Scope) -> int:
        """How many texts of a scope lack vectors, for all or some of their chunks."""
        ...

    def pending_sizes(self, embedder: str, scope: Scope) -> list[int]:
        """Return the bytes of each of these texts, without the part that is embedded already."""
        ...

    def pending(self, embedder: str, scope: Scope, after: int, limit: int) -> list[Pending]:
        """The next texts that lack vectors, by id, beyond `after`."""
        ...

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        """Lease up to `limit` texts that lack vectors to `worker`, for `seconds`: small texts first.

        What it held before it holds as long again. A lease ends with its time, with `release`, or with the
        text's vectors.
        """
        ...

    def release(self, workers: str) -> None:
        """Let go of what workers hold whose names begin so."""
        ...

    def add_vectors(self, into: VectorSet, batch: Sequence[Embedded]) -> None:
        """Store chunks with their vectors. Searches find them from now on, before the text is complete.

        Chunks that are there already are left as they are. Chunks that others would have to follow (see
        `Embedded.continues`) are left out if those have been dropped meanwhile: the text begins anew.
        """
        ...

    def drop_vectors(self, scope: Scope, embedder: str) -> int:
        """Forget an embedder's vectors of a scope's texts; returns how many chunks."""
        ...

    def activate_vectors(self, embedder: str, scope: Scope) -> list[str] | None:
        """Where an embedder has every text of a scope, its set is complete, and all others are forgotten.

        Returns their names; None where texts are lacking, or there are none: then nothing has changed.
        """
        ...

    def vector_sets(self) -> list[VectorSet]:
        """The sets that have vectors."""
        ...

    def chunk_counts(self) -> dict[str, int]:
        """Fingerprint → chunks, of every set that has vectors."""
        ...

    def token_frequencies(
        self, embedder: str, tokens: Sequence[int], population: Sequence[str] | None = None
    ) -> tuple[int, list[int]]:
        """(chunks embedded, in how many of them each token occurs), of the whole index where None is given.

        With a population, of the chunks of these collections as they are now, without those whose tokens
        were not kept: those that another store or an earlier version made.
        """
        ...

    def sample(self, embedder: str, count: int) -> list[Sampled]:
        """First chunks with their vectors, from texts all over the index."""
        ...

    # what another store takes over
    def vectors_of(
        self, embedder: str, hashes: Sequence[str]
    ) -> dict[str, tuple[list[Chunk], NDArray[np.float32]]]:
        """Chunks and vectors (float32, shape (n, dimension)) of texts by hash; those without are left out."""
        ...

    def all_token_frequencies(self, embedder: str) -> tuple[int, dict[int, int]]:
        """(chunks embedded, token → in how many of them it occurs)."""
        ...

    def import_statistics(self, copied: VectorSet, chunks: int, counts: Mapping[int, int]) -> None:
        """Make a copied set what it is where it comes from: its token frequencies, and `complete`."""
        ...

    def cache_items(self) -> Iterator[tuple[str, str]]:
        """What `remember` keeps: keys and answers."""
        ...

    # upkeep
    def faults(self, on_step: OnStep) -> list[Fault]:
        """What is wrong in the index. Reads all of it, and changes nothing."""
        ...

    def waste(self, keep: Keep) -> list[Waste]:
        """What the index can do without; kinds of which there is nothing are left out."""
        ...

    def clear(self, keep: Keep, on_step: OnStep) -> None:
        """Let go of what `waste` finds, a kind at a time, and give the space back to the disk."""
        ...

    def backup(self, path: str, notes: Mapping[str, bytes], on_pages: OnPages) -> None:
        """Copy the index as it is at this moment to a new file, with notes, and check the copy.

        Raises `StoreError` where that cannot be written, or the index is damaged.
        """
        ...

    # cache
    def cache_get(self, key: str) -> str | None: ...
    def cache_put(self, answers: Mapping[str, str]) -> None: ...
