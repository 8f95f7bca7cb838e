"""Calendars (`.ics`): each event with its time, place and people."""

from __future__ import annotations

import re
from collections.abc import Iterator

from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "calendar"
version = 1
media_type = "text/plain"

_LINE = re.compile(r"([A-Za-z-]{1,60})((?:;[^:;\"\n]{1,200}(?:\"[^\"\n]{0,200}\")?){0,20}):(.*)")
_ESCAPE = re.compile(r"\\([\\,;nN])")
_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d)?")
_NAME = re.compile(r";CN=\"?([^\":;]{1,200})", re.I)
_PEOPLE = {"ORGANIZER": "Organizer", "ATTENDEE": "With"}
_SHOWN = {
    "DTSTART": "Start",
    "DTEND": "End",
    "DUE": "Due",
    "LOCATION": "Place",
    "STATUS": "Status",
    "URL": "URL",
    **_PEOPLE,
}


def extract(file: RawFile) -> Extracted:
    text = file.text()
    if "BEGIN:VCALENDAR" not in text[:1_000].upper():
        raise Unreadable(DAMAGED, "no calendar")
    writer = Writer("event")
    title, dates, tags = "", list[str](), dict[str, None]()
    events = [*_events(text)]
    for number, (calendar, event) in enumerate(events, 1):
        title = title or calendar
        if not event:
            continue
        writer.anchor(number)
        writer.add_heading(one_line(event.get("SUMMARY", [""])[0]) or "Event", 2)
        about = [f"{word}: {', '.join(event[key])}" for key, word in _SHOWN.items() if key in event]
        writer.add("\n".join(about))
        writer.add("\n".join(event.get("DESCRIPTION", [])))
        dates += event.get("DTSTART", [])[:1]
        for listed in event.get("CATEGORIES", []):
            tags |= dict.fromkeys(tag.strip() for tag in listed.split(","))
    if not title and len(events) == 1:
        title = one_line(events[0][1].get("SUMMARY", [""])[0])
    return Extracted(
        writer.text, title, {"date": tuple(dates[:1]), "tag": tuple(tags)}, anchors=writer.anchors,
        structure=writer.structure,
    )  # fmt: skip


def _events(text: str) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield the name of the calendar, and the properties of each event and task."""
    calendar, event = "", None
    for line in text.replace("\n ", "").replace("\n\t", "").split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        key, options, value = match[1].upper(), match[2], match[3].strip()
        if key == "BEGIN" and value.upper() in ("VEVENT", "VTODO", "VJOURNAL"):
            event = dict[str, list[str]]()
        elif key == "END" and value.upper() in ("VEVENT", "VTODO", "VJOURNAL"):
            if event is not None:
                yield calendar, event
            event = None
        elif key == "X-WR-CALNAME":
            calendar = one_line(value)
        elif event is not None and value:
            event.setdefault(key, []).append(_value(key, options, value))


def _value(key: str, options: str, value: str) -> str:
    if key in _PEOPLE:
        named = _NAME.search(options)
        return named[1] if named else re.sub(r"(?i)\Amailto:", "", value)
    if stamp := _STAMP.match(value):
        day, time = "-".join(stamp.groups()[:3]), ":".join(part for part in stamp.groups()[3:] if part)
        return f"{day} {time}".strip()
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
