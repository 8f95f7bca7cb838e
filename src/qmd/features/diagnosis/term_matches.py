"""Match the terms of a query against one document."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from msgspec import Struct

from qmd.engine.documents.structures import structures
from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.text.layout import indexed
from qmd.text.query import LexicalQuery, Term, longer_words
from qmd.text.tokens import is_unspaced
from qmd.types import Document


class TermMatch(Struct, frozen=True):
    """One term of a query, and the number of its occurrences in each field that contains it.

    The fields are `title`, `text` and `path`. `documents` of `total` in the index contain the term. `longer`:
    this one contains it only as the beginning of longer words. `excluded`: the query excludes documents with
    it. `part`: it is a part of a compound word, searched in addition to the word.
    """

    term: str
    found: Mapping[str, int]
    documents: int
    total: int
    longer: bool = False
    excluded: bool = False
    part: bool = False


def match_terms(store: Store, document: Document, query: LexicalQuery) -> list[TermMatch]:
    """Return the matches of all terms of a query, excluded terms too, rarest first."""
    if not query.terms and not query.negative:
        return []
    text = store.documents.texts([document.id]).get(document.id, "")
    structure = structures(store, {document.id: text})[document.id]
    forms = indexed(document.title, text, document.path, structure)
    fields = {name: f" {form} " for name, form in zip(("title", "text", "path"), forms, strict=True)}
    all_terms = LexicalQuery((*query.terms, *query.negative))
    stats = store.collections.stats()
    idf = store.lexical.search(all_terms, Scope(tuple(stats)), 1, longer=False).idf
    total = sum(entry.documents for entry in stats.values())
    matches = []
    for number, term in enumerate(all_terms.terms):
        found = _counts(term, fields)
        longer = longer_words(term)
        matches.append(
            TermMatch(
                _as_typed(term),
                found,
                _documents(idf.get(term.tokens, math.inf), total),
                total,
                longer=not found and longer is not None and bool(_counts(longer, fields)),
                excluded=number >= len(query.terms),
                part=term.part,
            )
        )
    return sorted(matches, key=lambda match: match.documents)


def _counts(term: Term, fields: Mapping[str, str]) -> dict[str, int]:
    """Count a term and its alternatives in each field, a text of space-separated tokens that contains any."""
    spellings = [(term.tokens, term.prefix), *((tokens, False) for tokens in term.alternatives)]
    patterns = [
        re.compile(f"(?<= ){re.escape(' '.join(tokens))}{'' if prefix else '(?= )'}")
        for tokens, prefix in spellings
    ]
    counts = {name: sum(len(pattern.findall(form)) for pattern in patterns) for name, form in fields.items()}
    return {name: count for name, count in counts.items() if count}


def _documents(idf: float, total: int) -> int:
    """Return how many of `total` documents contain a term with this idf: the inverse of `bm25.idf`."""
    return max(0, round((total + 1.0) * math.exp(-idf) - 0.5))


def _as_typed(term: Term) -> str:
    text = " ".join(term.words)
    # A single character of an unspaced script is a prefix although the user typed no star.
    star = "*" if term.prefix and not is_unspaced(term.words[-1]) else ""
    return f'"{text}"{star}' if term.quoted else text + star
