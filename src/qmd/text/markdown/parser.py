"""The door to the parser of CommonMark: its events, with places in characters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate
from typing import Any, TypeAlias

from qmd.text.regex import lazy

#: An event as the library has it: a name, or a name with its values.
Event: TypeAlias = Any
_SURROGATES = lazy("[\ud800-\udfff]")
#: The bytes of UTF-8 that begin no character, and the bytes between two places whose characters are counted.
_CONTINUED, _STEP = bytes(range(0x80, 0xC0)), 1024


@cache
def _parser(*, shown: bool) -> Any:
    """Return the parser; imported on use, because commands that only read texts need none."""
    import pyromark

    options = pyromark.Options
    common = (
        options.ENABLE_FOOTNOTES
        | options.ENABLE_TABLES
        | options.ENABLE_STRIKETHROUGH
        | options.ENABLE_WIKILINKS
    )
    # Formulas are only shown: they would hide tags and links between two dollars.
    more = options.ENABLE_TASKLISTS | options.ENABLE_MATH | options.ENABLE_GFM
    return pyromark.Markdown(options=common | more if shown else common)


def events(text: str) -> tuple[Iterator[tuple[Event, Event]], Callable[[int], int]]:
    """Return the events of a text with their ranges in bytes, and what turns a byte into a character.

    Neighbouring texts are one event. Lone surrogates, which UTF-8 cannot express, are replacement characters.
    """
    text, place = _places(text)
    return _parser(shown=False).events_with_range(text, merge_text=True), place


def page_events(text: str) -> Iterator[tuple[Event, int, int]]:
    """Yield the events by which a text is shown, each with [start, end) in characters."""
    text, place = _places(text)
    for event, span in _parser(shown=True).events_with_range(text):
        yield event, place(span["start"]), place(span["end"])


def _places(text: str) -> tuple[str, Callable[[int], int]]:
    """Return a text that UTF-8 can express, and what turns a byte of it into a character."""
    if text.isascii():
        return text, int
    text = _SURROGATES.sub("\ufffd", text)
    data = text.encode()
    pieces = (data[at : at + _STEP] for at in range(0, len(data), _STEP))
    counts = [*accumulate((len(piece.translate(None, _CONTINUED)) for piece in pieces), initial=0)]

    def place(at: int) -> int:
        return counts[at // _STEP] + len(data[at // _STEP * _STEP : at].translate(None, _CONTINUED))

    return text, place
