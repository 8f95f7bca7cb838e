"""The sections of a text as a field of its windows: the words and the numbers of their headings."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence, Set as AbstractSet
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from qmd.text.numbers import first_number, numbered_lines
from qmd.text.outline import MAX_LEVEL, MAX_TITLE
from qmd.text.spans import Closed
from qmd.types.structure import Heading, Structure

if TYPE_CHECKING:
    from qmd.text.highlight import Highlighter

#: The weight of a heading above, relative to the own heading of a section.
ABOVE = 0.5
#: The weight of a number that was asked for, relative to the whole query.
NUMBER = 1.5
#: The weight of a heading that has nothing but the query: its section comes before those that only name it.
ALONE = 0.25
#: How many sections are among the best.
_BEST = 8


class Matched(NamedTuple):
    """A section whose heading, or one above, matches the query: [start, end), and the weight of the terms.

    `number` is how much a number of the query is its own, 0..1, and `alone` whether its heading has nothing
    but the query.
    """

    start: int
    end: int
    weight: float
    number: float
    alone: bool = False

    def share(self, total: float) -> float:
        """Return the weight relative to that of the whole query, which is `total`."""
        return self.weight / total + NUMBER * self.number + ALONE * self.alone


def numbered(text: str, structure: Structure) -> tuple[Heading, ...]:
    """Return the headings of a text with their numbers, and the paragraphs with numbers, in order."""
    found = [
        each._replace(number=first_number(text[each.low : min(each.high, each.low + MAX_TITLE)]))
        for each in structure.headings
    ]
    starts = {heading.start for heading in found}
    code = Closed(structure.verbatim_spans())
    lines = [
        Heading(at, MAX_LEVEL + 1 + number.value.count("."), at, at + len(words), "", number)
        for at, words, number in numbered_lines(text)
        if at not in starts and code.end(at) == at
    ]
    return tuple(sorted([*found, *lines]) if lines else found)


class Sections(Struct, frozen=True):
    """The sections whose headings match a query.

    Attributes:
        matched: All of them, in order.
        best: The few with the highest weights, which are passages even without a word of the query.
        named: The terms of the numbers of the query that sections have. Elsewhere they only refer to these.
        common: The terms in or above all headings, such as those of a title, which every section is about.
    """

    matched: tuple[Matched, ...] = ()
    best: tuple[Matched, ...] = ()
    named: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()


def match_sections(
    text: str,
    all_headings: Sequence[Heading],
    highlighter: Highlighter,
    span: tuple[int, int],
    found: Sequence[tuple[int, int, object]] | None = None,
) -> Sections:
    """Return the sections of a text that begin in a span and whose headings match the query.

    `found` are the windows that have terms of the query, in order, if they are known.
    """
    all_headings = [heading for heading in all_headings if span[0] <= heading.start < span[1]]
    if not all_headings:
        return Sections()
    numbers, named = _own_numbers(all_headings, highlighter)
    own = _own_terms(_words(text, all_headings, found), highlighter, named)
    if not any(own) and not any(numbers):
        return Sections()
    fields, numbered = _inherited(all_headings, own, numbers)
    weights = {term: weight for terms in own for term, weight in terms.items()}
    frequencies = Counter(chain.from_iterable(fields))
    for term, frequency in frequencies.items():
        weights[term] = highlighter.among(term, frequency, len(fields))
        # The more sections a heading is above, the less it tells them apart.
        weights[term] *= 1 - (frequency - 1) / len(fields)
    common = frozenset(term for term, frequency in frequencies.items() if frequency == len(fields))
    starts = [heading.start for heading in all_headings]
    alone = [
        bool(terms)
        and highlighter.is_whole(text[heading.low : min(heading.high, heading.low + MAX_TITLE)], terms, named)
        for heading, terms in zip(all_headings, own, strict=True)
    ]
    matched = tuple(
        Matched(start, end, sum(part * weights[term] for term, part in field.items()), number, whole)
        for start, end, field, number, whole in zip(
            starts, [*starts[1:], span[1]], fields, numbered, alone, strict=True
        )
        if field or number
    )
    best = sorted(matched, key=lambda each: (-each.number, -each.weight))[:_BEST]
    return Sections(matched, tuple(best), frozenset(named), common)


def _inherited(
    headings: Sequence[Heading], own: Sequence[dict[str, float]], numbers: Sequence[float]
) -> tuple[list[dict[str, float]], list[float]]:
    """Return which part of its weight each term of headings and of those above them counts, and numbers."""
    above: list[tuple[int, dict[str, float], float]] = []
    fields: list[dict[str, float]] = []
    numbered: list[float] = []
    for heading, terms, number in zip(headings, own, numbers, strict=True):
        field = dict.fromkeys(terms, 1.0)
        if above:
            above = [entry for entry in above if entry[0] < heading.level]
            field = {term: ABOVE for _, others, _ in above for term in others} | field
        fields.append(field)
        numbered.append(max(number, ABOVE * max((other for *_, other in above), default=0.0)))
        if terms or number:  # most have neither, and give nothing to those below
            above.append((heading.level, terms, number))
    return fields, numbered


def _own_numbers(headings: Sequence[Heading], highlighter: Highlighter) -> tuple[list[float], set[str]]:
    """Return how much a number of the query is that of each heading, and the terms of these numbers."""
    numbers, named = [0.0] * len(headings), set[str]()
    for name in highlighter.numbers:
        for at, heading in enumerate(headings):
            if heading.number is not None and (likeness := name.number.likeness(heading.number)):
                numbers[at] = max(numbers[at], name.sure * likeness)
                named |= name.terms
    return numbers, named


def _words(
    text: str, all_headings: Sequence[Heading], found: Sequence[tuple[int, int, object]] | None
) -> list[str]:
    """Return the words of headings, without those outside of the windows that have terms of the query."""
    if found is None:
        return [text[each.low : each.high] for each in all_headings]
    words = [""] * len(all_headings)
    lows, lasts = [each.low for each in all_headings], [max(each.low, each.high - 1) for each in all_headings]
    for start, end, _ in found:
        for at in range(bisect_left(lasts, start), bisect_left(lows, end)):
            words[at] = text[lows[at] : all_headings[at].high]
    return words


def _own_terms(
    words: Sequence[str], highlighter: Highlighter, named: AbstractSet[str]
) -> list[dict[str, float]]:
    """Return the terms of the query in each heading with their weights, without those of its numbers."""
    own: list[dict[str, float]] = [{} for _ in words]
    starts = [0, *accumulate(len(each) + 2 for each in words)]
    for low, _, term, weight in highlighter.find_all("\n\n".join(words)) if any(words) else ():
        if term not in named:
            own[bisect_right(starts, low) - 1][term] = weight
    return own
