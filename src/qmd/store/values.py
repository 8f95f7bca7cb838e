"""The values that pass between a store and the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from qmd.types import Chunk

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from qmd.text.predicates import Predicate
    from qmd.types import Fingerprint, Indexed, SourceText

    Floats = NDArray[np.float32]

#: Called with a description of each step of a long operation before the step begins.
OnStep = Callable[[str], None]
#: Called with (pages copied, total pages).
OnPages = Callable[[int, int], None]

WasteKind = Literal["answers", "documents", "texts", "vectors", "slots", "segments", "pages"]
#: The text shown in place of one that a portable file does not contain. Its text in the store is "", which
#: no other document has, because empty files are not indexed.
LEFT_OUT = "the texts of documents were left out of this index file"


class Scope(Struct, frozen=True):
    """A filter on documents, applied before results are cut to a limit.

    Attributes:
        collections: Names of the collections to search.
        where: A condition on the fields of a document.
        population: Collections that supply the statistics of a search (document frequencies, average length).
            The results then equal those of an index with only these collections. None uses the stored
            statistics of the whole index, which is fastest.
        without: Sorted ids of documents that `where` leaves out. Statistics do not count them, as far as the
            store can tell.
    """

    collections: tuple[str, ...]
    where: Predicate | None = None
    population: tuple[str, ...] | None = None
    without: tuple[int, ...] = ()


class LexicalMatch(NamedTuple):
    """A document that matched, its BM25 score, and whether it has all terms, some, or only longer words.

    `scattered` is the share of the query that a long text has, but not in its best place; 0 if that is
    unknown.
    """

    document: int
    score: float
    tier: Literal["all", "any", "longer"]
    scattered: float = 0.0


class LexicalMatches(Struct, frozen=True):
    """Matches, best first. `bound` is the highest possible score, `idf` the weight of each term.

    `documents` is the number of documents that the weights are from.
    """

    matches: tuple[LexicalMatch, ...]
    bound: float
    idf: Mapping[tuple[str, ...], float]
    documents: int = 0


class ChunkMatch(NamedTuple):
    """A document found by vector, its best chunk, and the cosine of that chunk with the query."""

    document: int
    chunk: Chunk
    similarity: float


class DocumentChange(Struct, frozen=True):
    """A file to store. `author` and `date` have the same form as in `Document`.

    `indexed` are its terms if they are made already; otherwise the store makes them.
    """

    path: str
    fingerprint: Fingerprint
    source: SourceText
    author: str = ""
    date: str = ""
    indexed: Indexed | None = None


def terms_of(item: DocumentChange) -> Indexed:
    """Return the terms of a document to store."""
    if item.indexed is not None:
        return item.indexed
    from qmd.text.indexing import indexed  # searches start without it

    source = item.source
    return indexed(source.title, source.fields, source.text, item.path, source.structure)


class Applied(Struct, frozen=True):
    """The number of documents that a batch changed. `updated` counts only changes of text or title."""

    added: int = 0
    updated: int = 0
    removed: int = 0


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
    structure: bytes = b""  #: The structure of the text, packed; empty if the store has none


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


class CollectionStats(Struct, frozen=True):
    """The size of a collection in the index, and the time of its last scan (ISO 8601 in UTC)."""

    documents: int
    bytes: int
    updated_at: str | None


class Retention(Struct, frozen=True):
    """The data that a cleanup keeps: collections, vectors of embedders, and cached answers since a moment.

    None for `collections` or `embedders` keeps all of them.
    """

    collections: tuple[str, ...] | None
    embedders: tuple[str, ...] | None
    answers_since: datetime


class Waste(Struct, frozen=True):
    """Data of one kind that an index does not need: number of items and approximate size in bytes."""

    kind: WasteKind
    count: int
    bytes: int


class IndexFault(Struct, frozen=True):
    """An inconsistency in an index. `hint` says how to repair it."""

    message: str
    hint: str
