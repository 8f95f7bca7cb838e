"""Divide a document into the paragraphs that a pack gives whole."""

from __future__ import annotations

from qmd.text.blocks import fences, front_matter_end
from qmd.text.passages import divide

#: A code fence up to this many characters is one paragraph.
_FENCE = 1_600
#: Paragraphs are looked for in this many characters of a document, which takes about a second.
_MOST = 8_000_000


def paragraphs(text: str) -> list[tuple[int, int]]:
    """Return the [start, end) spans of the paragraphs of a text, in order, without the space between them.

    They depend on the text alone and not on a query, so the same paragraph is recognized in another pack.
    Long paragraphs are divided at the ends of lines or sentences; code in a fence is not.
    """
    text = text[:_MOST]
    body = front_matter_end(text)
    spans = [(0, len(text[:body].rstrip()))] if body else []
    kept = [fence for fence in fences(text, body) if fence[1] - fence[0] <= _FENCE]
    at = 0
    for start, end in divide(text, body, len(text)):
        while at < len(kept) and kept[at][1] <= start:
            at += 1
        inside = at < len(kept) and kept[at][0] < start < kept[at][1]
        if inside and spans and spans[-1][1] > body:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return [(start, start + len(text[start:end].rstrip())) for start, end in spans]
