"""Where a text can be cut: after lines and sentences, but not inside of code fences and rows of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from qmd.text.regex import lazy

#: A line that begins or ends a fence, also in lists and quotations.
_FENCE = lazy(r"^[ \t>]*+(?P<marks>`{3,}+(?=[^`\n]*+$)|~{3,}+)(?P<rest>[^\n]*+)$", re.MULTILINE)
#: The end of a sentence, with the quotation marks and brackets that belong to it.
_SENTENCE = lazy(
    r"(?:(?<![\d.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|(?<![。！？｡])[。！？｡]++[」』”’）】]*+(?![\u0300-\u036f\ufe00-\ufe0f\u200d]))"
)


def cuts(text: str, fence: str | None = "") -> Iterator[int]:
    """Yield the lengths to which a text can be shortened, ascending. No heading is the last line.

    `fence` has the marks of the fence in which the text begins: "" if in none, None if that is not known.
    """
    if fence is None:
        found = [*_FENCE.finditer(text)]
        if len(found) % 2 and not found[0]["rest"].strip():  # it may be the end of a fence, or the beginning
            return
        fence = ""
    start = 0
    for line in text.split("\n"):
        match = _FENCE.match(line)
        outside = not fence and not match
        if match:
            fence = _after(fence, match)
        if outside and "|" not in line:  # a row of a table has it
            yield from (start + end.end() for end in _SENTENCE.finditer(line) if end.end() < len(line))
        start += len(line)
        if not fence and line.strip() and not line.startswith("#") and start < len(text):
            yield start
        start += 1


def fence_at(text: str, end: int) -> str:
    """Return the marks of the fence that is open at a position, the start of a line; "" if none is."""
    fence = ""
    for match in _FENCE.finditer(text, 0, end):
        fence = _after(fence, match)
    return fence


def _after(fence: str, match: re.Match[str]) -> str:
    """Return the marks of the fence that is open after a line of marks."""
    if not fence:
        return match["marks"]
    return "" if match["marks"].startswith(fence) and not match["rest"].strip() else fence
