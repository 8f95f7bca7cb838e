"""What an expansion model writes: lines `lex:`, `vec:` and `hyde:`. Read, checked, the rest dropped."""

from __future__ import annotations

import re
from typing import Literal, cast

from qmd.errors import ModelError
from qmd.models.base import Variant
from qmd.text.query import parse
from qmd.text.tokens import terms

#: E40: the original and at most so many variants.
MOST = 5
#: No line of a query is as long: beyond it, the model was carried away.
_LONGEST = 1000
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_LINE = re.compile(r"[\s>*\-\d.`]*\b(?P<kind>lex|vec|hyde)\b[*`]*\s*[:：]\s*[*`]*(?P<text>.*)", re.IGNORECASE)


def variants(answer: str, query: str, name: str, intent: str | None = None) -> list[Variant]:
    """The variants in a model's answer that have a tie to the query: a word in common with it or its intent.

    Repetitions, and the query itself, are dropped. Raises `ModelError` where nothing is left.
    """
    found: list[Variant] = []
    seen = {" ".join(query.casefold().split())}
    written = 0
    subject = _subject(query) | (_subject(intent) if intent else set())
    for line in _THOUGHT.sub("", answer).splitlines():
        match = _LINE.fullmatch(line)
        text = " ".join(match["text"].split()).strip("`")[:_LONGEST] if match else ""
        if match is None or not text:
            continue
        written += 1
        if text.casefold() in seen or subject.isdisjoint(terms(text)):
            continue
        seen.add(text.casefold())
        kind = cast(Literal["lex", "vec", "hyde"], match["kind"].lower())
        found.append(Variant(kind, text))
    if not found:
        lacking = "that has a word of the query" if written else "of the form lex:, vec: or hyde:"
        raise ModelError(f"'{name}' wrote no line {lacking}")
    return found[:MOST]


def _subject(text: str) -> set[str]:
    """The terms of a text's subject: no function and question words, where there are others."""
    return {token for term in parse(text).terms for token in term.tokens}
