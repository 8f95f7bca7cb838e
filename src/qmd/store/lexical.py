"""Steps of a search by words that all stores share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from qmd.ranking import bm25
from qmd.text import tokens
from qmd.text.query import LexicalQuery, Term, longer_words
from qmd.text.regex import lazy

if TYPE_CHECKING:
    from qmd.store.values import LexicalMatches
    from qmd.types.structure import Structure

#: The minimum number of candidates that are scored exactly, and the number for each requested document.
POOL, POOL_FACTOR = 100, 3
#: A text of fewer terms has hardly more than one place.
LONG_TEXT = 300
#: The decimals of scores by words.
SCORE_DIGITS = 9
#: Documents with all terms are ranked first only up to this many terms. With more, having all of them is a
#: sign of length, not of relevance (measured, see bench/README.md).
ALL_FIRST = 2
#: The best document with a synonym has this part of the score of the last one with the word.
_BELOW = 0.999

_NUMBERED = lazy(r"([a-z]{2,8}) ?0{0,6}+(\d{1,6})")


def numbered_name(required: Sequence[Term]) -> str:
    """Return the name with a number that the required terms of a query are, as an alias is compared.

    It is "" if they are more. A document with the name comes before those that mention it: `PEP 8`.
    """
    if len(required) > 2:
        return ""
    name = " ".join(word for term in required for word in term.words)
    match = _NUMBERED.fullmatch(name) if name[-1:].isdecimal() else None
    return f"{match[1]} {match[2]}" if match else ""


def below_words(
    scored: Sequence[tuple[int, float]], has: Mapping[int, tuple[int, int]]
) -> list[tuple[int, float]]:
    """Return scores by which no document with synonyms of words is above one that has these words.

    Documents that have the same words and synonyms keep their order: one factor makes their scores smaller.

    Args:
        scored: Documents with their scores.
        has: Of each document a bit for each word of the query that it has, without and with synonyms.
    """
    scores = dict(scored)
    # Those with more words of the query first, because others may have to be below them.
    for words, found in sorted({*has.values()}, key=lambda each: -each[0].bit_count()):
        alike = [document for document in scores if has[document] == (words, found)]
        direct = [score for document, score in scores.items() if has[document][0] & found == found]
        if words != found and direct:
            factor = min(1.0, _BELOW * min(direct) / max(scores[document] for document in alike))
            scores.update((document, factor * scores[document]) for document in alike)
    return [*scores.items()]


def in_order(
    scored: Iterable[tuple[int, float]],
    query: LexicalQuery,
    names: Callable[[Sequence[int]], Mapping[int, tuple[str, str]]],
    limit: int,
    first: Collection[int] = (),
) -> list[tuple[int, float]]:
    """Return the best documents with their scores, best first.

    Of equal scores those are first whose names have the words as typed, and then by path: ids depend on when
    a document was indexed. Scores are rounded, because stores add them up in different orders.

    Args:
        scored: Documents with their scores.
        query: The query.
        names: Returns the display paths and the titles of documents.
        limit: The number of documents to return.
        first: The documents that are before all others.
    """
    rows = [(document not in first, -round(score, SCORE_DIGITS), document) for document, score in scored]
    rows.sort()
    rows = rows[:limit] + [row for row in rows[limit:] if row[:2] == rows[limit - 1][:2]]
    counts = Counter(row[:2] for row in rows)
    tied = [row[2] for row in rows if counts[row[:2]] > 1]
    places = {document: _place(query, *name) for document, name in names(tied).items()} if tied else {}
    rows.sort(key=lambda row: (*row[:2], places.get(row[2], (0, ""))))
    return [(document, -score) for _, score, document in rows[:limit]]


def _place(query: LexicalQuery, file: str, title: str) -> tuple[int, str]:
    """Return what orders documents of equal scores: the words of a query that their names lack, the path."""
    known = {*map(tokens.fold, tokens.words(f"{file.rpartition('/')[2]} {title}"))}
    words = [word for term in query.required for word in term.words]
    return -sum((word in known) + any(name.startswith(word) for name in known) for word in words), file


def with_scattered(
    found: LexicalMatches,
    query: LexicalQuery,
    places: Mapping[int, Sequence[tuple[float, Sequence[int]]]],
    structures: Mapping[int, Structure],
) -> LexicalMatches:
    """Return matches that know what their best place lacks.

    Args:
        found: The matches.
        query: The query.
        places: The idf of the terms that texts have, and their places, by document.
        structures: The structures of the same texts.
    """
    total = sum(found.idf[term.tokens] for term in query.required)
    scattered = {
        document: bm25.scattered(places[document], structure.first_terms()) / total
        for document, structure in structures.items()
        if total and len(structure.terms) > bm25.SEVERAL
    }
    matches = tuple(match._replace(scattered=scattered.get(match.document, 0.0)) for match in found.matches)
    return replace(found, matches=matches)


def longer_terms(query: LexicalQuery) -> list[Term]:
    """Return terms for longer words that start with words of a query."""
    return [longer for term in query.terms if (longer := longer_words(term))]


def longer_idf(documents: int) -> float:
    """Return the weight of each of `longer_terms` among a number of documents."""
    return bm25.idf(documents, max(1, documents // 50))
