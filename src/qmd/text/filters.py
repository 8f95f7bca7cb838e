"""Filters that are typed in a query: `author:NAME`, `author:"two words"`, `after:2024`, `before:2024-06`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qmd.text import dates

#: A piece of a query that is a filter, alone between spaces; quoted text, where nothing is one, comes first.
_PIECE = re.compile(
    r'"[^"]*"|(?<!\S)(?P<key>author|after|before):(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))(?!\S)',
    re.IGNORECASE,
)
QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\x00": " "})


@dataclass(frozen=True, slots=True)
class Filters:
    """What documents must be, besides what they say: whose, from when (included), until when (not included).

    Dates are ISO, `2024-03-07T10:00:00`.
    """

    author: str | None = None
    after: str | None = None
    before: str | None = None


def split(text: str) -> tuple[str, Filters]:
    """A query without its filters, and these; of two of a kind the last counts.

    What only looks like one is text: in quotes, without a value, or with one that is no date.
    """
    found: dict[str, str] = {}
    kept: list[str] = []
    at = 0
    # Character for character the same length, so that what is cut out of it can be cut out of the text.
    for match in _PIECE.finditer(text.translate(QUOTES)):
        if match["key"] is None:
            continue
        key, value = match["key"].lower(), (match["quoted"] or match["plain"] or "").strip()
        read = value if key == "author" else dates.read(value)
        if read:
            found[key] = read
            kept.append(text[at : match.start()])
            at = match.end()
    if not found:
        return text, Filters()
    rest = " ".join(part.strip() for part in (*kept, text[at:]) if part.strip())
    return rest, Filters(**found)
