"""Which of a query's terms a document has."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from qmd.store.base import Scope, Store
from qmd.text.query import LexicalQuery, Term, longer_words
from qmd.text.tokens import index_form, is_unspaced
from qmd.types import Document


@dataclass(frozen=True, slots=True)
class TermMatch:
    """One term of a query, and what a document has of it.

    `found` maps the fields that have it (`title`, `text`, `path`) to how often. `documents` of `total` in the
    index have it. `longer`: the document has it only as the beginning of longer words. `excluded`: the
    query leaves out documents that have it. `part`: a part of a joined word, looked for besides it.
    """

    term: str
    found: Mapping[str, int]
    documents: int
    total: int
    longer: bool = False
    excluded: bool = False
    part: bool = False


def match_terms(store: Store, document: Document, query: LexicalQuery) -> list[TermMatch]:
    """Every term of a query, those that exclude included, the rarest first."""
    if not query.terms and not query.negative:
        return []
    text = store.texts([document.id]).get(document.id, "")
    fields = {
        name: f" {index_form(value)} "
        for name, value in (("title", document.title), ("text", text), ("path", document.path))
    }
    asked = LexicalQuery((*query.terms, *query.negative))
    stats = store.collection_stats()
    idf = store.lexical(asked, Scope(tuple(stats)), 1, longer=False).idf
    total = sum(each.documents for each in stats.values())
    matches = []
    for number, term in enumerate(asked.terms):
        found = _found(term, fields)
        longer = longer_words(term)
        matches.append(
            TermMatch(
                _as_typed(term),
                found,
                _documents(idf.get(term.tokens, math.inf), total),
                total,
                longer=not found and longer is not None and bool(_found(longer, fields)),
                excluded=number >= len(query.terms),
                part=term.part,
            )
        )
    return sorted(matches, key=lambda match: match.documents)


def _found(term: Term, fields: Mapping[str, str]) -> dict[str, int]:
    counts = {name: sum(len(way.findall(form)) for way in _ways(term)) for name, form in fields.items()}
    return {name: count for name, count in counts.items() if count}


def _ways(term: Term) -> Iterator[re.Pattern[str]]:
    """A term, and its alternatives, as patterns for terms joined by spaces."""
    yield _pattern(term.tokens, term.prefix)
    for tokens in term.alternatives:
        yield _pattern(tokens, False)


def _pattern(tokens: tuple[str, ...], prefix: bool) -> re.Pattern[str]:
    end = "" if prefix else "(?= )"
    return re.compile(f"(?<= ){re.escape(' '.join(tokens))}{end}")


def _documents(idf: float, total: int) -> int:
    """How many of `total` documents have a term of this idf: `bm25.idf`, solved for it."""
    return max(0, round((total + 1.0) * math.exp(-idf) - 0.5))


def _as_typed(term: Term) -> str:
    text = " ".join(term.words)
    # A single character of an unspaced script is looked for as a prefix without having been typed so.
    star = "*" if term.prefix and not is_unspaced(term.words[-1]) else ""
    return f'"{text}"{star}' if term.quoted else text + star
