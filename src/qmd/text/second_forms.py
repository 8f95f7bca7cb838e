"""Other forms in which words are searched: numbers without their signs, acronyms, tails of names in code.

A text has them behind its words, each once; see `tokens.indexed_in_parts`. Most texts have none: whether a
text may have some is seen from a copy in which each character is its kind, at the speed of `bytes.translate`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from qmd.text.regex import lazy

#: The signs inside numbers. The bytes of those beyond ASCII are among them.
_INSIDE = b" ,/'()\xc2\xa0\xe2\x80\x89\xaf\x93\x99"


def _kind(at: int) -> str:
    char = chr(at)
    if at >= 128 or not char.isalpha():
        digit = "0" if char in "0123456789" else " " if at in _INSIDE else "x"
        return "." if char == "." else "-" if char in "-:" else digit
    return "A" if char.isupper() else "a"


#: The kinds of characters that tell acronyms, names in code and numbers.
_KINDS = bytes(ord(_kind(at)) for at in range(256))
#: Of these, those of numbers: digits and the signs inside them.
_OF_NUMBERS = bytes(ord({"0": "0", "-": "-", " ": "-", ".": "-"}.get(chr(at), " ")) for at in range(256))
#: Those of numbers in hexadecimal.
_HEXADECIMAL = bytes(
    ord("0" if chr(at) in "0123456789abcdefABCDEF" else "-" if chr(at) in "-:." else "x") for at in range(256)
)
#: A date, which many texts have, is no number with signs.
_DATE = b"0000-00-00"
_BLANK = "[ \u00a0\u2009\u202f]"
_HEX = "[0-9A-Fa-f]"
_START = r"(?<![\w.])"
_NO_DATE = r"(?!\d{4}-\d\d-\d\d(?!\d))"
#: UUIDs, addresses of network cards, IBANs, numbers with thousands apart, ISBNs, and telephone numbers.
_UUID = lazy(rf"{_START}{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}(?!\w)")
_CARD = lazy(rf"{_START}{_HEX}{{2}}(?P<sign>[:-]){_HEX}{{2}}(?:(?P=sign){_HEX}{{2}}){{4,6}}(?!\w)")
_DOTTED = lazy(rf"{_START}(?:{_HEX}{{4}}(?:\.{_HEX}{{4}}){{2}}|\d{{2,5}}(?:\.\d{{2,5}}){{2,5}})(?!\w)")
_ACCOUNT = lazy(rf"{_START}[A-Z]{{2}}\d\d(?:{_BLANK}[A-Z0-9]{{4}}){{2,7}}(?:{_BLANK}[A-Z0-9]{{1,3}})?(?!\w)")
_THOUSANDS = lazy(
    rf"{_START}\d{{1,3}}(?P<apart>[,.'’]|{_BLANK})\d{{3}}(?:(?P=apart)\d{{3}}){{0,5}}(?!\w|[,.'’]\d|(?P=apart)\d)"
)
_BOOK = lazy(rf"{_START}{_NO_DATE}\d{{1,5}}(?:-\d{{1,7}}){{2,4}}(?:-[Xx])?(?!\w)")
#: What is between two groups of digits, and the second. Without a sign between them, they are one group.
_GROUP = rf"(?!\d){_BLANK}?+[-–/]?+{_BLANK}?+(?:\(0\){_BLANK}?+)?+\(?\d{{2,13}}+\)?"
_GROUPS = lazy(
    rf"{_START}{_NO_DATE}(?:\+\(?\d{{1,15}}+\)?(?:{_GROUP}){{0,9}}|\(?\d{{1,5}}+\)?(?:{_GROUP}){{1,9}})(?!\w)"
)
_DIGITS_OF = lazy(r"\d+")
_SIGNS = lazy(r"[^0-9A-Za-z]+")
#: The fewest digits of a number that is searched without its signs; the most of several of one line.
_LEAST, _MOST = 7, 19
#: The fewest digits of a number with its thousands apart.
_LEAST_APART = 4
_ACRONYM = lazy(r"(?<![\w.])(?:[A-Z]\.){1,7}[A-Z](?![\w'’])")
#: A word in which names are joined, such as `getUserById`, and its parts.
_CAMEL = lazy(r"(?<![A-Za-z0-9])[A-Za-z][a-z0-9]*+(?:[A-Z][a-z0-9]*+)++")
_HUMP = lazy(r"(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])")
#: Longer words are data.
_MAX_NAME = 60


def forms(text: str) -> Iterator[str]:
    """Yield the other forms of the words of a text, in lower case, in no order."""
    raw = text.encode("utf-8", "replace")
    kinds = raw.translate(_KINDS)
    for pattern in _numbers_in(raw, kinds):
        for match in pattern.finditer(text):
            yield from _joined(match, pattern)
    if b"A.A" in kinds:
        yield from (match[0].replace(".", "").lower() for match in _ACRONYM.finditer(text))
    if b"aA" in kinds:
        yield from tails(text)


def _numbers_in(raw: bytes, kinds: bytes) -> Iterator[re.Pattern[str]]:
    """Yield the patterns of numbers that a text may have, each once."""
    dotted = False
    if b"AA00" in kinds:
        yield _ACCOUNT
    if any(each in kinds for each in (b"0 0", b"0-0", b"0.0", b"0  ")):
        digits = kinds.replace(_DATE, b"x").translate(_OF_NUMBERS)
        if b"0-000" in digits or b"0--000" in digits or b"0---000" in digits:
            yield _THOUSANDS
        if any(each.count(b"0") >= _LEAST for each in digits.split()):
            yield from (_BOOK, _GROUPS, _DOTTED)
            dotted = True
    hexadecimal = raw.translate(_HEXADECIMAL)
    if b"-0000-" in hexadecimal:
        yield from (_UUID,) if dotted else (_UUID, _DOTTED)
    if b"-00-00-00-" in hexadecimal:
        yield _CARD


def _joined(match: re.Match[str], pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield a number without its signs, if it has any and is long enough.

    Of a long row of digits, two and more of its groups may be a number.
    """
    written = match[0].replace("(0)", "") if match[0][0] == "+" else match[0]
    number = _SIGNS.sub("", written).lower()
    if len(number) >= (_LEAST_APART if pattern is _THOUSANDS else _LEAST) and number != written.lower():
        groups = _DIGITS_OF.findall(written) if pattern is _GROUPS and len(number) > _MOST else [number]
        for start, end in combinations(range(len(groups) + 1), 2):
            part = "".join(groups[start:end])
            if _LEAST <= len(part) <= _MOST or len(groups) == 1:
                yield part


def tails(text: str) -> Iterator[str]:
    """Yield the ends of names in code, of at least two parts: `userById` of `getUserById`."""
    for match in _CAMEL.finditer(text):
        word = match[0]
        if len(word) <= _MAX_NAME:
            starts = [hump.start() for hump in _HUMP.finditer(word)]
            yield from (word[start:].lower() for start in starts[:-1])


def loosely(number: str) -> str:
    """Return a pattern for a number with signs inside."""
    return r"[\s\-./:,'’()\u00a0\u2009\u202f–]{0,3}".join(map(re.escape, number))
