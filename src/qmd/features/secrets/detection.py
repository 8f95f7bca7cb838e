"""Find keys, passwords and other secrets in texts, and mask them.

A mask has the length and the line breaks of the secret, so places in a text stay right. A clean text costs
little, because keywords are looked up before any pattern runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate

from qmd.features.secrets.accounts import account_numbers
from qmd.features.secrets.names import NAMES, OTHER_NAMES, lower, named_secrets
from qmd.features.secrets.records import passwords_in_addresses, recorded_secrets
from qmd.features.secrets.shapes import keys_of_shape
from qmd.features.secrets.values import FoundSecret
from qmd.text.regex import lazy

#: The most characters of a private key.
_PRIVATE = 40_000
#: Invisible characters, which are left out before a text is searched.
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
#: Markdown's escape before a sign, and that of a quote in a string.
_ESCAPE = lazy(r"\\(?=[_*\-.!#()\[\]+~|\"'&@])")
#: Signs that stand for another one of the same length: quotes, dashes, colons and spaces.
_ALIKE = (
    *((sign, '"') for sign in "“”„«»「」『』"),
    *((sign, "'") for sign in "‘’"),
    *((sign, " ") for sign in "\u00a0\u202f\u2009\u3000"),
    *(("：", ":"), ("＝", "="), ("–", "-"), ("—", "-")),
)
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_WIDE = lazy("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")


#: The finders of secrets that count on request alone, by the name of the request.
ON_REQUEST: Mapping[str, Callable[[str], Iterator[FoundSecret]]] = {"iban": account_numbers}


def mask(text: str, secrets: Sequence[FoundSecret] | None = None) -> str:
    """Return a text of the same length and lines in which the secrets, by default all, cannot be read."""
    pieces: list[str] = []
    at = 0
    for start, end, kind in find(text) if secrets is None else secrets:
        pieces += (text[at:start], _hidden(text[start:end], kind))
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _hidden(secret: str, kind: str) -> str:
    first, *others = (len(line) for line in secret.split("\n"))
    label = next((each for each in (f"[secret: {kind}]", "[secret]") if len(each) <= first), "")
    return "\n".join([label.ljust(first, "."), *("." * length for length in others)])


def find(text: str, more: Collection[str] = ()) -> list[FoundSecret]:
    """Return the secrets of a text, in order. None overlaps another one. `more` are names of `ON_REQUEST`."""
    if "\\" in text and _ESCAPE.search(text):
        return _find_visible(text, [match.start() for match in _ESCAPE.finditer(text)], more)
    plain = text
    if not text.isascii():
        if any(sign in text for sign in _INVISIBLE):
            unseen = [at for at, sign in enumerate(text) if sign in _INVISIBLE]
            return _find_visible(text, unseen, more)
        for sign, alike in _ALIKE:
            text = text.replace(sign, alike)
        if _WIDE.search(text):
            text = text.translate(_FULL_WIDTH)
        plain = _in_one_byte(text)
    found = [*_private_keys(plain), *keys_of_shape(plain), *passwords_in_addresses(plain), *_cards(plain)]
    for name in more:
        found += ON_REQUEST[name](plain)
    lowered = lower(plain)
    found += recorded_secrets(plain, lowered)
    found += named_secrets(plain, lowered, NAMES)
    if plain is not text:
        lowered = lower(text)
        written = lowered.encode("utf-8", "surrogatepass")
        found += named_secrets(text, lowered, [name for name in OTHER_NAMES if name.encode() in written])
    if not found:
        return []
    found.sort(key=lambda secret: (secret.start, -secret.end))
    apart: list[FoundSecret] = []
    for secret in found:
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
        elif secret.end > apart[-1].end:
            apart[-1] = apart[-1]._replace(end=secret.end)
    return apart


#: A sign that is neither a letter nor a space, in place of others than those of ASCII.
_OTHER = "\x80"
_ONE_BYTE = bytes.maketrans(b"?\0", _OTHER.encode("latin-1") + b"?")


def _in_one_byte(text: str) -> str:
    """Return a text of the same length without signs of other scripts: it is searched many times faster."""
    # Encoding makes a question mark of each, so those of the text are kept apart.
    return text.replace("?", "\0").encode("ascii", "replace").translate(_ONE_BYTE).decode("latin-1")


def _find_visible(text: str, without: Sequence[int], more: Collection[str]) -> list[FoundSecret]:
    """Return the secrets of a text without the characters at some places, which do not count."""
    pieces, starts, at = [], [], 0
    for place in [*without, len(text)]:
        if at < place:
            pieces.append(text[at:place])
            starts.append(at)
        at = place + 1
    lengths = [0, *accumulate(map(len, pieces))]

    def place_of(seen: int) -> int:
        number = bisect_right(lengths, seen) - 1
        return starts[number] + seen - lengths[number]

    return [
        FoundSecret(place_of(start), place_of(end - 1) + 1, kind)
        for start, end, kind in find("".join(pieces), more)
    ]


_KEY = r"(?:[A-Z0-9_ -]{0,60}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V\d)"
_BEGIN = lazy(rf"-{{4,5}} ?BEGIN {_KEY} ?-{{4,5}}|Private-Lines: \d+")
_END = lazy(rf"-{{4,5}} ?END {_KEY} ?-{{4,5}}|Private-MAC: \w+")
_BODY = lazy(r"(?:(?:\\r|\\n|[\s>|#*\"'+,])*[A-Za-z0-9+/=]{16,})+")


def _private_keys(text: str) -> Iterator[FoundSecret]:
    """Yield the private keys, whole. If the end of one is missing, it ends with its lines of characters."""
    if not any(name in text for name in ("PRIVATE KEY", "Private-Lines", "OpenVPN Static key")):
        return
    ends = [match.end() for match in _END.finditer(text)]
    done = 0
    for match in _BEGIN.finditer(text):
        start = match.start()
        if start < done:
            continue
        number = bisect_right(ends, match.end())
        if number < len(ends) and ends[number] - start <= _PRIVATE:
            done = ends[number]
        elif body := _BODY.match(text, match.end(), match.end() + _PRIVATE):
            done = body.end()
        else:
            continue
        if done - match.end() > 40:
            yield FoundSecret(start, done, "private key")


_CARD = lazy(
    r"(?:(?<![\w.:/+-])|(?<=\\[nrt]))(?:(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6(?:011|5\d\d|4[4-9]\d|2\d\d)|35\d\d)"
    r"([ -]?)\d{4}\1\d{4}\1\d{4}|3[47]\d\d[ -]?\d{6}[ -]?\d{5}|3(?:0[0-5]|[68]\d)\d[ -]?\d{6}[ -]?\d{4})"
    r"(?![\w]|[.:/-]\d)"
)
#: Digits as `0`, and all others but spaces and hyphens as `a`; and how the digits of a card are grouped.
_DIGITS = bytes(48 if 48 <= code < 58 else code if code in (32, 45) else 97 for code in range(256))
_GROUPED = (b"0" * 14, b"0000 0000 0000", b"0000-0000-0000", b"0000 000000 0000", b"0000-000000-0000")


def _cards(text: str) -> Iterator[FoundSecret]:
    """Yield the numbers of payment cards: of the ranges that are issued, with a valid check digit."""
    digits_of = text.encode("ascii", "replace").translate(_DIGITS)
    if not any(group in digits_of for group in _GROUPED):
        return
    for match in _CARD.finditer(text):
        digits = [int(sign) for sign in match[0] if sign.isdigit()]
        doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
        if (sum(doubled) + sum(digits[-1::-2])) % 10 == 0 and len(set(digits[-8:])) > 1:
            yield FoundSecret(*match.span(), "card number")
