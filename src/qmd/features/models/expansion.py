"""Parse the output of an expansion model: lines `lex:`, `vec:` and `hyde:`. Other lines are dropped."""

from __future__ import annotations

import re
from typing import Literal, cast

from qmd.errors import ModelError
from qmd.models.base import Variant
from qmd.text.query import parse
from qmd.text.tokens import terms

#: The maximum number of variants of a query.
MAX_VARIANTS = 5
#: Characters of a variant; longer ones are truncated.
_MAX_LENGTH = 1000
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
#: In Japanese, terms of hiragana alone are mostly particles and endings.
_HIRAGANA = re.compile(r"[\u3041-\u309f]+")
_LINE = re.compile(r"[\s>*\-\d.`]*\b(?P<kind>lex|vec|hyde)\b[*`]*\s*[:：]\s*[*`]*(?P<text>.*)", re.IGNORECASE)


def parse_variants(output: str, query: str, name: str, intent: str | None = None) -> list[Variant]:
    """Return the variants in the output of the model `name` that share a word with the query or its intent.

    Duplicates, and the query itself, are dropped. Raises `ModelError` if no variant is left.
    """
    variants: list[Variant] = []
    seen = {" ".join(query.casefold().split())}
    well_formed = 0
    topic = _topic_terms(query) | (_topic_terms(intent) if intent else set())
    for line in _THOUGHT.sub("", output).splitlines():
        match = _LINE.fullmatch(line)
        text = " ".join(match["text"].split()).strip("`")[:_MAX_LENGTH] if match else ""
        if match is None or not text:
            continue
        well_formed += 1
        if text.casefold() in seen or not _are_related(topic, set(terms(text))):
            continue
        seen.add(text.casefold())
        kind = cast(Literal["lex", "vec", "hyde"], match["kind"].lower())
        variants.append(Variant(kind, text))
    if not variants:
        missing = "that shares a word with the query" if well_formed else "of the form lex:, vec: or hyde:"
        raise ModelError(f"'{name}' wrote no line {missing}")
    return variants[:MAX_VARIANTS]


def _topic_terms(text: str) -> set[str]:
    """Return the terms of a text without stop words and endings, unless there are no others."""
    tokens = {token for term in parse(text).terms for token in term.tokens}
    return {token for token in tokens if not _HIRAGANA.fullmatch(token)} or tokens


def _are_related(topic: set[str], other: set[str]) -> bool:
    """Return True if two sets share a term or, in a language without a stemmer, forms of one word."""
    return not topic.isdisjoint(other) or any(_are_forms(a, b) for a in topic for b in other)


def _are_forms(a: str, b: str) -> bool:
    """Return True if two non-ASCII words have a long common prefix, or if one is a character of the other."""
    if a.isascii():
        return False
    if len(a) == 1:
        return a in b
    shorter = min(len(a), len(b))
    shared = next((at for at in range(shorter) if a[at] != b[at]), shorter)
    return shared >= 3 and shared >= 0.6 * max(len(a), len(b))
