"""The places at which a text can be cut: after lines and sentences, but not in fences and rows of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qmd.text.regex import lazy

#: The end of a sentence, with the quotation marks and brackets that belong to it.
_SENTENCE = lazy(
    r"(?:(?<![\d.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|(?<![。！？｡])[。！？｡]++[」』”’）】]*+(?![\u0300-\u036f\ufe00-\ufe0f\u200d]))"
)


def cuts(text: str, fences: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield the lengths to which a text can be shortened, ascending. No heading is the last line.

    Args:
        text: Some lines of a document.
        fences: The spans of code in it, in order, inside which it is not cut.
    """
    start = fence = 0
    for line in text.split("\n"):
        end = start + len(line)
        while fence < len(fences) and fences[fence][1] <= start:
            fence += 1
        low, high = fences[fence] if fence < len(fences) else (len(text) + 1, len(text) + 1)
        if end <= low and "|" not in line:  # a row of a table has it
            yield from (start + match.end() for match in _SENTENCE.finditer(line) if match.end() < len(line))
        ends_inside = low < end < high - 1  # the last line feed is part of a fence
        if not ends_inside and line.strip() and not line.startswith("#") and end < len(text):
            yield end
        start = end + 1


def line_ends(text: str) -> Iterator[int]:
    """Yield the lengths of a text up to the end of each line but the last."""
    end = text.find("\n")
    while end >= 0:
        yield end
        end = text.find("\n", end + 1)
