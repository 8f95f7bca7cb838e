"""Secrets in texts, and what only stands for one."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from qmd.text.regex import lazy


class Secret(NamedTuple):
    """A secret: the characters [start, end) of a text, and its kind, such as `aws key`."""

    start: int
    end: int
    kind: str


#: The signs of what a reader is to replace, and what documentation writes in place of a secret.
_FILLER = lazy(
    r"(?i)example|your|change.?me|placeholder|dummy|redacted|\bfake|sample|insert|replace|x{4,}|\*{3}|\.{3,}|…"
    r"|_{4,}|todo|secret:|<[\w -]+>|\$\{|\{\{|\bmy[-_]|hidden|masked|0{12}"
)


def is_filler(value: str) -> bool:
    """Tell whether a value stands for a secret that is not shown."""
    found = _FILLER.search(value)
    # In a long key any word may occur by chance.
    return (found is not None and 12 * len(found[0]) >= len(value)) or len(set(value)) < min(5, len(value))


_IDENTIFIER = lazy(r"[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+\Z")
_CALL = lazy(r"[A-Za-z_$][\w.:$]*[(\[{]")
_SNAKE = lazy(r"[a-z]+(?:[_-][a-z]+)+\Z|[A-Z]+(?:_[A-Z]+)+\Z|[a-z]+(?:[A-Z][a-z]+)+\Z|(?:[A-Z][a-z]+){2,}\Z")


def is_code(value: str) -> bool:
    """Tell whether a value without quotes is an expression of source code, or a name."""
    return bool(_IDENTIFIER.match(value) or _CALL.match(value) or _SNAKE.match(value))


#: A value of this length with one digit is no name.
_CLEAR = 16
_OPAQUE = lazy(r"[\w+/=.~:$%-]+")


def is_random(value: str, least: float) -> bool:
    """Tell whether a value has letters and digits in the mixture of a random one."""
    if _OPAQUE.fullmatch(value) is None or is_code(value) or is_filler(value):
        return False
    digits = sum(sign.isdigit() for sign in value)
    if not digits or not any(sign.isalpha() for sign in value):
        return False
    if digits < 2 and len(value) < _CLEAR and (value.islower() or value.isupper()):
        return False
    return _entropy(value) >= min(least, math.log2(len(value)) * 0.75)


def _entropy(value: str) -> float:
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
