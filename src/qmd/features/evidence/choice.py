"""Choose the paragraphs of a pack: those that add most for their tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from heapq import heapify, heappop, heappush

from msgspec import Struct, field

from qmd.text import tokens

#: Words of a shingle. Two texts about one subject share words, but hardly four in a row.
WIDTH = 4
#: A paragraph of which this share is in chosen ones is their near copy.
COPY = 0.8
#: By how much of its relevance a chosen paragraph lessens the need of a question for more.
SATISFIES = 0.5


class Paragraph(Struct, frozen=True):
    """A paragraph that may be chosen.

    Attributes:
        document: The place of its document in the list of those found.
        place: Its place in the document. Neighbours are shown as one passage.
        tokens: The cost of its text.
        frame: The cost of the lines around a passage, if no neighbour is shown.
        relevance: How relevant it is to each question of the goal, 0..1.
        shingles: The runs of words of its text.
        price: The room that it takes, in place of its cost, if its text is not shown.
    """

    document: int
    place: int
    tokens: int
    frame: int
    relevance: tuple[float, ...]
    shingles: frozenset[int] = frozenset()
    price: int | None = None


class Choice(Struct):
    """The choice from a list of paragraphs, by their numbers in the list, the best first.

    `copies` has the chosen one that each near copy resembles most, and `left_out` those without room. Of near
    copies in `own` only what they alone say was chosen.
    """

    chosen: list[int] = field(default_factory=list)
    copies: dict[int, int] = field(default_factory=dict)
    left_out: list[int] = field(default_factory=list)
    own: set[int] = field(default_factory=set)


def choose(
    paragraphs: Sequence[Paragraph],
    room: int,
    own: Callable[[int, Set[int]], Paragraph | None] = lambda number, taken: None,
) -> Choice:
    """Return the paragraphs that fit into `room` tokens.

    `own` returns what a near copy says that is not in the shingles chosen so far, None if that is nothing.

    The next one is always that with the highest gain per token: its relevance to the questions that still
    need something, without the part of it that was chosen already. So where a goal asks several things, no
    question takes all the room.
    """
    choice = Choice()
    paragraphs = list(paragraphs)
    needs = [1.0] * max((len(each.relevance) for each in paragraphs), default=0)
    taken: set[int] = set()
    shown: set[tuple[int, int]] = set()
    places = {(each.document, each.place): number for number, each in enumerate(paragraphs)}

    def cost(paragraph: Paragraph) -> int:
        beside = any((paragraph.document, paragraph.place + step) in shown for step in (-1, 1))
        return paragraph.tokens + (0 if beside else paragraph.frame)

    def entry(number: int) -> tuple[float, int]:
        paragraph = paragraphs[number]
        gain = sum(need * part for need, part in zip(needs, paragraph.relevance, strict=True))
        return -gain * (1.0 - contained(paragraph.shingles, taken)) / cost(paragraph), number

    # Gains only fall while others are chosen, so an outdated entry that is still the best is the best.
    heap = [*map(entry, range(len(paragraphs)))]
    heapify(heap)
    done: set[int] = set()
    while heap:
        estimated, number = heappop(heap)
        if number in done:
            continue
        if (current := entry(number))[0] > estimated and heap and current > heap[0]:
            heappush(heap, current)
            continue
        done.add(number)
        paragraph = paragraphs[number]
        if choice.chosen and contained(paragraph.shingles, taken) >= COPY:
            if number not in choice.own and (rest := own(number, taken)) is not None:
                paragraphs[number] = rest
                choice.own.add(number)
                done.discard(number)
                heappush(heap, entry(number))
                continue
            choice.copies[number] = max(
                choice.chosen, key=lambda other: contained(paragraph.shingles, paragraphs[other].shingles)
            )
            continue
        price = cost(paragraph) if paragraph.price is None else paragraph.price
        if price > room:
            choice.left_out.append(number)
            continue
        room -= price
        choice.chosen.append(number)
        taken |= paragraph.shingles
        shown.add((paragraph.document, paragraph.place))
        needs = _lessened(needs, paragraph.relevance)
        for beside in ((paragraph.document, paragraph.place + step) for step in (-1, 1)):
            if places.get(beside, number) not in done:  # it now costs less
                heappush(heap, entry(places[beside]))
    return choice


def _lessened(needs: Sequence[float], relevance: Sequence[float]) -> list[float]:
    """Return what the questions still need after a paragraph was chosen."""
    return [need * (1.0 - SATISFIES * part) for need, part in zip(needs, relevance, strict=True)]


def shingles(text: str) -> frozenset[int]:
    """Return the runs of `WIDTH` words of a text, as hashes; a shorter text is one run.

    Case, accents, punctuation and the marks of Markdown do not count. A character of an unspaced script
    counts as a word.
    """
    words = [part for word in tokens.words(text) for part in _parts(tokens.fold(word))]
    runs = zip(*(words[at:] for at in range(WIDTH)), strict=False)
    return frozenset(map(hash, runs)) or frozenset([hash(tuple(words))] if words else [])


def _parts(word: str) -> tuple[str, ...]:
    return tuple(word) if word and tokens.is_unspaced(word[0]) else (word,)


def contained(part: Set[int], whole: Set[int]) -> float:
    """Return the share of a passage's shingles that are in another one, 0..1."""
    return len(part & whole) / len(part) if part else 0.0
