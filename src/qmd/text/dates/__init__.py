"""Parse dates in documents and queries to `2024-03-07T10:00:00`, without time zone, sortable as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from qmd.text.regex import lazy

_WRITTEN = lazy(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:(?:[Tt]|[ \t]+)"
    r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d*)?)?"
    r"(?:[ \t]*(?:[Zz]|[+-]\d{1,2}(?::?\d{2})?))?)?)?)?",
    re.ASCII,
)
_STAMP = lazy(r"(\d{4}-\d{2}-\d{2})_(\d{2})_(\d{2})_(\d{2})_(.*)", re.ASCII | re.DOTALL)
_DAY = lazy(r"\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)
_CANONICAL = lazy(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2})?", re.ASCII)
#: The length of a day in its canonical form.
_DAY_LENGTH = 10
_DEFAULTS = (1, 1, 1, 0, 0, 0)
#: A longer text is not a date, in a form of ISO 8601, or in words.
_MAX_LENGTH, _MAX_WRITTEN = 40, 100
_FIRST_MOMENT = "0000-01-01T00:00:00"
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - in UTC, as the dates that are made of it
#: The first second of the year 1 and the last of the year 9999, in seconds since the epoch.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799


def read(text: str) -> str | None:
    """Parse a date to its first second; None if it is not a valid date, or is not clear.

    Examples are `2024`, `2024-03`, `2024-3-7`, `20240307`, `2024-03-07 10:00`, `March 7, 2024`,
    `2024-W10`. A time zone is ignored.
    """
    if found := _in_iso(text.strip()):
        return found[0]
    if not _may_be_written(text):
        return None
    from qmd.text.dates import written

    start = written.prefix(text) or written.first_day(text)
    return start and start + _FIRST_MOMENT[len(start) :]


def prefix(text: str) -> str | None:
    """Parse a date, or the beginning of one, to the beginning of its canonical form; None if it is neither.

    `2024-3` becomes `2024-03`, and stands for the whole month.
    """
    if found := _in_iso(text.strip()):
        return found[0][: found[1]]
    if not _may_be_written(text):
        return None
    from qmd.text.dates import written

    return written.prefix(text)


def _in_iso(text: str) -> tuple[str, int] | None:
    """Parse a date in a form of ISO 8601 or YAML; return its first second, and the length that is written."""
    if len(text) > _MAX_LENGTH or not text[:1].isdigit():
        return None
    # Most are like `2024-03-07` or `2024-03-07T10:00:00`, which need no pattern.
    begins_with_day = text[4:5] == text[7:8] == "-" and text[8:10].isdecimal()
    is_day = begins_with_day and len(text) == _DAY_LENGTH
    is_moment = begins_with_day and len(text) == 19 and "T" <= text[10:13] < "T24" and text[16] == ":"
    match = None if is_day or is_moment else _WRITTEN.fullmatch(text)
    try:
        if match is None:
            moment = datetime.fromisoformat(text)  # also the less common forms of ISO 8601
            given = 3 if is_day or text.isdecimal() else 6  # `20240307` stands for the day
        else:
            # Missing parts have their lowest value.
            parts = (int(part or default) for part, default in zip(match.groups(), _DEFAULTS, strict=True))
            year, month, day, hour, minute, second = parts
            moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
            given = sum(part is not None for part in match.groups())
    except ValueError:
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="seconds"), 3 * given + 1


def _may_be_written(text: str) -> bool:
    """Tell whether a text is worth looking at as a date in words; most texts are not."""
    return 5 < len(text) <= _MAX_WRITTEN and any(sign.isdecimal() or sign in "年月" for sign in text)


def canonical(text: str) -> str | None:
    """Return a full date, with or without a time, as `2024-03-07` or `2024-03-07T10:00:00`."""
    start = prefix(text)
    if start is None or len(start) < _DAY_LENGTH:
        return None
    return start if len(start) == _DAY_LENGTH else read(text)


def canonical_of_iso(text: str) -> str | None:
    """Return what `canonical` returns for dates like `2024-3-7`; None for those in words."""
    return canonical(text) if text[4:5] == "-" and _in_iso(text.strip()) else None


def is_canonical(text: str) -> bool:
    """Tell whether a text is a date as `canonical` returns it."""
    return _CANONICAL.fullmatch(text) is not None


def stamped(name: str) -> tuple[str, str] | None:
    """Split a name such as `2024-03-07_10_00_00_Title.md` into (date, rest). The date is not validated."""
    match = _STAMP.fullmatch(name)
    if match is None:
        return None
    day, hour, minute, second, rest = match.groups()
    return f"{day}T{hour}:{minute}:{second}", rest


def in_name(name: str) -> str | None:
    """Parse the date at the start of a file name: `2024-03-07_10_00_00_` or `2024-03-07`."""
    if not name[:1].isdigit():
        return None
    if timestamp := stamped(name):
        return read(timestamp[0])
    day = _DAY.match(name)
    return read(day[0]) if day else None


_SPAN = lazy(r"(\d{1,6}(?:\.\d{1,6})?)\s*(d|w|m|y|days?|weeks?|months?|years?)?", re.ASCII)
_DAYS = {"d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}
#: The longest span of time: about a hundred years.
MAX_DAYS = 36_500.0


def days(text: str) -> float | None:
    """Parse a span of time such as `30`, `30d`, `6 weeks`, `3m` or `1y` to days; None if it is none.

    A number without a unit is in days. A month has 30 days, a year 365.
    """
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None:
        return None
    number = float(match[1]) * _DAYS[(match[2] or "d")[0]]
    return number if 0 < number <= MAX_DAYS else None


def stated(date: str, modified_ns: int) -> str:
    """Return the date of a document, or "" if it is only the time of its file, which a copy may have set."""
    return "" if date == of_mtime(modified_ns) else date


def of_mtime(nanoseconds: int) -> str:
    """Convert a modification time in nanoseconds since the epoch to a date in UTC."""
    seconds = min(max(nanoseconds // 1_000_000_000, _FIRST), _LAST)
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()
