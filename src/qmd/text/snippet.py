"""The passage of a document that answers a query, and where the words are in it (E60)."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.text.marking import Marker, Match
from qmd.types import Snippet

#: About this many characters are shown.
WIDTH = 300


def snippet(
    text: str, marker: Marker, *, within: tuple[int, int] | None = None, width: int = WIDTH
) -> Snippet:
    """The best `width` characters: most of the query's weight, each term once, the earliest of equals.

    `within` limits the search to a passage (characters start, end) found by other means; without any match
    there, its beginning is shown.
    """
    start, end = within or (0, len(text))
    found = marker.find(text[start:end])
    if found:
        low, high, first = _best(found, width)
        low, high, first = low + start, high + start, first + start
    else:
        low = first = _opening(text, start, end)
        high = min(low + width, end)
    return _cut(text, low, high, first, width)


def window(text: str, marker: Marker, span: tuple[int, int], width: int) -> tuple[int, int]:
    """The `width` characters of a span with most of the query's weight; its beginning without a match."""
    start, end = span
    if end - start <= width:
        return span
    found = marker.find(text[start:end])
    if not found:
        return start, _word_end(text, start + width, start)
    low, high, _ = _best(found, width)
    begin = max(start, min(start + low - (width - (high - low)) // 2, end - width))
    return _word_start(text, begin, start + low) if begin > start else start, min(end, begin + width)


def _best(found: Sequence[Match], width: int) -> tuple[int, int, int]:
    """(start, end, first match) of the window with the most weight."""
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
    return found[left][0], found[right][1], found[left][0]


def _cut(text: str, low: int, high: int, first: int, width: int) -> Snippet:
    """Widen a window to `width` and to whole lines or words, and number it."""
    spare = max(0, width - (high - low))
    begin = max(0, low - spare // 3)
    line_start = text.rfind("\n", 0, low) + 1
    begin = line_start if low - line_start <= max(spare, width // 3) else _word_start(text, begin, low)
    if begin == line_start and spare - (low - begin) > width // 3:
        # Room for the line before, where a heading often stands.
        above = text.rfind("\n", 0, max(0, line_start - 1)) + 1
        if line_start - above <= width // 3:
            begin = above
    end = min(len(text), max(high, begin + width))
    line_end = text.find("\n", high)
    line_end = len(text) if line_end < 0 else line_end
    if line_end <= end:
        cut = text.rfind("\n", high, end)
        end = end if end == len(text) else max(cut, line_end)
    else:
        end = _word_end(text, end, high)
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
    if start == 0:
        from qmd.text.markdown import front_matter_end

        return _skip_blank(text, min(front_matter_end(text), max(0, end - 1)), end)
    heading = text.find("\n#", start, start + (end - start) * 2 // 5)
    return heading + 1 if heading >= 0 else _skip_blank(text, start, end)


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
