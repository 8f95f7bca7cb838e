"""The scale of a search by words: what counts as the whole query, and what unrelated documents have of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qmd.ranking import bm25
from qmd.store.values import LexicalMatches
from qmd.text.query import LexicalQuery


def whole_query(query: LexicalQuery, found: LexicalMatches, languages: Sequence[str]) -> tuple[float, float]:
    """Return the score that counts as the whole query, and the share of it that unrelated documents have.

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
    whole = found.bound - bm25.bound([lacked, *(idf[words] for words in added)])
    if whole < LEAST * found.bound:
        whole = found.bound  # a query of nothing else is about these words
    chance = bm25.chance(found.documents, [idf[words] for words in idf if words not in added])
    return whole, chance * found.bound / whole if whole > 0 else chance


#: The least share of a query that can be its subject.
LEAST = 0.2


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
