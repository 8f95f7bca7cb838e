"""Rules of full-text search that all stores share: candidates first, and exact scores for them alone."""

from __future__ import annotations

from qmd.ranking import bm25
from qmd.text.query import LexicalQuery, Term, longer_words

#: The minimum number of candidates that are scored exactly, and the number for each requested document.
POOL, POOL_FACTOR = 100, 3
#: Documents with all terms are ranked first only up to this many terms. With more, having all of them is a
#: sign of length, not of relevance.
ALL_FIRST = 6


def longer_terms(query: LexicalQuery) -> list[Term]:
    """Return terms for longer words that start with words of a query.

    They have no stems, which are shorter than the word and would match words that do not start with it.
    """
    longer = [longer_words(term) for term in query.terms]
    return [term._replace(alternatives=()) for term in longer if term is not None]


def longer_idf(documents: int) -> float:
    """Return the weight of each of `longer_terms` among a number of documents."""
    return bm25.idf(documents, max(1, documents // 50))
