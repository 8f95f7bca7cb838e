"""Dates as documents and queries have them: `2024-03-07T10:00:00`, in no time zone, sorted as texts."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_WRITTEN = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:(?:[Tt]|[ \t]+)"
    r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d*)?)?"
    r"(?:[ \t]*(?:[Zz]|[+-]\d{1,2}(?::?\d{2})?))?)?)?)?",
    re.ASCII,
)
_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2})_(\d{2})_(\d{2})_(\d{2})_(.*)", re.ASCII | re.DOTALL)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)
_LEAST = (1, 1, 1, 0, 0, 0)
#: Longer texts are no dates.
_LONGEST = 40
#: Seconds since 1970 of the first and of the last moment that can be written in four digits of a year.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799


def read(text: str) -> str | None:
    """The first moment of what an ISO or a YAML date means: `2024`, `2024-03`, `2024-3-7`, `20240307`,
    `2024-03-07 10:00`, with or without a time zone, which is left aside.

    None for anything else, and for a date that no calendar has.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    found = _WRITTEN.fullmatch(text)
    try:
        if found is None:
            moment = datetime.fromisoformat(text)  # the forms of ISO 8601 that few write
        else:
            # What is not written is the least that it can be.
            parts = (int(part or least) for part, least in zip(found.groups(), _LEAST, strict=True))
            year, month, day, hour, minute, second = parts
            moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")


def stamped(name: str) -> tuple[str, str] | None:
    """(moment, the rest) of a name that begins as `2024-03-07_10_00_00_`; no calendar need have it."""
    found = _STAMP.fullmatch(name)
    if found is None:
        return None
    day, hour, minute, second, rest = found.groups()
    return f"{day}T{hour}:{minute}:{second}", rest


def in_name(name: str) -> str | None:
    """The moment that the name of a file begins with: `2024-03-07_10_00_00_`, or a day, `2024-03-07`."""
    if not name[:1].isdigit():
        return None
    if found := stamped(name):
        return read(found[0])
    day = _DAY.match(name)
    return read(day[0]) if day else None


def of_mtime(nanoseconds: int) -> str:
    """The time of a file, in UTC."""
    seconds = min(max(nanoseconds // 1_000_000_000, _FIRST), _LAST)
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()
