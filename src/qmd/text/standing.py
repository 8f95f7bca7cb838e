"""Where a passage stands in a text: as cited, elsewhere, changed, or nowhere.

Exact places are found in linear time. If there is none, the places that share the rarest words are compared
word by word, a bounded number of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qmd.text.digest import sha256
from qmd.text.regex import lazy
from qmd.text.verbatim import Place, Words, exact_places, is_negation
from qmd.types.citations import Lines, Verdict

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
_DIGEST = 12
#: Lines that are read to find a passage again by its hash.
_MOST_LINES = 2_000_000


def stands(words: Words, quote: str, cited: Lines | None = None, *, from_start: bool = True) -> Verdict:
    """Tell where a quotation stands in a text.

    Args:
        words: The text.
        quote: The quotation. An ellipsis in it joins parts in order.
        cited: The first and the last line that are cited; None for the whole text.
        from_start: Whether a quotation of several lines stands at the single line where it begins.
    """
    places = list(_places(words, quote))
    exact = [place for place in places if not place.fault]
    for place in exact:
        if _is_cited(words.lines(*place), cited, from_start):
            text = words.slice(*place)
            return Verdict("holds", words.lines(*place), text[:_SHOWN], reason=_spacing(text, quote))
    if others := sorted({words.lines(*place) for place in exact}):
        if others[1:]:
            return Verdict("ambiguous", places=tuple(others[:20]), reason="it stands at several places")
        return Verdict("moved", others[0], words.slice(*exact[0])[:_SHOWN])
    if not places:
        return nearest(words, quote, cited)
    place = min(places, key=lambda each: not _is_cited(words.lines(*each), cited, from_start))
    text, difference = words.slice(*place)[:_SHOWN], _difference(Words(quote), words, place)
    return Verdict("inexact", words.lines(*place), text, difference, place.fault)


def _is_cited(lines: Lines, cited: Lines | None, from_start: bool) -> bool:
    if cited is None:
        return True
    first, last = cited
    return first <= lines[0] <= last and (lines[1] <= last or (from_start and first == last))


def _spacing(text: str, quote: str) -> str:
    """Tell what else than words differs between a quotation and the text where it stands."""
    ours = Words(quote)
    if ours.slice(0, len(ours)) == text:
        return ""
    return (
        "quoted with parts left out" if ELLIPSIS.search(quote) else "quoted with other spaces or typography"
    )


def _places(words: Words, quote: str) -> Iterator[Place]:
    """Yield the places of a quotation; if it has an ellipsis, from its first part to its last."""
    whole = Words(quote)
    if not len(whole):
        return
    found = False
    for place in exact_places(words, whole):
        found = True
        yield place
    parts = [part for piece in ELLIPSIS.split(quote) if len(part := Words(piece))]
    if found or len(parts) < 2:
        return
    for first in exact_places(words, parts[0]):
        continued = _continued(words, first, parts[1:])
        if continued is not None:
            yield continued


def _continued(words: Words, first: Place, parts: Sequence[Words]) -> Place | None:
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


def nearest(words: Words, quote: str, cited: Lines | None = None) -> Verdict:
    """Return the text that is most similar to a quotation that stands nowhere."""
    from difflib import SequenceMatcher

    wanted = Words(ELLIPSIS.sub(" ", quote))
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


def _windows(words: Words, sought: Sequence[str], cited: Lines | None) -> Iterator[tuple[int, int]]:
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


def _difference(quote: Words, words: Words, place: Place) -> str:
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


def _written(words: Words, first: int, end: int) -> list[tuple[str, str]]:
    return [(words.before[at] if at > first else "", words.written(at)) for at in range(first, end)]


def _with_punctuation(words: Words, first: int, end: int) -> str:
    start = words.ends[first - 1] if first and words.before[first] else words.starts[first]
    return " ".join(words.text[start : words.ends[end - 1]].split())


def _shortened(words: Words, first: int, end: int, is_first: bool, is_last: bool) -> str:
    """Return equal words, of which only those beside a difference are shown."""
    if end - first <= 2 * _AROUND + 1:
        return " ".join(words.slice(first, end).split())
    head = "" if is_first else words.slice(first, first + _AROUND)
    tail = "" if is_last else words.slice(end - _AROUND, end)
    return " ".join(f"{head} … {tail}".split())


def digest(passage: str) -> str:
    """Return a short hash of a passage, which does not depend on white space."""
    return sha256(" ".join(passage.split()).encode("utf-8", "surrogatepass"))[:_DIGEST]


def holds(text: str, lines: Lines, hashed: str, passage: str | None = None) -> Verdict:
    """Tell whether a passage that was taken from lines of a text still stands there.

    Args:
        text: The text as it is now.
        lines: The first and the last line of the passage, when it was taken.
        hashed: Its `digest`.
        passage: The passage itself, if it is known. Without it no nearest text can be found.

    Returns:
        holds, moved (with the new lines), changed (with the nearest text and the difference, if the passage
        is known), or absent.
    """
    count = lines[1] - lines[0] + 1
    rows = [" ".join(row.split()) for row in text.split("\n")]

    def has(first: int) -> bool:
        joined = " ".join(filter(None, rows[first - 1 : first - 1 + count]))
        return bool(joined) and digest(joined) == hashed

    if lines[0] >= 1 and has(lines[0]):
        return Verdict("holds", lines)
    starts = sorted(range(1, len(rows) - count + 2), key=lambda first: abs(first - lines[0]))
    starts = starts[: _MOST_LINES // max(count, 1)]
    if (first := next((first for first in starts if has(first)), None)) is not None:
        return Verdict("moved", (first, first + count - 1))
    if passage is None:
        return Verdict("changed", lines if lines[1] <= len(rows) else None)
    verdict = stands(Words(text), passage, lines)
    # The words are there, with other line ends or typography.
    return Verdict("moved", verdict.lines) if verdict.standing == "ambiguous" else verdict
