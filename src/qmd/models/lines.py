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
#: Terms of hiragana alone are most often what Japanese puts after its words.
_ENDING = re.compile(r"[\u3041-\u309f]+")
_LINE = re.compile(r"[\s>*\-\d.`]*\b(?P<kind>lex|vec|hyde)\b[*`]*\s*[:：]\s*[*`]*(?P<text>.*)", re.IGNORECASE)


def variants(answer: str, query: str, name: str, intent: str | None = None) -> list[Variant]:
    """The variants in a model's answer that have a tie to the query or its intent: what they are about.

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
        if text.casefold() in seen or not _has_tie(subject, set(terms(text))):
            continue
        seen.add(text.casefold())
        kind = cast(Literal["lex", "vec", "hyde"], match["kind"].lower())
        found.append(Variant(kind, text))
    if not found:
        lacking = "that has a word of the query" if written else "of the form lex:, vec: or hyde:"
        raise ModelError(f"'{name}' wrote no line {lacking}")
    return found[:MOST]


def _subject(text: str) -> set[str]:
    """The terms of what a text is about: no function words and no endings, where there are others."""
    found = {token for term in parse(text).terms for token in term.tokens}
    return {token for token in found if not _ENDING.fullmatch(token)} or found


def _has_tie(subject: set[str], found: set[str]) -> bool:
    """Whether terms have one in common, or, of a language that is not stemmed, forms of one."""
    return not subject.isdisjoint(found) or any(_are_forms(one, other) for one in subject for other in found)


def _are_forms(one: str, other: str) -> bool:
    """Whether two words of a script without a stemmer begin alike; a lone character is in its bigrams."""
    if one.isascii():
        return False
    if len(one) == 1:
        return one in other
    shorter = min(len(one), len(other))
    shared = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    return shared >= 3 and shared >= 0.6 * max(len(one), len(other))
