"""Numbers, names and descriptions as they can be printed, in one line of a message."""

from __future__ import annotations

from qmd.text.regex import lazy

# Control characters, line and paragraph separators, and characters that change the text direction.
_INVISIBLE = lazy("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Replace control characters, line breaks and direction marks by escape sequences."""
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def exact(text: str) -> str:
    """Replace every character that is not printable, also an invisible one, by an escape sequence."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by escape sequences."""
    return text.encode("utf-8", "backslashreplace").decode()


def plain(text: str) -> str:
    """Replace control characters, line breaks, direction marks and runs of blanks by a space."""
    return " ".join(_INVISIBLE.sub(" ", text).split())


def plural(number: int, noun: str, *, separator: str = ",") -> str:
    """Return a number with its noun: `1 file`, `2,000 files`; without thousands `separator`: `2000 files`."""
    return f"{number:{separator}} {noun}{'' if number == 1 else 's'}"
