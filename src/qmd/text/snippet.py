"""The passage of a document that answers a query, and where the words are in it (E60)."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.text.highlight import Highlighter, Match
from qmd.types import Snippet

#: About this many characters are shown.
WIDTH = 300


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
        found = marker.find(text[low:high])
        if found:
            begin, stop, first = (low + offset for offset in _best(found, width))
            return _around(text, begin, stop, first, width, floor=body if low == body else 0)
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
