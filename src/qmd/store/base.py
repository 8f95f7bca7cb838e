"""The protocols of a store.

A store keeps collections, documents, terms, chunks and vectors. It applies filters and returns raw scores;
ranking happens in the engine. Every method that writes is one transaction.

A `Store` hands out its parts: `store.documents.find`, `store.lexical.search`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from qmd.store.values import (
        Applied,
        ChunkMatch,
        CollectionStats,
        DocumentChange,
        Embedded,
        EmbeddedSample,
        Floats,
        IndexFault,
        LexicalMatches,
        OnStep,
        Pending,
        Retention,
        Scope,
        VectorSet,
        Waste,
    )
    from qmd.text.layout import Placed
    from qmd.text.predicates import Comparison
    from qmd.text.query import LexicalQuery
    from qmd.text.values import Value
    from qmd.types import Anchor, Chunk, Config, Document, FieldSummary, Link, States, ValueCount


class Collections(Protocol):
    """The collections of an index, kept in line with the configuration."""

    def sync(self, config: Config, *, drop: bool = False) -> None:
        """Make the collections match the configuration, and drop the documents of removed collections.

        Args:
            config: The configuration. Its file is read again if it has changed since.
            drop: Whether documents may be removed from an index that belongs to another configuration file.

        Raises:
            ConfigError: If documents would be removed from the index of another configuration file.
        """

    def config_copy(self, path: str, digest: str) -> Config | None:
        """Return the configuration of the last `sync`, or None if its file has changed since."""

    def stats(self) -> Mapping[str, CollectionStats]:
        """Return the size and the last scan of each collection by name."""

    def last_scans(self) -> Mapping[str, str | None]:
        """Return the time of each collection's last scan, ISO 8601 in UTC; None before the first scan."""

    def rename(self, old: str, new: str) -> None:
        """Rename a collection; its documents keep their ids.

        Raises:
            ConflictError: If the new name is taken.
        """

    def remove(self, name: str) -> int:
        """Drop a collection with its documents and return the number of documents."""

    def finish_scan(self, collection: str, root: str = "") -> None:
        """Record that a collection was scanned, with the record for the next scan as a text."""

    def last_root(self, collection: str) -> str | None:
        """Return the text of a collection's last scan, or None if it had none."""


class Documents(Protocol):
    """Documents and their texts."""

    def manifest(self, collection: str) -> States:
        """Return the values of the fingerprint of each document of a collection by path."""

    def apply(
        self,
        collection: str,
        changed: Sequence[DocumentChange],
        removed: Sequence[str],
        *,
        wait: bool = True,
    ) -> Applied:
        """Store and remove files of a collection, all of them or none.

        Without `wait`, a store may return before it has committed. The next call on this thread then waits
        for that, and raises its error.
        """

    def prune(self) -> int:
        """Drop texts without documents, with their vectors, and return the number of texts."""

    def refresh_statistics(self, force: bool = False) -> None:
        """Recompute the stored term statistics if the index has changed enough, or if `force` is true.

        A store may also bring its terms into an order in which they are found faster, and make the structures
        that texts of an older index lack.
        """

    def by_id(self, ids: Sequence[int]) -> dict[int, Document]:
        """Return documents by id, without ids that no longer exist."""

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of documents by document id, without ids that no longer exist."""

    def placed(self, ids: Sequence[int], terms: Sequence[str] = ()) -> dict[int, Placed]:
        """Return the structures of texts by document id, as far as the store keeps them.

        With `terms`, also their places among the terms of each text, if they are had fast. A term that ends
        with `*` is the beginning of others.
        """

    def without_structures(self) -> int:
        """Return the number of texts whose structures will be made by the next writer."""

    def find(self, collection: str, path: str) -> Document | None:
        """Return the document at a path of a collection."""

    def ending_with(self, suffix: str) -> list[Document]:
        """Return documents whose display path equals `suffix` or ends with `/` and `suffix`."""

    def path_contains(self, text: str) -> Iterator[Document]:
        """Return documents whose path contains `text`."""

    def by_hash(self, prefix: str) -> list[Document]:
        """Return documents whose hash starts with `prefix`, in order of path."""

    def listing(self, collection: str | None = None, under: str = "") -> Iterator[Document]:
        """Return documents in order of display path. `under` is a folder or a file inside the collection."""

    def changed_last(self, collections: Sequence[str], limit: int) -> list[Document]:
        """Return the documents whose files changed last, newest first."""


class Lexical(Protocol):
    """Full-text search."""

    def search(
        self,
        query: LexicalQuery,
        scope: Scope,
        limit: int,
        *,
        longer: bool = True,
        all_first: bool = False,
        placed: int = 0,
    ) -> LexicalMatches:
        """Return the best documents by BM25.

        Args:
            query: The parsed query.
            scope: The documents to search.
            limit: The maximum number of documents.
            longer: Whether documents with longer words that start with a query word fill up a short result.
            all_first: Whether documents with all terms come before all others. If there are few terms, they
                always do.
            placed: The number of first documents to measure `scattered` of, if the store keeps places.
        """

    def matching(self, query: LexicalQuery, scope: Scope, limit: int | None = None) -> list[int]:
        """Return all documents with any of the terms, or `limit` of them, in no order."""

    def count(self, query: LexicalQuery, scope: Scope, limit: int) -> int:
        """Return the number of documents with any of the terms, at most `limit`."""
        return len(self.matching(query, scope, limit))

    def existing(self, terms: Sequence[str], scope: Scope) -> dict[str, int]:
        """Return the number of documents with each of some terms, without terms that none has.

        They are counted in the population, or in the whole index if the scope has none.
        """

    def beginning(self, beginning: str, limit: int) -> list[str]:
        """Return terms of the whole index that begin with a text, in order."""


class Vectors(Protocol):
    """Chunks and their vectors, by the fingerprint of their embedder. Query vectors have length 1."""

    def exist(self, embedder: str, scope: Scope) -> bool:
        """Return whether any document of the scope's collections has vectors."""

    def search(self, embedder: str, vector: Floats, scope: Scope, limit: int) -> list[ChunkMatch]:
        """Return the best documents by the cosine of their best chunk with `vector`."""

    def similarities(self, embedder: str, vector: Floats, ids: Sequence[int]) -> dict[int, ChunkMatch]:
        """Return the exact best chunk of each document by id, without documents that have no vectors."""

    def add(self, into: VectorSet, batch: Sequence[Embedded]) -> None:
        """Store chunks with their vectors. Searches find them at once, before the text is complete.

        Chunks that already have vectors are left unchanged. Chunks that continue others (see
        `Embedded.continues`) are skipped if the others were dropped in the meantime.
        """

    def sample(self, embedder: str, count: int) -> list[EmbeddedSample]:
        """Return up to `count` first chunks with their vectors, spread over the index."""

    def of_texts(self, embedder: str, hashes: Sequence[str]) -> dict[str, tuple[list[Chunk], Floats]]:
        """Return chunks and vectors (float32, shape (n, dimension)) by hash, without unembedded texts."""


class VectorSets(Protocol):
    """The vector sets of an index, and the statistics of their tokens."""

    def all(self) -> list[VectorSet]:
        """Return the sets that have vectors."""

    def chunk_counts(self) -> dict[str, int]:
        """Return the number of chunks of each set that has vectors, by fingerprint."""

    def drop(self, scope: Scope, embedder: str) -> int:
        """Delete an embedder's vectors of a scope's texts and return the number of chunks."""

    def activate(self, embedder: str, scope: Scope) -> list[str] | None:
        """Mark an embedder's set as complete and drop all other sets, if it covers every text of a scope.

        Returns:
            The names of the dropped sets, or None if texts lack vectors or there are none. Nothing has
            changed then.
        """

    def token_frequencies(
        self, embedder: str, tokens: Sequence[int], population: Sequence[str] | None = None
    ) -> tuple[int, list[int]]:
        """Return (number of embedded chunks, number of chunks with each token).

        Args:
            embedder: Fingerprint of the embedder.
            tokens: Token ids.
            population: Names of collections whose chunks are counted exactly, without chunks that have no
                stored tokens (from another store or an earlier version). None uses the stored counts of the
                whole index.
        """

    def all_token_frequencies(self, embedder: str) -> tuple[int, dict[int, int]]:
        """Return (number of embedded chunks, number of chunks by token)."""

    def import_statistics(self, copied: VectorSet, chunks: int, counts: Mapping[int, int]) -> None:
        """Replace the token frequencies of a copied set, and its `complete`, by those of its source."""


class PendingTexts(Protocol):
    """The texts that lack vectors, and the leases of workers that embed them."""

    def count(self, embedder: str, scope: Scope) -> int:
        """Return the number of texts of a scope with chunks that lack vectors."""

    def sizes(self, embedder: str, scope: Scope) -> list[int]:
        """Return the bytes still to embed of each text of a scope that lacks vectors."""

    def texts(self, embedder: str, scope: Scope, after: int, limit: int) -> list[Pending]:
        """Return up to `limit` texts that lack vectors, in order of id, with ids greater than `after`."""

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        """Lease up to `limit` texts without vectors to `worker` for `seconds`, small texts first.

        The other leases of the worker are renewed for the same time. A lease ends after its time, with
        `release`, or when the vectors of its text are stored.
        """

    def earlier(self, embedder: str, text: str) -> tuple[str, str] | None:
        """Return hash and text of a text with vectors that begins like another and no document has any more.

        None if there is none, or if the store does not keep such texts.
        """

    def release(self, prefix: str) -> None:
        """Release the leases of workers whose name starts with `prefix`."""


class Answers(Protocol):
    """The cache of model answers."""

    def get(self, key: str) -> str | None:
        """Return the cached answer for a key."""

    def put(self, answers: Mapping[str, str]) -> None:
        """Cache answers by key. The oldest answers make room if there are too many."""

    def items(self) -> Iterator[tuple[str, str]]:
        """Return all cached keys and answers."""


class Windows:
    """What a reranker has read, by keys of the texts; it is deleted with these. This class keeps nothing."""

    def get(self, keys: Sequence[bytes]) -> dict[bytes, tuple[bytes, bool]]:
        """Return what is kept by key, and whether it was last read before today."""
        return {}

    def put(self, rows: Mapping[bytes, tuple[int, bytes]], read: Collection[bytes], most: int) -> None:
        """Keep rows by key, of (document, what was read), and note that others were read today.

        If there are more than `most`, those that were read least recently make room.
        """


class Fields(Protocol):
    """The fields of documents, and their links."""

    def count(self, scope: Scope) -> int:
        """Return the number of documents."""

    def newest(self, scope: Scope, limit: int) -> list[int]:
        """Return the ids of up to `limit` documents, those with the latest dates first."""

    def summaries(self, scope: Scope) -> list[FieldSummary]:
        """Return the fields, without those of the file itself, most frequent first."""

    def existing(self, collections: Sequence[str], names: Sequence[str]) -> frozenset[str]:
        """Return those of some fields that a document has, without those of the file itself."""

    def stated(
        self, collections: Sequence[str], conditions: Sequence[Comparison]
    ) -> dict[int, dict[str, tuple[Value, ...]]]:
        """Return by document and field the values that satisfy one of some comparisons.

        It takes hardly any time if no document has one of the fields, which are not those of the file itself.
        """

    def values(self, scope: Scope, field: str, limit: int) -> list[ValueCount]:
        """Return up to `limit` values of a field, most frequent first."""

    def facet(self, documents: Sequence[int], field: str, limit: int) -> list[ValueCount]:
        """Return up to `limit` values of a field, or of `year`, among some documents."""

    def of(self, documents: Sequence[int]) -> dict[int, dict[str, tuple[Value, ...]]]:
        """Return all fields of documents by id."""

    def links(self, documents: Sequence[int]) -> dict[int, list[Link]]:
        """Return the links of documents by id, in order. The texts of links are not stored."""

    def anchors(self, documents: Sequence[int]) -> dict[int, list[Anchor]]:
        """Return the anchors of documents by id, in order, without documents that have none."""

    def linking(self, collection: str, names: Sequence[str]) -> list[int]:
        """Return the ids of documents with a link whose target has one of these names."""

    def targets(self, collection: str) -> list[tuple[int, str, tuple[str, ...]]]:
        """Return (id, path, aliases) of the documents of a collection, in order of path."""


class Upkeep(Protocol):
    """Checks and cleanups."""

    def faults(self, on_step: OnStep) -> list[IndexFault]:
        """Read the whole index and return its inconsistencies. Nothing is changed."""

    def waste(self, keep: Retention) -> list[Waste]:
        """Return the data that the index does not need, by kind, without empty kinds."""

    def clear(self, keep: Retention, on_step: OnStep) -> None:
        """Delete the data that `waste` returns, one kind at a time, and return the space to the disk."""


class Store(Protocol):
    """An index, by its parts. Safe to share between threads."""

    @property
    def collections(self) -> Collections: ...
    @property
    def documents(self) -> Documents: ...
    @property
    def lexical(self) -> Lexical: ...
    @property
    def vectors(self) -> Vectors: ...
    @property
    def vector_sets(self) -> VectorSets: ...
    @property
    def pending(self) -> PendingTexts: ...
    @property
    def fields(self) -> Fields: ...
    @property
    def answers(self) -> Answers: ...
    @property
    def windows(self) -> Windows: ...
    @property
    def upkeep(self) -> Upkeep: ...

    @property
    def location(self) -> str:
        """The path of the file, or the address without secrets."""

    def computed(self) -> dict[Any, Any]:
        """Return the results of this thread from the index, by key; empty after a change of the index.

        A store that cannot tell changes returns a new dictionary each time.
        """

    def snapshot(self) -> AbstractContextManager[object]:
        """Let this thread read one state of the index in a block, without writing, if the store can."""

    def close(self) -> None:
        """Close the connections."""

    def size(self) -> int:
        """Return the bytes on disk; 0 if they are unknown."""
