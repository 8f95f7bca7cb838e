"""Divide a goal into the questions that it asks.

A goal is only divided as by its writer: after question marks and semicolons, at the ends of
lines, and at an "and" before a question word. Whatever has no word to look for stays with what is before it.
"""

from __future__ import annotations

import re

from qmd.text.query import parse
from qmd.text.regex import lazy

#: A text of more lines or sentences is no list of questions but a pasted text.
MAX_QUESTIONS = 6
_WORDS = "how|what|when|where|who|whom|whose|why|which"
_HAN_WORDS = "如何|怎么|怎样|怎麼|怎樣|什么|什麼|哪|谁|誰|为什么|為什麼|何时|何時|多少"
#: The question mark and the semicolon of ASCII are also parts of addresses and code.
_BOUNDARY = lazy(
    r"(?<=[?;])\s++|(?<=[？；])\s*+|(?<![^\S\n])[^\S\n]*+\n\s*+"
    rf"|(?:,|(?<![\s,]))\s++(?:and|und|et|y)\s++(?=(?:{_WORDS})\b)"
    rf"|(?:[,，]|(?<![\s,，]))\s*+(?:以及|并且|並且|还有|還有|和)(?=(?:{_HAN_WORDS}))",
    re.IGNORECASE,
)
_BULLET = lazy(r"^(?:[-*+•]|\d{1,2}[.)])\s+")
_ENDS = " \t;；,，"


def questions(goal: str) -> tuple[str, ...]:
    """Return the questions of a goal, in order; the goal itself if it asks one thing.

    A beginning that ends in a colon is about all of them, so it is put before each.
    """
    found: list[str] = []
    lead = ""
    for piece in _BOUNDARY.split(goal.strip()):
        piece = _BULLET.sub("", piece).strip(_ENDS)
        if not found and piece.endswith((":", "：")):
            lead = f"{lead} {piece}".lstrip()
        elif _has_subject(piece):
            found.append(f"{lead} {piece}".lstrip())
        elif found:
            found[-1] = f"{found[-1]} {piece}".rstrip()
        elif piece:
            return (goal,)
    return tuple(dict.fromkeys(found)) if 1 < len(found) <= MAX_QUESTIONS else (goal,)


def _has_subject(piece: str) -> bool:
    """Return whether a piece has a word besides question words and others without a subject."""
    # `parse` keeps such words only if there are no others.
    return parse(f"{piece} subject").terms != parse("subject").terms
