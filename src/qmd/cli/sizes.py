"""Format sizes and times for people."""

from __future__ import annotations

from contextlib import suppress


def human_size(size: int) -> str:
    """Return a number of bytes in a unit that keeps it short: `1.5 MB`."""
    if size < 1024:
        return f"{size} B"
    value, units = size / 1024, ["KB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.1f} {units[0]}" if value < 9.95 else f"{value:.0f} {units[0]}"


def local_time(moment: str) -> str:
    """Return an ISO 8601 time in the local time zone, to the minute."""
    from datetime import datetime

    time = datetime.fromisoformat(moment)
    with suppress(OverflowError, ValueError, OSError):  # near the ends of the calendar
        time = time.astimezone()
    return time.isoformat(" ", "minutes")[:16]


def time_left(seconds: float | None) -> str:
    """Return an estimate: `about 3 min left`."""
    return "" if seconds is None else f"{about(seconds)} left"


def about(seconds: float) -> str:
    """Return an estimated duration: `about 3 min`."""
    if seconds < 60:
        return f"about {max(1, round(seconds))} s"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min"
    return f"about {seconds / 3600:.1f} h"


def duration(seconds: float) -> str:
    """Return a duration: `4.2 s`, `3 min 10 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
