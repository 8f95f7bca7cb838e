"""Secrets in texts, and placeholders of secrets."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from qmd.text.regex import lazy


class FoundSecret(NamedTuple):
    """A secret: the characters [start, end) of a text, and its kind, such as `aws key`."""

    start: int
    end: int
    kind: str


#: The signs of placeholders, and the words of documentation in place of a secret.
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
#: A call or an item, which ends with its bracket, or goes on behind the value.
_CALL = lazy(r"[A-Za-z_$][\w.:$]*[(\[{](?:[^)\]}]*\Z|.*[)\]}][;,]?\Z)")
_SNAKE = lazy(r"[a-z]+(?:[_-][a-z]+)+\Z|[A-Z]+(?:_[A-Z]+)+\Z|[a-z]+(?:[A-Z][a-z]+)+\Z|(?:[A-Z][a-z]+){2,}\Z")


#: Brackets in a mixture that is no name: letters of both cases, digits in two places, and no word.
_MIXED = lazy(r"(?=\D*\d+\D+\d)(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?!.*[a-z]{3})[^\s.,'\"]{8,}\Z")


def is_code(value: str) -> bool:
    """Tell whether a value without quotes is an expression of source code, or a name."""
    call = _CALL.match(value) and not _MIXED.match(value)
    return bool(_IDENTIFIER.match(value) or call or _SNAKE.match(value))


#: Words with digits that are no passwords: names of products and versions, files, hosts, dates, amounts.
_TECHNICAL = lazy(
    r"(?i)(?:sha|aes|utf|base|rsa|tls|ssl|https?|ipv|oauth|log|win|argon|bcrypt|pbkdf|crc|rfc|iso|cve|gpt|python|php"
    r"|mysql|java|web|wpa|led|usb|issue|step|user|test|part|chapter|table|figure|page|line|version|level|ubuntu"
    r"|debian|windows|centos|tidb|node|host|server|client|admin|mariadb|postgres|password|pass|secret|file|group)[-_.]?\d[\w.-]*\Z"
    r"|[a-z]{1,2}[-_]?\d+[a-z]{0,3}\Z|[\w.-]*[a-z][-_]?v?\d+(?:\.[\dx]+)+\Z|v?\d++(?:[.:_/,-]\d++)++[\w+.-]*+\Z"
    r"|\d+(?:st|nd|rd|th|[a-z]{1,5}|%)\Z|[\w-]+(?:\.[\w-]+)*\.\d?[a-z]{1,5}\d?\Z|[\w.+-]+@[\w.-]+\Z"
    r"|[a-f\d]{7,64}\Z|\d+x\d+\Z|(?-i:[a-z\d]+(?:[_-][a-z\d]+)+\Z)"
)
#: A place of a template, a link, or another name with its value.
_TEMPLATE = lazy(r"\$\{|\{(?=\w*[A-Za-z])\w*+\}|\{\{|\}\}|\]\(|^[\w?&.-]*[A-Za-z_]=")
_GROUP = lazy(r"\d+")
#: Signs that words of a text rarely have inside.
_SIGNS = lazy(r"[!@#$%^&*+=?~]")
#: The fewest characters of a password that is told by its form, and of one behind a word such as `is`.
_STRONG, _LINKED = 8, 6


def is_like_password(value: str, *, linked: bool) -> bool:
    """Tell whether a word near a name can be a password by its form alone.

    `linked` says that a sign or a word such as `is` stands between them. Else the word is also unlike a name.
    """
    digits = _GROUP.findall(value)
    if (
        len(value) < (_LINKED if linked else _STRONG)
        or not digits
        or not any(sign.isalpha() for sign in value)
        or not value.isascii()
        or "/" in value
        or _TEMPLATE.search(value)
        or _TECHNICAL.match(value)
        or is_code(value)
        or is_filler(value)
    ):
        return False
    inside = value.islower() and value[-1].isalpha()
    return linked or len(digits) > 1 or inside or _SIGNS.search(value) is not None


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


def is_generated(value: str) -> bool:
    """Tell whether a value is a mixture of many letters, digits and signs, as programs make secrets."""
    return (
        len(value) >= 24
        and not any(sign.isspace() for sign in value)
        and sum(sign.isdigit() for sign in value) > 1
        and any(sign.isalpha() for sign in value)
        and _entropy(value) >= 3.8
        and not is_filler(value)
    )
