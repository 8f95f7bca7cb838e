"""Filters of a query as the page shows them: chips, and values to filter by."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from qmd.text.date_filters import with_days
from qmd.text.predicates import Predicate, comparisons, shown_days
from qmd.text.question import Question
from qmd.text.values import shown
from qmd.types import ValueCount

#: Fields that are counted beside the results, with the titles of their lists.
FACETS = {
    "collection": "Collection",
    "path": "Folder",
    "tag": "Tag",
    "author": "Author",
    "year": "Year",
    "lang": "Language",
    "format": "Format",
}
#: The most values of a facet that are shown.
FACET_VALUES = 8
#: Fields whose filters have a short form.
_SHORT = ("tag", "author", "path", "state", "ext", "lang")
_PLAIN = re.compile(r'(?!\*\Z)[^\s",\[\]:<>=!~]+')


class Chip(Struct, frozen=True):
    """A filter as it is typed, the query without it, and the days that its relative dates stand for."""

    written: str
    without: str
    days: str


class Value(Struct, frozen=True):
    """A value of a facet with its count. `query` is the query with its filter, or without it if `chosen`.

    `level` is the number of the values above it that are shown too, which it is in.
    """

    text: str
    documents: int
    query: str
    chosen: bool
    level: int = 0


class Facet(Struct, frozen=True):
    """A field and its most frequent values among the results."""

    name: str
    title: str
    values: tuple[Value, ...]


def chips(question: Question) -> list[Chip]:
    """Return the filters that are typed in a query."""
    query = question.text
    return [
        Chip(query[each.start : each.end], _without(query, each.start, each.end), _days(each.predicate))
        for each in question.filters
    ]


def facet(name: str, counts: Sequence[ValueCount], query: str, chips: Sequence[Chip]) -> Facet:
    """Return a facet. Each value leads to the query with or without its filter, which may be a chip."""
    typed = {chip.written.casefold(): chip.without for chip in chips}
    values: list[Value] = []
    above: list[str] = []
    shown_first = counts[:FACET_VALUES]
    if name == "path":
        # A folder comes before those in it, whose names stand below.
        shown_first = sorted(shown_first, key=lambda count: str(count.value))
    for count in shown_first:
        text = shown(count.value)
        if not text:
            continue
        written = filter_for(name, text)
        without = typed.get(written.casefold())
        changed = f"{query} {written}".strip() if without is None else without
        if name == "path":
            above = [folder for folder in above if text.startswith(folder)]
        label = text.removeprefix(above[-1]) if above else text
        values.append(Value(label, count.documents, changed, without is not None, len(above)))
        if name == "path":
            above.append(text)
    return Facet(name, FACETS[name], tuple(values))


def filter_for(name: str, value: str) -> str:
    """Return the filter for a value of a field as a user would type it."""
    if name == "year":
        return f"[date:{value}]"
    quoted = value if _PLAIN.fullmatch(value) and name != "author" else '"' + value.replace('"', "") + '"'
    return f"{name}:{quoted}" if name in _SHORT else f"[{name}:{quoted}]"


def _days(predicate: Predicate) -> str:
    return ", ".join(filter(None, map(shown_days, comparisons(with_days(predicate)))))


def _without(query: str, start: int, end: int) -> str:
    return " ".join(part for part in (query[:start].strip(), query[end:].strip()) if part)
