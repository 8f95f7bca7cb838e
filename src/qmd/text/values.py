"""Values of fields: texts, numbers, booleans and dates; how they are compared, and how they are written.

Most are plain `str`, `float` and `bool`, dates `str` in their canonical form. A number or date that is
written in another way, such as `007`, `1.10` or `2024-3-7`, keeps its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, Self, TypeAlias, get_args

from qmd.text import dates, letters
from qmd.text.regex import lazy

Value: TypeAlias = str | float | bool
ValueType = Literal["text", "number", "boolean", "date"]
#: The types in the order in which they are listed and numbered.
VALUE_TYPES: tuple[ValueType, ...] = get_args(ValueType)
#: Fields that a document has without stating them: where its date comes from, when it was changed, and dates
#: that could not be read.
DATE_ORIGIN, CHANGED, UNREAD = "date.from", "changed", "date.unread"
#: The language of the text, ISO 639-1.
LANGUAGE = "lang"
#: The languages that a document or a collection may be said to be in, ISO 639-1.
LANGUAGES = frozenset(
    """
    af ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja
    ka kk km kn ko lo lt lv mk ml mn mr ms my ne nl no nb nn pa pl ps pt ro ru si sk sl sq sr sv sw ta
    te th tl tr uk ur uz vi zh
    """.split()
)
#: Those that a scan adds to the fields of the text. Git may say when a text was changed that does not say so.
OF_SCAN = (DATE_ORIGIN, CHANGED, LANGUAGE)
#: Those whose words are also searched in other forms (see `widening`), by the names of Snowball.
STEMMED = {
    "de": "german", "nl": "dutch", "sv": "swedish", "da": "danish", "no": "norwegian", "fi": "finnish",
    "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese", "ru": "russian",
    "pl": "polish", "tr": "turkish", "ar": "arabic", "cs": "czech", "el": "greek", "hu": "hungarian",
    "ro": "romanian", "ca": "catalan", "fa": "persian", "hi": "hindi",
}  # fmt: skip
#: Begins a value that is stored or sent as it is written. No text has this character.
_WRITTEN = "\0"
_NUMBER = lazy(r"[-+]?(?:\d{1,15}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,2})?", re.ASCII)


class WrittenNumber(float):
    """A number that is not written as `shown` would show it."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        return (self.text,)

    def __str__(self) -> str:
        return self.text


class Date(str):
    """A date in its canonical form that is not written so."""

    text: str

    def __new__(cls, text: str) -> Self:
        self = super().__new__(cls, dates.canonical(text) or text)
        self.text = text
        return self

    def __getnewargs__(self) -> tuple[str]:
        return (self.text,)

    def __str__(self) -> str:
        return self.text


def fold(text: str) -> str:
    """Return a text without differences of case, Unicode composition and signs that are no letters."""
    return text.lower() if text.isascii() else letters.bare(text)


def number(text: str) -> float | None:
    """Return the number that a text writes; None if it writes none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if shown(value) == text else WrittenNumber(text)


def date_or_text(text: str) -> str:
    """Return the full date that a text writes in a form of ISO 8601, or the text."""
    canonical = dates.canonical_of_iso(text)
    return text if canonical is None or canonical == text else Date(text)


def key_of(value: Value) -> tuple[ValueType, str | float]:
    """Return the type of a value, and the key that it is compared by."""
    if isinstance(value, bool):
        return "boolean", float(value)
    if isinstance(value, str):
        return ("date", str.__str__(value)) if dates.is_canonical(value) else ("text", fold(value))
    return "number", float(value)


def shown(value: Value) -> str:
    """Return a value as it is written, else in the shortest way: `2`, not `2.0`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if value.__class__ is float else str(value)


def plain(value: Value) -> Value:
    """Return a value for programs: dates in their canonical form, whole numbers as integers."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(value)
    return value


def as_date(value: Value) -> Value:
    """Return the full date that a value of a field for dates writes in any form, or the value."""
    if isinstance(value, bool):
        return value
    text = shown(value)
    canonical = dates.canonical(text)
    return value if canonical is None else text if canonical == text else Date(text)


def date_of(value: Value) -> str | None:
    """Return a value as a date, or the beginning of one, like `dates.prefix`; None if it is neither."""
    return dates.prefix(str.__str__(value) if isinstance(value, str) else shown(value))


def written(value: Value) -> Value:
    """Return a value in the basic types of JSON, so that `read_written` returns the same value."""
    return f"{_WRITTEN}{value.text}" if isinstance(value, WrittenNumber | Date) else value


def read_written(value: Value) -> Value:
    """Return the value that `written` was given."""
    if not isinstance(value, str) or not value.startswith(_WRITTEN):
        return value
    found = number(value[1:])
    return Date(value[1:]) if found is None else found


def typed(value: Value, kind: ValueType) -> Value:
    """Return a value of a type, given in a basic type or as it is written."""
    return _READ[kind](value)


_READ: dict[ValueType, Callable[..., Value]] = {
    "text": str,
    "number": lambda value: WrittenNumber(value) if isinstance(value, str) else float(value),
    "boolean": bool,
    "date": lambda value: value if dates.is_canonical(value) else Date(value),
}
