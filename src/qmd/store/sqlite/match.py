"""Write terms of a query as expressions for FTS5."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qmd.text.query import Term


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
    forms = (phrase(term.tokens, term.prefix), *map(phrase, term.alternatives))
    return [columns + form for form in forms]


def without(match: str, negative: Sequence[Term]) -> str:
    """Return an expression that leaves out the documents with any of some terms."""
    if not negative:
        return match
    return f"({match}) NOT ({' OR '.join(expression(term) for term in negative)})"
