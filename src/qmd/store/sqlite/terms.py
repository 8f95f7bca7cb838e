"""The terms of a query: as expressions for FTS5, and which of them find its candidates.

Those that few documents have do. Common terms would read long posting lists, and say little about which
documents are the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from qmd.text.query import Term

#: A term in more than this share of the documents is common, in an index of at least this many documents.
COMMON_SHARE = 0.02
COMMON_FROM = 4_000
#: Selective terms are enough to find candidates if they have this share of the query's idf. More find better
#: ones, so common terms are added up to the larger share as long as few documents have them.
_SELECTIVE_SHARE, _LARGER_SHARE, _FEW_MATCHES = 0.25, 0.75, 8_000
#: In an index of at least `COMMON_FROM` documents, beginnings of words of at most this length are searched in
#: titles and paths first, and in texts only if that finds too few documents. FTS5 merges the posting lists of
#: all words with a beginning for each search, and those of texts are long.
_SHORT_BEGINNING = 3


class WeightedTerm(Struct, frozen=True):
    """A query term with its statistics."""

    term: Term
    documents: int
    idf: float


def attempts(entries: list[WeightedTerm], count: int) -> list[list[WeightedTerm]]:
    """Return the terms with short beginnings in titles and paths only, and as they are; in a large index."""
    in_names = [
        replace(entry, term=replace(entry.term, in_names=True))
        if entry.term.prefix and len(entry.term.words[-1]) <= _SHORT_BEGINNING
        else entry
        for entry in entries
    ]
    return [in_names, entries] if count >= COMMON_FROM and in_names != entries else [entries]


def split(present: Sequence[WeightedTerm], documents: int) -> tuple[list[WeightedTerm], list[WeightedTerm]]:
    """Return (selective terms, common terms). Common terms with most of the query's idf are selective."""
    if documents < COMMON_FROM:
        return list(present), []
    by_rarity = sorted(present, key=lambda entry: entry.documents)
    total = sum(entry.idf for entry in present)
    selective: list[WeightedTerm] = []
    gathered, matching = 0.0, 0
    for entry in by_rarity:
        matching += entry.documents
        enough = (_LARGER_SHARE if matching <= _FEW_MATCHES else _SELECTIVE_SHARE) * total
        if entry.documents > COMMON_SHARE * documents and gathered >= enough:
            break
        selective.append(entry)
        gathered += entry.idf
    return selective, by_rarity[len(selective) :]


def phrase(tokens: Iterable[str], prefix: bool = False) -> str:
    """Return a quoted FTS5 string, so that user input is never syntax."""
    text = " ".join(tokens).replace('"', '""')
    return f'"{text}" *' if prefix else f'"{text}"'


def expression(term: Term) -> str:
    """Return a term as an FTS5 expression."""
    first, *others = phrases(term)
    return f"({' OR '.join((first, *others))})" if others else first


def phrases(term: Term) -> list[str]:
    """Return the FTS5 phrases of a term's expression, in order."""
    columns = "{title path} : " if term.in_names else ""
    return [columns + phrase(tokens, term.prefix and not at) for at, tokens in enumerate(term.forms)]


def without(match: str, negative: Sequence[Term]) -> str:
    """Return an expression that leaves out the documents with any of some terms."""
    if not negative:
        return match
    return f"({match}) NOT ({' OR '.join(expression(term) for term in negative)})"
