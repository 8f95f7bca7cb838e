"""Filters by date. A relative date stays as written until a search resolves it by the day it runs."""

# The grammar of relative dates is imported on use, because few searches have one.

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, tzinfo

from qmd.errors import UsageError
from qmd.text import dates
from qmd.text.predicates import (
    BUILT_IN,
    OF_FILE,
    Comparison,
    Days,
    Operator,
    Predicate,
    Written,
    comparisons,
    replaced,
    shown_days,
)

#: Describes a date in error messages.
DATE = "a date, such as 2024, 2024-06, 2024-06-30, 7d, last-week, yesterday or 上周"
#: Characters of a wrong value that an error message shows.
_MAX_SHOWN = 60
_COMPARED: Sequence[Operator] = ("eq", "lt", "lte", "gt", "gte")
_WORDS = {"eq": "", "lt": "before", "lte": "until", "gt": "later than", "gte": "after"}
#: The most dates that a search says.
_MOST = 5


def _filter(operator: Operator) -> Callable[[str], Predicate | None]:
    """Return a function that returns the filter for a date, or None if its argument is no date."""

    def make(value: str) -> Predicate | None:
        absolute = _absolute(value)
        if absolute is not None:
            return Comparison("date", operator, absolute)
        from qmd.text.dates.relative import is_relative

        return Comparison("date", operator, Written(value)) if is_relative(value) else None

    return make


def _absolute(text: str) -> str | None:
    """Return the beginning of a date that does not depend on the day, as `dates.prefix`; None for a week."""
    if "w" in text.lower():  # 2026-W47
        return None
    return dates.prefix(text)


#: Filters for documents of a date, of a date or later, and of an earlier date.
on, since, until = _filter("eq"), _filter("gte"), _filter("lt")


def no_date(name: str, value: str, hint: str = "") -> UsageError:
    """Return the error for a value that is no date. It suggests a similar word."""
    from qmd.text.dates.relative import nearest_word

    return UsageError(
        f"{name} must be {DATE}, not {value[:_MAX_SHOWN]!r}", f"{nearest_word(value)}{hint}".strip("; ")
    )


def with_days(where: Predicate, now: datetime | None = None) -> Predicate:
    """Return a filter with the days of its relative dates, which are those of the time zone of `now`.

    A date that documents have in their text has no zone, and is compared with the days as the user counts
    them. The times of files are in UTC, and are compared with the moments at which these days begin and end.

    Args:
        where: A filter. Dates that are resolved stay as they are.
        now: A time with a zone; by default the current time in the zone of this process.
    """
    if not any(map(_may_be_relative, comparisons(where))):
        return where
    from qmd.text.dates import relative

    today, zone = (datetime.now(), None) if now is None else (now, now.tzinfo)  # noqa: DTZ005 - local

    def resolve(comparison: Comparison) -> Predicate:
        text = str(comparison.value)
        span = relative.days(text, today.date()) if _may_be_relative(comparison) else None
        if span is None:
            return comparison
        moments = _moments(span, zone)
        utc = None if moments == _moments(span, UTC) else Days(*moments)
        written = Written(text, Days(*map(str, span)), utc)
        return Comparison(comparison.field, comparison.operator, written)

    return replaced(where, resolve)


def end_of(text: str, now: datetime | None = None) -> datetime | None:
    """Return the last second of a date, such as a day, a month or `last-week`; None if it is no date.

    `now` is a time with a zone; by default the current time in the zone of this process.
    """
    today, zone = (datetime.now(), None) if now is None else (now, now.tzinfo)  # noqa: DTZ005 - local
    start = _absolute(text)
    if start is None:
        from qmd.text.dates.relative import days

        span = days(text, today.date())
        start = None if span is None else str(span.last)
    if start is None:
        return None
    if len(start) == len("2024-06"):
        from calendar import monthrange

        start += f"-{monthrange(int(start[:4]), int(start[5:]))[1]}"
    last = datetime.fromisoformat(start + "9999-12-31T23:59:59"[len(start) :]).replace(tzinfo=zone)
    try:
        return last.astimezone() if zone is None else last
    except (OverflowError, ValueError, OSError):  # near the ends of the calendar
        return last.replace(tzinfo=UTC)


def _moments(span: Sequence[date], zone: tzinfo | None) -> list[str]:
    """Return the first moment of some days in a zone, and their last ones, in UTC as files have their times.

    `zone` is None for that of this process.
    """
    first, *others = span
    moments = [datetime.combine(first, time.min, zone)]
    moments += [datetime.combine(day, time(23, 59, 59), zone) for day in others]
    return [_in_utc(moment) for moment in moments]


def _in_utc(moment: datetime) -> str:
    with suppress(OverflowError, ValueError, OSError):  # near the ends of the calendar
        moment = moment.astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat()


def _may_be_relative(comparison: Comparison) -> bool:
    """Tell whether an operand may be a relative date, which a text is for fields that can have dates."""
    field, value = comparison.field, comparison.value
    return (
        comparison.operator in _COMPARED
        and (OF_FILE.get(field) == "date" or field not in BUILT_IN)
        and (isinstance(value, str) or (isinstance(value, Written) and value.days is None))
        and _absolute(str(value)) is None
    )


def dates_said(where: Predicate) -> str:
    """Return the relative dates of a filter as they were resolved: `after 2026-11-17`; "" without any."""
    said = []
    for comparison in comparisons(where):
        days = shown_days(comparison)
        if days:
            field = "" if comparison.field == "date" and comparison.operator != "eq" else comparison.field
            said.append(" ".join(filter(None, (field, _WORDS[comparison.operator], days))))
    unique = [*dict.fromkeys(said)]
    return ", ".join(unique[:_MOST]) + (", ..." if len(unique) > _MOST else "")
