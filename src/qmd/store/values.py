"""The values of searching and changing documents that pass between a store and the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from qmd.text.predicates import Predicate
    from qmd.types import Chunk, Fingerprint, SourceText

#: What is shown in place of a text that a portable file does not contain. Its text in the store is "", which
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
    """

    collections: tuple[str, ...]
    where: Predicate | None = None
    population: tuple[str, ...] | None = None


class LexicalMatch(NamedTuple):
    """A document that matched, its BM25 score, and whether it has all terms, some, or only longer words."""

    document: int
    score: float
    tier: Literal["all", "any", "longer"]


class LexicalMatches(NamedTuple):
    """Matches, best first. `bound` is the highest possible score, `idf` the weight of each term."""

    matches: tuple[LexicalMatch, ...]
    bound: float
    idf: Mapping[tuple[str, ...], float]


class ChunkMatch(NamedTuple):
    """A document found by vector, its best chunk, and the cosine of that chunk with the query."""

    document: int
    chunk: Chunk
    similarity: float


class DocumentChange(Struct, frozen=True):
    """A file to store. `author` and `date` have the same form as in `Document`."""

    path: str
    fingerprint: Fingerprint
    source: SourceText
    author: str = ""
    date: str = ""


class Applied(NamedTuple):
    """The number of documents that a batch changed. `updated` counts only changes of text or title."""

    added: int = 0
    updated: int = 0
    removed: int = 0
