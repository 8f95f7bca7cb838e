"""The passage of a document that answers a query, and where the words are in it (E60)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from qmd.text.highlight import Highlighter, Match
from qmd.types import Snippet

#: About this many characters are shown.
WIDTH = 300
#: A text longer than `_WHOLE`, and dense, is searched in windows of so many characters, the best first.
_WHOLE, _WINDOW = 16_384, 2_048
#: Characters that are searched in all, as dense ones take a microsecond each; more where nothing is found.
_SEARCHED, _SEARCHED_IN_VAIN = 8_192, 65_536
#: Windows whose promise is looked at, which costs more where there are other letters than ASCII.
_SURVEYED, _OTHER_LETTERS = 2_048, 6
#: So many of those are looked at without regard to accents.
_WITHOUT_ACCENTS = 32
#: How far from the edge of a window a word may end or begin.
_WORD = 64
_SPACE = re.compile(r"\s")


def snippet(
    text: str, marker: Highlighter, *, within: tuple[int, int] | None = None, width: int = WIDTH
) -> Snippet:
    """The best `width` characters: most of the query's weight, each term once, the earliest of equals.

    `within` limits the search to a passage (characters start, end) found by other means; without any match
    there, its beginning is shown.
    """
    start, end = within or (0, len(text))
    body = min(_front_matter_end(text), end) if start == 0 else start
    # Front matter is shown only where nothing else matches.
    for low, high in ((body, end), (start, body)):
        best = _best_of_windows(text, marker, (low, high), width)
        if best is not None:
            return _around(text, *best, width, floor=body if low == body else 0)
    first = _opening(text, body, end) if start else _skip_blank(text, body, end)
    return _numbered(text, first, _line_end(text, first, min(first + width, end)), first)


def window(text: str, marker: Highlighter, span: tuple[int, int], width: int) -> tuple[int, int]:
    """The `width` characters of a span with most of the query's weight; its beginning without a match."""
    start, end = span
    if end - start <= width:
        return span
    found = marker.find(text[start:end])
    if not found:
        return start, _word_end(text, start + width, start)
    _, (low, high, _) = _best(found, width)
    begin = max(start, min(start + low - (width - (high - low)) // 2, end - width))
    return _word_start(text, begin, start + low) if begin > start else start, min(end, begin + width)


def _best_of_windows(
    text: str, marker: Highlighter, span: tuple[int, int], width: int
) -> tuple[int, int, int] | None:
    """(start, end, first match) of the best place in a span; None without a match in what is searched."""
    most = searched = 0.0
    best: tuple[int, int, int] | None = None
    for low, high in _windows(text, marker, span, width):
        found = marker.find(text[low:high])
        if found:
            weight, (start, end, first) = _best(found, width)
            place = (low + start, low + end, low + first)
            if best is None or weight > most + 1e-9 or (weight > most - 1e-9 and place < best):
                most, best = weight, place
        searched += high - low
        if searched >= (_SEARCHED if best else _SEARCHED_IN_VAIN):
            break
    return best


def _windows(text: str, marker: Highlighter, span: tuple[int, int], width: int) -> Iterator[tuple[int, int]]:
    """The parts of a span to search for a snippet, those that seem to have most of the query first."""
    low, high = span
    if high - low <= _WHOLE or marker.is_cheap(text[low:high]):
        yield span
        return
    windows: list[tuple[float, int, int]] = []
    work = folded = 0
    for at in range(low, high, _WINDOW):
        start = at if at == low else _after_word(text, at)
        end = min(high, _after_word(text, at + _WINDOW + width))
        window = text[start:end]
        other = marker.has_letters and not window.isascii()
        work += _OTHER_LETTERS if other else 1
        folded += other
        promise = marker.promise(window, accents=folded > _WITHOUT_ACCENTS)
        windows.append((-promise, start, end))
        if work >= _SURVEYED:
            break
    for _, start, end in sorted(windows):
        yield start, end


def _after_word(text: str, position: int) -> int:
    """A place near a position that cuts no word."""
    space = _SPACE.search(text, position, position + _WORD)
    return space.end() if space else position


def _best(found: Sequence[Match], width: int) -> tuple[float, tuple[int, int, int]]:
    """(weight, (start, end, first match)) of the place with the most weight, no wider than `width`."""
    best_weight, best = -1.0, (0, 0)
    counts: dict[str, int] = {}
    weight = 0.0
    left = 0
    for right, (_, end, token, value) in enumerate(found):
        counts[token] = counts.get(token, 0) + 1
        # A repeated term tells a little more, never as much as another one.
        weight += value if counts[token] == 1 else 0.01 * value
        while end - found[left][0] > width and left < right:
            gone, gone_value = found[left][2], found[left][3]
            counts[gone] -= 1
            weight -= gone_value if counts[gone] == 0 else 0.01 * gone_value
            left += 1
        if weight > best_weight + 1e-9:
            best_weight, best = weight, (left, right)
    left, right = best
    start = found[left][0]
    # A match itself may be wider: a word of thousands of characters.
    return best_weight, (start, min(found[right][1], start + width), start)


def _around(text: str, low: int, high: int, first: int, width: int, floor: int) -> Snippet:
    """Widen a window to `width` and to whole lines or words, down to `floor`, and number it."""
    spare = max(0, width - (high - low))
    line_start = max(floor, text.rfind("\n", 0, low) + 1)
    if low - line_start <= max(spare, width // 3):
        begin = line_start
        if begin > floor and spare - (low - begin) > width // 3:
            # Room for the line before, where a heading often stands, blank lines between.
            above = max(floor, text.rfind("\n", 0, len(text[:begin].rstrip("\n"))) + 1)
            if begin - above <= width // 3:
                begin = above
    else:
        begin = _word_start(text, max(floor, low - spare // 3), low)
    return _numbered(text, begin, _line_end(text, high, max(high, begin + width)), first)


def _line_end(text: str, least: int, most: int) -> int:
    """The last end of a line up to `most`, at least `least`; of a word, where the line is longer."""
    if most >= len(text):
        return len(text)
    if text[most] == "\n":
        return most
    cut = text.rfind("\n", least, most)
    return cut if cut >= 0 else _word_end(text, most, least)


def _numbered(text: str, begin: int, end: int, first: int) -> Snippet:
    passage = text[begin:end]
    stripped = passage.lstrip("\n")
    begin += len(passage) - len(stripped)
    return Snippet(
        stripped.rstrip(),
        first_line=text.count("\n", 0, begin) + 1,
        line=text.count("\n", 0, max(first, begin)) + 1,
    )


def _opening(text: str, start: int, end: int) -> int:
    """Where a passage without a match is best read from: a heading near its beginning, else its first words.

    A chunk begins with the end of the one before it; its own subject often begins with a heading after that.
    """
    heading = text.find("\n#", start, start + (end - start) * 2 // 5)
    return heading + 1 if heading >= 0 else _skip_blank(text, start, end)


def _front_matter_end(text: str) -> int:
    if not text.startswith("---"):
        return 0
    from qmd.text.markdown import front_matter_end

    return front_matter_end(text)


def _skip_blank(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start if start < end else min(start, max(0, end - 1))


def _word_start(text: str, position: int, limit: int) -> int:
    """The first place from `position` that does not cut a word, at most `limit`."""
    space = text.find(" ", position, limit)
    return space + 1 if 0 <= space - position < 30 else position


def _word_end(text: str, position: int, least: int) -> int:
    """The last place up to `position` that does not cut a word, at least `least`."""
    space = text.rfind(" ", max(least, position - 30), position)
    return space if space >= least else position


def numbered(text: str, first_line: int) -> str:
    """Each line as `N: content`, counted from `first_line`."""
    return "\n".join(f"{number}: {line}" for number, line in enumerate(text.split("\n"), first_line))
