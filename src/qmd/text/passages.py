"""Choose the passages of a document by the words of a query.

A text is divided into windows of about 55 tokens that end with a paragraph, a line, a sentence or a word. The
weight of a window is the sum of the weights of the query's terms in it. A term's weight is its idf in the
collection plus its idf among the windows of the document: in a long document, the words that all documents
have may still tell its passages apart, and the words that it has everywhere do not. The share of a window is
of the whole query, so that it is low if only a stray word matches, as across languages.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import chain, islice
from math import fsum
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from qmd.text.headings import Sections, match_sections
from qmd.text.highlight import Highlighter, inverse_frequency
from qmd.text.layout import SPACED, Places, divide
from qmd.types import Window
from qmd.types.structure import Structure

#: The most windows that are returned, but for those that are below the best headings.
_MOST_WINDOWS = 200
#: A longer text is not searched for words that are only in its markup.
_MOST_READ = 1_000_000
#: So much of a section is divided into windows that have no word of the query.
_SECTION = 1_024
_NO_SECTIONS = Sections()


def find_windows(
    text: str, highlighter: Highlighter, structure: Structure, places: Places | None = None
) -> list[Window]:
    """Return the windows of a text that contain terms of the query, best first, equal ones in their order.

    Args:
        text: The text with blanks in place of what is not read.
        highlighter: Finds the terms of the query.
        structure: The structure of the text, with its windows.
        places: The places of the terms in the text. Without them, the text is searched.
    """
    divided = structure.window_spans()
    span = start, end = (divided[0][0], divided[-1][1]) if divided else (0, 0)
    placed = None if places is None else _placed(text, divided, structure, highlighter, places)
    sections = _NO_SECTIONS
    if end - start > SPACED:
        sections = match_sections(text, structure.headings, highlighter, span, placed)
    found = _matched(divided, highlighter.find_in(text, start, end, structure)) if placed is None else placed
    count = len(divided)
    frequencies = Counter(chain.from_iterable(matched.terms for matched in found))
    weights = {
        term: highlighter.among(term, frequency, count)
        for term, frequency in frequencies.items()
        if term not in sections.named
    }
    absent = [weight + inverse_frequency(0, count) for weight in highlighter.missing(frequencies)]
    total = (sum(weights.values()) + sum(absent)) or 1.0
    common = {term: weight for term, weight in weights.items() if term in sections.common}
    windows = [
        Window(
            each.start,
            each.end,
            share,
            len(highlighter.quoted & each.terms.keys()),
            around=_part(weights, nearby) / total,
            heading=(sum(common.values()) - _part(common, each.terms)) / total if common else 0.0,
        )
        for share, each, nearby in _most_promising(text, found, weights, total)
    ]
    if sections.matched:
        windows = _under_headings(text, windows, sections, total, sum(common.values()) / total)
    return sorted(
        windows,
        key=lambda window: (-window.quoted, -round(window.share + window.heading, 9), window.start),
    )


def _under_headings(
    text: str, windows: Iterable[Window], sections: Sections, total: float, common: float
) -> list[Window]:
    """Return the windows with the weight of their headings, and the first ones below the best headings.

    `total` is the weight of the query, and `common` the share of it that all sections are about.
    """
    matched = sections.matched
    starts = [each.start for each in matched]
    changed: list[Window] = []
    for window in windows:
        first, last = bisect_right(starts, window.start) - 1, bisect_right(starts, window.end - 1)
        touched = (each for each in matched[max(0, first) : last] if window.start < each.end)
        best = max(touched, key=attrgetter("number", "weight"), default=None)
        if best is not None:
            # What is before a heading is no part of its section.
            start = max(window.start, best.start)
            window = replace(
                window, start=start, heading=window.heading + best.share(total), alone=best.alone
            )
        changed.append(window)
    covered = {window.start for window in changed}
    for each in sections.best:
        for low, high in islice(divide(text, each.start, min(each.end, each.start + _SECTION)), 2):
            if low not in covered:
                changed.append(Window(low, high, heading=common + each.share(total), alone=each.alone))
    return changed


def best_place(text: str, window: Window, highlighter: Highlighter, structure: Structure) -> int:
    """Return the first match in the line of a window that has most of the query; its start if none has.

    It is also the start if the window is in a single line, because only the line of the place is shown, and
    if its heading has all that was asked for.
    """
    if window.is_named or text.find("\n", window.start, window.end) < 0:
        return window.start
    lines: dict[int, tuple[int, dict[str, float]]] = {}
    for low, _, term, weight in highlighter.find_in(text, window.start, window.end, structure):
        line = text.rfind("\n", window.start, low)
        lines.setdefault(line, (low, {}))[1][term] = weight
    best = max(
        lines.values(),
        key=lambda line: (len(highlighter.quoted & line[1].keys()), sum(line[1].values())),
        default=(window.start, {}),
    )
    return best[0]


class _Terms(NamedTuple):
    """A window with the weights of the terms that it contains."""

    start: int
    end: int
    terms: dict[str, float]


def _part(weights: Mapping[str, float], terms: Iterable[str]) -> float:
    """Return the weight of some terms."""
    # Exactly, whatever the order of the terms.
    return fsum([weights.get(term, 0.0) for term in terms])


def _most_promising(
    text: str, found: Sequence[_Terms], weights: Mapping[str, float], total: float
) -> Iterator[tuple[float, _Terms, Iterable[str]]]:
    """Yield the best windows in order: the share of the query, the window, the terms in it and around it."""
    shares = [_part(weights, each.terms) / total for each in found]
    numbers: Sequence[int] = range(len(found))
    if len(found) > _MOST_WINDOWS:
        numbers = sorted(nlargest(_MOST_WINDOWS, numbers, key=shares.__getitem__))
    for at in numbers:
        each, nearby = found[at], {*found[at].terms}
        for other in (at - 1, at + 1):
            if 0 <= other < len(found):
                gap = (each.end, found[other].start) if other > at else (found[other].end, each.start)
                if not text[slice(*gap)].strip():
                    nearby |= found[other].terms.keys()
        yield shares[at], each, nearby


def _placed(
    text: str,
    windows: Sequence[tuple[int, int]],
    structure: Structure,
    highlighter: Highlighter,
    places: Places,
) -> list[_Terms] | None:
    """Return the windows in which terms have their places, in order.

    None if a term has places only behind the text as it is read, unless that is very long: then the term may
    be a part of a word in it.
    """
    first_terms = structure.first_terms()
    terms: dict[int, dict[str, float]] = {}
    for term, weight, positions in highlighter.placed(places):
        numbers = {bisect_right(first_terms, at) for at in positions} if positions else set()
        if len(windows) + 1 in numbers:
            numbers.discard(len(windows) + 1)
            if not numbers and len(text) <= _MOST_READ:
                return None
        numbers.discard(0)
        for number in numbers:
            terms.setdefault(number - 1, {})[term] = weight
    return [_Terms(*windows[number], terms[number]) for number in sorted(terms)]


def _matched(
    windows: Sequence[tuple[int, int]], matches: Iterable[tuple[int, int, str, float]]
) -> list[_Terms]:
    """Return the windows with matches, in order, each with the whole of a phrase that starts in it."""
    starts = [low for low, _ in windows]
    found: dict[int, _Terms] = {}
    for low, high, term, weight in matches:
        at = max(0, bisect_right(starts, low) - 1)
        start, end, terms = found.get(at) or (*windows[at], {})
        terms[term] = weight
        found[at] = _Terms(start, max(end, min(high, windows[at][1] + SPACED)), terms)
    return list(found.values())
