"""The results of the retrievers of a search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from qmd.engine.retrieval.queries import SubQuery
from qmd.ranking import bm25
from qmd.ranking.fusion import RankedList
from qmd.store.base import Store
from qmd.store.values import ChunkMatch, LexicalMatches
from qmd.text.highlight import Highlighter
from qmd.text.numbers import numbers_in
from qmd.text.query import LexicalQuery, as_prose, parse
from qmd.text.question import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qmd.engine.embedding.active_vectors import ActiveVectors
    from qmd.models.base import Probe

#: The least share of a query that can be its subject.
_LEAST_SUBJECT = 0.2


class Found(Struct, dict=True):
    """The ranked lists of a query and the user's intent.

    Attributes:
        question: The query.
        intent: The aim of the user, in words.
        words: The matches of the first subquery by words; None if there was none.
        lexical: A list of (document, BM25) for each subquery by words.
        dense: A list of (document, cosine) for each subquery by meaning.
        vectors: The vectors that were searched; None if none were.
        probe: The vector of the first subquery.
        chunks: The best chunk of each document.
        source: The text of the document that others are similar to.
    """

    question: Question
    intent: str = ""
    words: LexicalMatches | None = None
    lexical: list[RankedList] = field(default_factory=list)
    dense: list[RankedList] = field(default_factory=list)
    vectors: ActiveVectors | None = None
    probe: Probe | None = None
    chunks: dict[int, ChunkMatch] = field(default_factory=dict)
    source: str = ""

    def add_words(self, queries: Sequence[SubQuery], matches: Sequence[LexicalMatches]) -> None:
        """Add the matches of subqueries by words."""
        if self.words is None and matches:
            self.words = matches[0]
        for query, each in zip(queries, matches, strict=False):
            # Sorted by BM25 alone: the store puts documents with all terms first, which would count twice.
            rows = [(match.document, match.score) for match in each.matches]
            rows.sort(key=lambda row: -row[1])
            self.lexical.append(RankedList(f"lexical:{query.name}", "lexical", rows, query.weight))

    def add_meaning(self, queries: Sequence[SubQuery], matches: Sequence[Sequence[ChunkMatch]]) -> None:
        """Add the matches of subqueries by meaning. Chunks of earlier subqueries take precedence."""
        best: dict[int, ChunkMatch] = {}
        for query, each in zip(queries, matches, strict=False):
            for match in each:
                if match.document not in best or match.similarity > best[match.document].similarity:
                    best[match.document] = match
            rows = [(match.document, match.similarity) for match in each]
            self.dense.append(RankedList(f"vector:{query.name}", "dense", rows, query.weight))
        self.chunks = best | self.chunks

    def add_missing_chunks(self, store: Store, documents: Iterable[int]) -> None:
        """Look up the best chunk of documents that only words have found."""
        missing = [document for document in documents if document not in self.chunks]
        if self.vectors is not None and self.probe is not None and missing:
            self.chunks |= self.vectors.nearest_chunks(store, self.probe, missing)

    @property
    def vector(self) -> NDArray[np.float32] | None:
        """The vector of the first subquery, float32 of shape (dimension,)."""
        return self.probe and self.probe.query

    @property
    def shares(self) -> dict[int, float]:
        """The BM25 scores of the first subquery relative to the highest possible one, 0..1."""
        words = self.words
        if words is None or words.bound <= 0:
            return {}
        return {match.document: match.score / words.bound for match in words.matches}

    @property
    def exact(self) -> frozenset[int]:
        """The documents with all words of the first subquery."""
        matches = self.words.matches if self.words else ()
        return frozenset(match.document for match in matches if match.tier == "all")

    @property
    def coverage(self) -> float:
        """The score of the best keyword match relative to its maximum, 0..1."""
        return min(1.0, max(self.shares.values(), default=0.0))

    @property
    def idf(self) -> Mapping[tuple[str, ...], float]:
        """The idf of the query's terms, empty without keyword matches."""
        return self.words.idf if self.words else {}

    @property
    def text(self) -> str:
        return self.question.words

    @property
    def query(self) -> LexicalQuery:
        return self.question.terms

    @property
    def rerank_query(self) -> str:
        """The query with the intent."""
        return as_prose(f"{self.text} {self.intent}".strip())

    @cached_property
    def highlighter(self) -> Highlighter:
        """Finds the terms of the query, and those of the intent, each of which counts as the rarest term."""
        intent = parse(self.intent).terms if self.intent else ()
        rarest = max(self.idf.values(), default=1.0)
        return Highlighter(
            (*self.query.terms, *intent),
            {**dict.fromkeys((term.tokens for term in intent), rarest), **self.idf},
            numbers_in(self.text),
        )


def whole_query(query: LexicalQuery, found: LexicalMatches, languages: Sequence[str]) -> tuple[float, float]:
    """Return the score that counts as the whole query on the scale, and the share of it that is chance.

    Words without a subject are not held against a document that lacks them, as most do if they are rare. They
    still count for the order of the documents.
    """
    idf = found.idf
    lacked = sum(
        idf[words] * (1.0 - bm25.share_with(found.documents, idf[words]))
        for words in _without_subject(query, languages)
        if words in idf
    )
    # Other forms of words and parts of joined ones count in their place.
    added = {term.tokens for term in query.terms if term.weight < 1.0 and term.tokens in idf}
    bound = found.bound - bm25.bound([idf[words] for words in added])
    whole = bound - bm25.bound([lacked])
    if whole < _LEAST_SUBJECT * bound:
        whole = bound  # a query of nothing else is about these words
    chance = bm25.chance(found.documents, [idf[words] for words in idf if words not in added])
    return whole, chance * bound / whole if whole > 0 else chance


def _without_subject(query: LexicalQuery, languages: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the terms without a subject in the language of a query, or of the documents if that is open."""
    foreign = [language for language in languages if language != "en"]
    if not foreign:
        return
    from qmd.text.languages import asked_in, is_function_word  # reads a file

    words = {term.words[0]: term.tokens for term in query.terms if term.is_single and not term.quoted}
    asked = asked_in(words, languages)
    for word, tokens in words.items():
        if any(is_function_word(word, language) for language in ([asked] if asked else foreign)):
            yield tokens
