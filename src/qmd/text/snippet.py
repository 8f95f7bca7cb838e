"""Choose the passage of a document to show for a query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from qmd.text.highlight import Highlighter, Match
from qmd.types import Snippet

#: The default length of a snippet, in characters.
WIDTH = 300
#: Texts longer than `_WHOLE` with many matches are searched in windows of `_WINDOW` characters, best first.
_WHOLE, _WINDOW = 16_384, 2_048
#: The search stops after this many characters, with and without a match. Dense text takes 1 µs per character.
_SEARCHED, _SEARCHED_IN_VAIN = 8_192, 65_536
#: The total cost of estimates: 1 for an ASCII window, `_NON_ASCII_COST` for others.
_MAX_COST, _NON_ASCII_COST = 2_048, 6
#: The estimates of this many non-ASCII windows ignore accents.
_WITHOUT_ACCENTS = 32
#: How far to move the edge of a window so that it does not cut a word.
_WORD = 64
_SPACE = re.compile(r"\s")


def snippet(
    text: str, highlighter: Highlighter, *, within: tuple[int, int] | None = None, width: int = WIDTH
) -> Snippet:
    """Return the passage with the most weight of the query. If several are equal, return the first.

    `within` is the [start, end) span to search, such as a chunk; by default the whole text. If nothing
    matches, return the beginning of the span. `width` is the approximate length of the passage, in
    characters.
    """
    start, end = within or (0, len(text))
    body = start
    if start == 0 and text.startswith("---"):
        # Imported on use, because few texts have front matter.
        from qmd.text.blocks import front_matter_end

        body = min(front_matter_end(text), end)
    # Show front matter only if nothing else matches.
    for low, high in ((body, end), (start, body)):
        best = _best_of_windows(text, highlighter, (low, high), width)
        if best is not None:
            return _around(text, *best, width, floor=body if low == body else 0)
    first = _opening(text, body, end) if start else _skip_blank(text, body, end)
    return _numbered(text, first, _line_end(text, first, min(first + width, end)), first)


def window(text: str, highlighter: Highlighter, span: tuple[int, int], width: int) -> tuple[int, int]:
    """Return the part of `span` with the most weight of the query, or its beginning if nothing matches.

    Both are [start, end) spans of the text. `width` is the maximum length of the part, in characters.
    """
    start, end = span
    if end - start <= width:
        return span
    matches = highlighter.find(text[start:end])
    if not matches:
        return start, _word_end(text, start + width, start)
    _, (low, high, _) = _best(matches, width)
    begin = max(start, min(start + low - (width - (high - low)) // 2, end - width))
    return _word_start(text, begin, start + low) if begin > start else start, min(end, begin + width)


def _best_of_windows(
    text: str, highlighter: Highlighter, span: tuple[int, int], width: int
) -> tuple[int, int, int] | None:
    """Return (start, end, first match) of the best place in a span; None if no match was found."""
    best_weight = searched = 0.0
    best: tuple[int, int, int] | None = None
    for low, high in _windows(text, highlighter, span, width):
        matches = highlighter.find(text[low:high])
        if matches:
            weight, (start, end, first) = _best(matches, width)
            place = (low + start, low + end, low + first)
            better = weight > best_weight + 1e-9
            if best is None or better or (weight > best_weight - 1e-9 and place < best):
                best_weight, best = weight, place
        searched += high - low
        if searched >= (_SEARCHED if best else _SEARCHED_IN_VAIN):
            break
    return best


def _windows(
    text: str, highlighter: Highlighter, span: tuple[int, int], width: int
) -> Iterator[tuple[int, int]]:
    """Yield the windows of a span, sorted by the estimated weight of the query in them."""
    low, high = span
    if high - low <= _WHOLE or highlighter.is_cheap(text[low:high]):
        yield span
        return
    windows: list[tuple[float, int, int]] = []
    cost = folded = 0
    for at in range(low, high, _WINDOW):
        start = at if at == low else _after_word(text, at)
        end = min(high, _after_word(text, at + _WINDOW + width))
        window = text[start:end]
        non_ascii = highlighter.has_letters and not window.isascii()
        cost += _NON_ASCII_COST if non_ascii else 1
        folded += non_ascii
        estimate = highlighter.estimate(window, accents=folded > _WITHOUT_ACCENTS)
        windows.append((-estimate, start, end))
        if cost >= _MAX_COST:
            break
    for _, start, end in sorted(windows):
        yield start, end


def _after_word(text: str, position: int) -> int:
    """Return the next position that does not cut a word, if one is near."""
    space = _SPACE.search(text, position, position + _WORD)
    return space.end() if space else position


def _best(matches: Sequence[Match], width: int) -> tuple[float, tuple[int, int, int]]:
    """Return (weight, (start, end, first match)) of the heaviest place of at most `width` characters."""
    best_weight, best = -1.0, (0, 0)
    counts: dict[str, int] = {}
    weight = 0.0
    left = 0
    for right, (_, end, token, value) in enumerate(matches):
        counts[token] = counts.get(token, 0) + 1
        # A repeated term adds a little weight, always less than a different term.
        weight += value if counts[token] == 1 else 0.01 * value
        while end - matches[left][0] > width and left < right:
            dropped, dropped_value = matches[left][2], matches[left][3]
            counts[dropped] -= 1
            weight -= dropped_value if counts[dropped] == 0 else 0.01 * dropped_value
            left += 1
        if weight > best_weight + 1e-9:
            best_weight, best = weight, (left, right)
    left, right = best
    start = matches[left][0]
    # A single match may be longer than `width`: a word of thousands of characters.
    return best_weight, (start, min(matches[right][1], start + width), start)


def _around(text: str, low: int, high: int, first: int, width: int, floor: int) -> Snippet:
    """Extend a place to `width` characters and to whole lines or words, but not before `floor`."""
    spare = max(0, width - (high - low))
    line_start = max(floor, text.rfind("\n", 0, low) + 1)
    if low - line_start <= max(spare, width // 3):
        begin = line_start
        if begin > floor and spare - (low - begin) > width // 3:
            # Include the line before, which is often a heading.
            above = max(floor, text.rfind("\n", 0, len(text[:begin].rstrip("\n"))) + 1)
            if begin - above <= width // 3:
                begin = above
    else:
        begin = _word_start(text, max(floor, low - spare // 3), low)
    return _numbered(text, begin, _line_end(text, high, max(high, begin + width)), first)


def _line_end(text: str, least: int, most: int) -> int:
    """Return the last line end between `least` and `most`, or the last word end if there is none."""
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
    """Return the start of a passage without matches: a heading near its beginning, or its first word.

    A chunk starts with the end of the previous chunk, so its own subject often starts at the first heading.
    """
    heading = text.find("\n#", start, start + (end - start) * 2 // 5)
    return heading + 1 if heading >= 0 else _skip_blank(text, start, end)


def _skip_blank(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start if start < end else min(start, max(0, end - 1))


def _word_start(text: str, position: int, limit: int) -> int:
    """Return the first position from `position` to `limit` that does not cut a word."""
    space = text.find(" ", position, limit)
    return space + 1 if 0 <= space - position < 30 else position


def _word_end(text: str, position: int, least: int) -> int:
    """Return the last position from `least` to `position` that does not cut a word."""
    space = text.rfind(" ", max(least, position - 30), position)
    return space if space >= least else position


def numbered(text: str, first_line: int) -> str:
    """Prefix every line with its number, as `N: content`."""
    return "\n".join(f"{number}: {line}" for number, line in enumerate(text.split("\n"), first_line))
