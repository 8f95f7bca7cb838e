"""The time as the index and other files say it: ISO 8601 in UTC, so that the strings sort by time."""

from __future__ import annotations

from datetime import UTC, datetime


def now(timespec: str = "milliseconds") -> str:
    """Return the current time as a `timestamp`."""
    return timestamp(datetime.now(UTC), timespec)


def timestamp(moment: datetime, timespec: str = "milliseconds") -> str:
    """Return a time in UTC as text, such as `2026-03-07T10:00:00.000Z`.

    Args:
        moment: A time with the zone UTC.
        timespec: The last part to include, as for `datetime.isoformat`.
    """
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")
