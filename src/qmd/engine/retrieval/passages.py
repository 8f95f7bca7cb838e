"""Choose the windows of a document that the reranker reads, and the passages that a hit shows."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from qmd.text.blocks import front_matter_end
from qmd.text.highlight import Highlighter
from qmd.text.outline import section_path
from qmd.text.passages import best_place, divide, find_windows
from qmd.text.snippet import opening, snippet
from qmd.types import Chunk, Ranked, Snippet, Window

#: The weight of a window's words, relative to the reranker's score of it (measured, see bench/README.md).
WORDS = 0.14
#: The weight of lying in the best chunk by vector, relative to the words, for windows without that score.
NEAREST = 0.3


def windows_by_words(text: str, highlighter: Highlighter) -> list[Window]:
    """Return the windows that contain terms of the query, best first.

    Front matter is searched only if the body has no term, or nothing that the user has quoted.
    """
    body = front_matter_end(text)
    found = find_windows(text, highlighter, (body, len(text)))
    if not body or (found and (not highlighter.quoted or found[0].quoted)):
        return found
    front = find_windows(text, highlighter, (0, body))
    return [window for window in front if window.quoted or not found] + found


def windows_of_chunk(text: str, chunk: Chunk | None) -> list[Window]:
    """Return the windows of a chunk, in order; those of the whole text if there is no chunk."""
    return [Window(*span) for span in divide(text, *_span(text, chunk))]


def choose_passages(
    text: str,
    highlighter: Highlighter,
    ranked: Ranked,
    count: int = 1,
    *,
    context_lines: int | None = None,
) -> tuple[Snippet, ...]:
    """Return the best passages of a document for a query, the best first.

    If no term of the query occurs and no reranker has read the document, it is the beginning of the chunk.

    Args:
        text: The text of the document.
        highlighter: Finds the terms of the query.
        ranked: The document, with its best chunk and the windows that the reranker has read.
        count: The highest number of passages; no two share a line.
        context_lines: Lines to show before and after the line of a passage; None for about 300 characters.
    """
    chosen: list[tuple[Window, Snippet]] = []
    for window in _best_first(text, highlighter, ranked, count):
        shown = snippet(text, window, best_place(text, window, highlighter), lines=context_lines)
        if not any(_overlap(shown, other) for _, other in chosen):
            chosen.append((window, shown))
        if len(chosen) == max(1, count):
            break
    if not chosen:
        span = _span(text, ranked.chunk)
        chosen = [(Window(*span), opening(text, *span, lines=context_lines))]
    return tuple(
        replace(shown, section=section_path(text, shown.line), score=round(window.score or 0.0, 4))
        for window, shown in chosen
    )


def _overlap(one: Snippet, other: Snippet) -> bool:
    """Return whether two passages share a line."""
    first, second = sorted((one, other), key=lambda shown: shown.first_line)
    return second.first_line <= first.first_line + first.text.count("\n")


def _best_first(text: str, highlighter: Highlighter, ranked: Ranked, count: int) -> Iterator[Window]:
    """Yield the windows that may answer the query, with their scores of 0..1, the best first.

    Those with most of what the user has quoted come first, then those that the reranker has read. The others
    are only looked for if more are needed.
    """
    by_words = windows_by_words(text, highlighter) if count > 1 or not ranked.windows else []
    read = {(window.start, window.end) for window in ranked.windows}
    start, end = _span(text, ranked.chunk) if ranked.chunk else (0, 0)
    scored = [
        (((window.score or 0.0) + WORDS * window.share) / (1 + WORDS), window) for window in ranked.windows
    ]
    ceiling = min((score for score, _ in scored), default=1.0)
    for window in by_words:
        if (window.start, window.end) not in read:
            nearest = NEAREST * (window.start < end and start < window.end)
            scored.append((ceiling * (window.share + nearest) / (1 + NEAREST), window))
    scored.sort(key=lambda entry: (-entry[1].quoted, -entry[0], entry[1].start))
    ceiling = 1.0
    for score, window in scored:
        ceiling = min(ceiling, score)
        yield replace(window, score=ceiling)


def _span(text: str, chunk: Chunk | None) -> tuple[int, int]:
    """Return the part of a text that a chunk covers, without front matter unless there is nothing else."""
    start, end = (min(chunk.start, len(text)), min(chunk.end, len(text))) if chunk else (0, len(text))
    body = front_matter_end(text)
    return (max(start, body), end) if end > body else (start, end)
