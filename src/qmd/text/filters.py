"""Filters in a query: `author:NAME`, `author:"two words"`, `after:2024`, `before:2024-06`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qmd.text import dates

#: A quoted text, which contains no filters, or a filter between spaces.
_PIECE = re.compile(
    r'"[^"]*"|(?<!\S)(?P<key>author|after|before):(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))(?!\S)',
    re.IGNORECASE,
)
QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\x00": " "})


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on author and date. Dates are ISO 8601: `after` is inclusive, `before` is exclusive."""

    author: str | None = None
    after: str | None = None
    before: str | None = None


def split(text: str) -> tuple[str, Filters]:
    """Split a query into its text and its filters. If a filter occurs twice, the last one counts.

    A filter in quotes, without a value or with an invalid date stays in the text.
    """
    values: dict[str, str] = {}
    remaining: list[str] = []
    at = 0
    # The translation keeps positions, so that they apply to the original text.
    for match in _PIECE.finditer(text.translate(QUOTES)):
        if match["key"] is None:
            continue
        key, value = match["key"].lower(), (match["quoted"] or match["plain"] or "").strip()
        parsed = value if key == "author" else dates.read(value)
        if parsed:
            values[key] = parsed
            remaining.append(text[at : match.start()])
            at = match.end()
    if not values:
        return text, Filters()
    rest = " ".join(part.strip() for part in (*remaining, text[at:]) if part.strip())
    return rest, Filters(**values)
