"""Completion of the filter at the end of a query that is being typed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from qmd.engine.index import Index
from qmd.errors import FieldNotFoundError
from qmd.features.page.filters import chips, filter_for
from qmd.search_options import ALL
from qmd.text.filters import folder_counts
from qmd.text.question import Question
from qmd.text.values import fold, shown
from qmd.types import ValueCount

MAX_COMPLETIONS = 10
#: Keys and periods that are offered, the most useful first.
_KEYS = ("tag", "path", "author", "after", "before", "title", "state", "ext", "lang", "link")
_DATES = ("today", "yesterday", "7d", "30d", "this-month", "this-year")
_DATE_KEYS = ("after", "before", "date")
#: Keys whose values are any text.
_FREE = ("file", "title", "link")
_UNFINISHED = re.compile(
    r"(?<!\S)(?P<minus>-?)(?:(?P<key>[^\W\d][\w.-]*):|\[(?:(?P<field>[^\W\d][\w. -]*)[:=])?)"
    r'(?P<value>"[^"]*|[^\s"\[\]]*)\Z'
)


class Completion(Struct, frozen=True):
    """A key or a filter, the documents that it passes or its days, and the query with it."""

    text: str
    note: str
    query: str


def complete(index: Index, query: str) -> list[Completion]:
    """Return completions of the filter at the end of a query; keys if it is empty.

    A name with a colon may be any field: `status:dr` leads to `[status:draft]`.
    """
    if not query:
        return [Completion(f"{key}:", "", f"{key}:") for key in _KEYS] + [Completion("[", "", "[")]
    found = _UNFINISHED.search(query)
    if found is None:
        return []
    before, value = query[: found.start()] + found["minus"], found["value"].lstrip('"')
    name = fold(found["key"] or found["field"] or "")
    if not name:
        fields = [(each.summary.name, each.summary.documents) for each in index.fields(detailed=0)]
        names = [("collection", 0), ("format", 0), *fields]
        return [
            Completion(f"[{field}:]", f"{documents:,}" if documents else "", f"{before}[{field}:")
            for field, documents in _best(names, value)
        ]
    if name in _DATE_KEYS:
        years = sorted((text for text, _ in _values(index, "year") if text), reverse=True)
        dates = [f"{name}:{date}" for date in (*_DATES, *years) if date.startswith(fold(value))]
        return [
            Completion(date, chips(Question.read(date))[0].days, f"{before}{date} ")
            for date in dates[:MAX_COMPLETIONS]
        ]
    if name in _FREE:
        return []
    found_values = _best(_values(index, name), value.removeprefix("#") if name == "tag" else value)
    filters = [(filter_for(name, text), documents) for text, documents in found_values]
    return [
        Completion(written, f"{documents:,}" if documents else "", f"{before}{written} ")
        for written, documents in filters
    ]


def _values(index: Index, name: str) -> list[tuple[str, int]]:
    """Return the values of a field with their documents, most frequent first; none if no document has it."""
    try:
        counts: Sequence[ValueCount] = index.field_values(name, limit=ALL).values
    except FieldNotFoundError:
        return []
    if name == "path":
        counts = folder_counts(counts)
    values = {shown(each.value): each.documents for each in counts}
    if name == "tag":
        # To count the documents below a tag that none has itself would take too long.
        above = {tag[: match.start()] for tag in values for match in re.finditer("/", tag)}
        values |= dict.fromkeys(sorted(above - values.keys()), 0)
    return [*values.items()]


def _best(values: Sequence[tuple[str, int]], typed: str) -> list[tuple[str, int]]:
    """Return values that begin with a text, and then those that have it inside."""
    wanted = fold(typed)
    places = [(fold(each[0]).find(wanted), each) for each in values if each[0]]
    begins = [each for place, each in places if place == 0]
    return (begins + [each for place, each in places if place > 0])[:MAX_COMPLETIONS]
