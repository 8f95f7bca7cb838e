"""The texts of the page in other languages. A text that has no translation stays in English."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.json import decode

#: Takes an English text with `{name}` for values, and the values.
Translate = Callable[..., str]

_TEXTS = decode(Path(__file__).with_name("chinese.json").read_bytes(), type=dict[str, dict[str, str]])
#: The texts of the page in Chinese.
CHINESE: Mapping[str, str] = _TEXTS["page"]
#: Messages of the engine in Chinese, which come with their values in them.
ENGINE: Mapping[str, str] = _TEXTS["engine"]
#: A value in one of these that `re.escape` has escaped.
_VALUE = re.compile(r"\\\{(\w+)\\\}")


def english(text: str, **values: Any) -> str:
    """Return an English text with its values."""
    return text.format(**values) if values else text


def chinese(text: str, **values: Any) -> str:
    """Return a text in Chinese with its values; in English if there is no translation."""
    if text in CHINESE:
        return english(CHINESE[text], **values)
    for pattern, translation in () if values else _engine_messages():
        if found := pattern.fullmatch(text):
            return translation.format(**found.groupdict())
    return english(text, **values)


@cache
def _engine_messages() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(_VALUE.sub(r"(?P<\1>.{1,500}?)", re.escape(text)), re.DOTALL), translation)
        for text, translation in ENGINE.items()
    ]


LANGUAGES: Mapping[str, Translate] = {"en": english, "zh": chinese}


def choose(accepted: str) -> str:
    """Return the language for a header `Accept-Language`: the one of `LANGUAGES` that the user prefers."""
    ranked: list[tuple[float, str]] = []
    for part in accepted[:1_000].split(","):
        name, _, parameters = part.strip().partition(";")
        language = name.strip().lower().partition("-")[0]
        try:
            weight = float(parameters.partition("q=")[2] or 1)
        except ValueError:
            weight = 0.0
        if language in LANGUAGES and weight > 0:
            ranked.append((weight, language))
    # Of equal weights the first counts.
    return max(ranked, key=lambda entry: entry[0], default=(1.0, "en"))[1]
