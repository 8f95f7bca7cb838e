"""Where a text can be cut: after lines and sentences, but not inside of code fences and rows of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from qmd.text.regex import lazy

#: The marks of a fence, also in lists and quotations.
_FENCE = lazy(r"[ \t>]*+(?P<marks>`{3,}+(?=[^`]*+\Z)|~{3,}+)(?P<rest>.*+)", re.DOTALL)
#: The end of a sentence, with the quotation marks and brackets that belong to it.
_SENTENCE = lazy(
    r"(?:(?<!\d)[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？｡]++[」』”’）】]*+(?![\u0300-\u036f\ufe00-\ufe0f\u200d]))"
)


def cuts(text: str) -> Iterator[int]:
    """Yield the lengths to which a text can be shortened, ascending, but no heading is the last line."""
    fence, start = "", 0
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            if match and match["marks"].startswith(fence) and not match["rest"].strip():
                fence = ""
        elif match:
            fence = match["marks"]
        elif "|" not in line:  # a row of a table has it
            yield from (start + end.end() for end in _SENTENCE.finditer(line) if end.end() < len(line))
        start += len(line)
        if not fence and line.strip() and not line.startswith("#") and start < len(text):
            yield start
        start += 1
