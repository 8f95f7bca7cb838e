"""The standing of a passage in a text: as cited, elsewhere, changed, or nowhere.

Exact places are found in linear time. If there is none, the places that share the rarest words are compared
word by word, a bounded number of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice

from qmd.features.evidence.types import Lines, Verdict
from qmd.features.evidence.verbatim import Place, VerbatimWords, exact_places, is_negation
from qmd.text.regex import lazy

#: `...`, `[...]` and the like in a quotation: something is left out.
ELLIPSIS = lazy(r"(?<!\s)\s*+(?:[\[(［（]\s*+(?:\.{3}|…)\s*+[\])］）]|\.{3,}+|…++)\s*+")
#: The most characters that an ellipsis may leave out.
MOST_OMITTED = 1_500
#: A place is similar if at least this share of its words and of the passage's are the same, in order.
_SIMILAR = 0.5
#: Limits of the search for similar places: words of the passage, its rarest words, places of each, and places
#: that are compared word by word.
_COMPARED, _RAREST, _OF_EACH, _PLACES = 400, 12, 200, 4
#: Equal words that are shown on both sides of a difference, and the most characters of the nearest text.
_AROUND, _SHOWN = 4, 600
#: The most places that are listed if a quotation stands at several.
_LISTED = 20
#: The most places of its first part at which a quotation with an ellipsis may begin.
_BEGUN = 1_000
#: Places of a passage inside of lines, before it is looked for no further.
_MOST_TRIED = 10_000


def stands(
    words: VerbatimWords, quote: str, cited: Lines | None = None, *, from_start: bool = True
) -> Verdict:
    """Return the standing of a quotation in a text.

    Args:
        words: The text.
        quote: The quotation. An ellipsis in it joins parts in order.
        cited: The first and the last line that are cited; None for the whole text.
        from_start: Whether a quotation of several lines stands at the single line of its beginning.
    """
    first, others = None, dict[Lines, Place]()
    spans = [(0, len(words))] if cited is None else [words.words_of(*cited), (0, len(words))]
    for start, stop in spans:
        for place in _places(words, quote, start, stop):
            lines = words.lines(*place)
            if place.fault:
                first = place if first is None else first
            elif _is_cited(lines, cited, from_start):
                text = words.slice(*place)
                return Verdict("holds", lines, text[:_SHOWN], reason=_spacing(text, quote))
            else:
                others.setdefault(lines, place)
                if len(others) > _LISTED:
                    break
    if len(others) > 1:
        places = tuple(sorted(others))[:_LISTED]
        return Verdict("ambiguous", places=places, reason="it stands at several places")
    for lines, place in others.items():
        return Verdict("moved", lines, words.slice(*place)[:_SHOWN])
    if first is None:
        return nearest(words, quote, cited)
    text, difference = words.slice(*first)[:_SHOWN], _difference(VerbatimWords(quote), words, first)
    return Verdict("inexact", words.lines(*first), text, difference, first.fault)


def _is_cited(lines: Lines, cited: Lines | None, from_start: bool) -> bool:
    if cited is None:
        return True
    first, last = cited
    return first <= lines[0] <= last and (lines[1] <= last or (from_start and first == last))


def _spacing(text: str, quote: str) -> str:
    """Tell the differences, other than words, between a quotation and the text at its place."""
    ours = VerbatimWords(quote)
    if ours.slice(0, len(ours)) == text:
        return ""
    return (
        "quoted with parts left out" if ELLIPSIS.search(quote) else "quoted with other spaces or typography"
    )


def _places(words: VerbatimWords, quote: str, start: int, stop: int) -> Iterator[Place]:
    """Yield the places of a quotation that begin in a span of words.

    If it has an ellipsis, they are from its first part to its last.
    """
    whole = VerbatimWords(quote)
    if not len(whole):
        return
    found = False
    for place in exact_places(words, whole, start, stop):
        found = True
        yield place
    parts = [part for piece in ELLIPSIS.split(quote) if len(part := VerbatimWords(piece))]
    if found or len(parts) < 2 or any(next(words.find(part.folded), None) is None for part in parts):
        return
    for first in islice(exact_places(words, parts[0], start, stop), _BEGUN):
        continued = _continued(words, first, parts[1:])
        if continued is not None:
            yield continued


def _continued(words: VerbatimWords, first: Place, parts: Sequence[VerbatimWords]) -> Place | None:
    """Return the place of parts in order, given the place of the first; None if they do not follow."""
    at, fault = first[1], first.fault
    for part in parts:
        limit = words.word_at(words.ends[at - 1] + MOST_OMITTED)
        place = next(exact_places(words, part, at, limit), Place(0, 0))
        if not place[1]:
            return None
        omitted = words.folded[at : place[0]]
        # "We do … deploy" for "We do not deploy".
        edge = next((word for word in (omitted[:1] + omitted[-1:]) if is_negation(word)), None)
        fault = fault or place.fault or (f"it leaves out '{edge}'" if edge else "")
        at = place[1]
    return Place(first[0], at, fault)


def nearest(words: VerbatimWords, quote: str, cited: Lines | None = None) -> Verdict:
    """Return the text that is most similar to a quotation that stands nowhere."""
    from difflib import SequenceMatcher

    wanted = VerbatimWords(ELLIPSIS.sub(" ", quote))
    sought = wanted.folded[:_COMPARED]
    matcher = SequenceMatcher(b=sought, autojunk=False)
    best: tuple[float, Place] | None = None
    for start, end in _windows(words, sought, cited):
        matcher.set_seq1(words.folded[start:end])
        same = [block for block in matcher.get_matching_blocks() if block.size]
        if not same:
            continue
        # Words that are exchanged at an end of the quotation belong to the place.
        first = max(0, start + same[0].a - same[0].b)
        last = same[-1]
        after = min(len(words), start + last.a + last.size + len(sought) - last.b - last.size)
        share = 2 * sum(block.size for block in same) / (len(sought) + after - first)
        if best is None or share > best[0]:
            best = share, Place(first, after)
    if best is None or best[0] < _SIMILAR:
        return Verdict("absent", reason="nothing in the document is similar")
    place = best[1]
    return Verdict(
        "changed", words.lines(*place), words.slice(*place)[:_SHOWN], _difference(wanted, words, place)
    )


def _windows(words: VerbatimWords, sought: Sequence[str], cited: Lines | None) -> Iterator[tuple[int, int]]:
    """Yield spans of words that share rare words with a quotation, the best first, after the cited lines."""
    margin = max(4, len(sought) // 3)
    votes: dict[int, float] = {}
    positions = words.positions
    known = sorted(
        {word for word in sought if word in positions}, key=lambda word: (len(positions[word]), word)
    )
    for word in known[:_RAREST]:
        places = positions[word]
        for at in places[:_OF_EACH]:
            anchor = (at - sought.index(word)) // margin
            votes[anchor] = votes.get(anchor, 0) + 1 / len(places)
    starts = [anchor * margin for anchor in sorted(votes, key=lambda anchor: (-votes[anchor], anchor))]
    if cited is not None and words.folded:
        feeds = words.text.split("\n", cited[0] - 1)
        offset = len(words.text) - len(feeds[-1]) if len(feeds) == cited[0] else len(words.text)
        starts.insert(0, words.word_at(offset))
    for start in starts[: _PLACES + 1]:
        yield max(0, start - margin), min(len(words), start + len(sought) + 2 * margin)


def _difference(quote: VerbatimWords, words: VerbatimWords, place: Place) -> str:
    """Describe how a quotation differs from a place, with a few equal words around each difference."""
    from difflib import SequenceMatcher

    ours = _written(quote, 0, min(len(quote), _COMPARED))
    theirs = _written(words, place[0], min(place[1], place[0] + 2 * _COMPARED))
    pieces: list[str] = []
    operations = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    for number, (kind, first, end, low, high) in enumerate(operations):
        if kind == "equal":
            pieces.append(_shortened(quote, first, end, number == 0, number == len(operations) - 1))
            continue
        if end > first:
            pieces.append(f"[-{_with_punctuation(quote, first, end)}-]")
        if high > low:
            pieces.append(f"{{+{_with_punctuation(words, place[0] + low, place[0] + high)}+}}")
    return " ".join(filter(None, pieces)) if any(kind != "equal" for kind, *_ in operations) else ""


def _written(words: VerbatimWords, first: int, end: int) -> list[tuple[str, str]]:
    return [(words.before[at] if at > first else "", words.written(at)) for at in range(first, end)]


def _with_punctuation(words: VerbatimWords, first: int, end: int) -> str:
    start = words.ends[first - 1] if first and words.before[first] else words.starts[first]
    return " ".join(words.text[start : words.ends[end - 1]].split())


def _shortened(words: VerbatimWords, first: int, end: int, is_first: bool, is_last: bool) -> str:
    """Return equal words, of which only those beside a difference are shown."""
    if end - first <= 2 * _AROUND + 1:
        return " ".join(words.slice(first, end).split())
    head = "" if is_first else words.slice(first, first + _AROUND)
    tail = "" if is_last else words.slice(end - _AROUND, end)
    return " ".join(f"{head} … {tail}".split())


class Rows:
    """The lines of a text in one string, in which a passage is found whatever its white space.

    Attributes:
        total: The number of lines.
        words: The words of the text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.total = text.count("\n") + 1
        rows = [
            (number, row)
            for number, line in enumerate(text.split("\n"), 1)
            if (row := " ".join(line.split()))
        ]
        self._numbers = [number for number, _ in rows]
        self._joined = " ".join(row for _, row in rows)
        self._starts = [*accumulate((len(row) + 1 for _, row in rows), initial=0)]

    @cached_property
    def words(self) -> VerbatimWords:
        return VerbatimWords(self._text)

    def nearest(self, passage: str, lines: Lines) -> Lines | None:
        """Return the whole lines that are a passage, those nearest to some lines; None if there are none."""
        sought = " ".join(passage.split())
        start = self._starts[bisect_left(self._numbers, lines[0])] if self._numbers else 0
        below = self._found(sought, self._joined.find, start, len(self._joined))
        above = self._found(sought, self._joined.rfind, 0, max(0, start - 1 + len(sought)))
        found = [each for each in (below, above) if each is not None]
        return min(found, key=lambda each: abs(each[0] - lines[0]), default=None)

    def _found(self, sought: str, find: Callable[[str, int, int], int], low: int, high: int) -> Lines | None:
        """Return the first lines that `find` comes to from one end of a span of the joined lines."""
        for _ in range(_MOST_TRIED if sought else 0):
            at = find(sought, low, high)
            if at < 0:
                break
            first, end = bisect_left(self._starts, at), bisect_left(self._starts, at + len(sought) + 1)
            if self._starts[first] == at and self._starts[end] == at + len(sought) + 1:
                return self._numbers[first], self._numbers[end - 1]
            low, high = (at + 1, high) if find == self._joined.find else (low, at + len(sought) - 1)
        return None


def holds(rows: Rows, lines: Lines, passage: str) -> Verdict:
    """Tell whether a passage that was taken from lines of a text still stands there.

    Args:
        rows: The text as it is now.
        lines: The first and the last line of the passage, when it was taken.
        passage: The passage.

    Returns:
        holds, moved (with the new lines), changed (with the nearest text and the difference), or absent.
    """
    found = rows.nearest(passage, lines)
    if found is not None:
        return Verdict("holds" if found[0] == lines[0] else "moved", found)
    verdict = stands(rows.words, passage, lines)
    # The words are there, with other line ends or typography.
    return Verdict("moved", verdict.lines) if verdict.standing == "ambiguous" else verdict
