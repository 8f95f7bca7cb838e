"""Choose the windows of a document that the reranker reads, and the passages that a hit shows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from qmd.text.highlight import Highlighter
from qmd.text.layout import Placed, divide, lay_out_markdown, placed_in
from qmd.text.outline import section_path
from qmd.text.passages import best_place, find_windows
from qmd.text.snippet import Cut, opening, snippet
from qmd.text.spans import blanked, inside
from qmd.types import Chunk, Ranked, Snippet, Window
from qmd.types.structure import Structure

#: The weight of a window's words, relative to the reranker's score of it. All these constants are measured,
#: see bench/README.md.
WORDS = 0.3
#: The weight of lying in the best chunk by vector, relative to the words, for windows without that score.
NEAREST = 0.3
#: How far before a window of at least `_REPEATED` characters one with the same text is looked for.
_LOOKBACK, _REPEATED = 1_000_000, 40
#: Texts up to this length are searched for terms whose places are not known, and for quotations, which may
#: stand in markup.
_SEARCHED, _QUOTED = 16_384, 131_072


def windows_by_words(text: str, highlighter: Highlighter, placed: Placed | None = None) -> list[Window]:
    """Return the windows that contain terms of the query, best first, without front matter and markup."""
    structure, places = _known(text, placed, highlighter)
    return find_windows(_plain(text, structure), highlighter, structure, places)


def windows_of_chunk(text: str, chunk: Chunk | None, placed: Placed | None = None) -> list[Window]:
    """Return the windows of a chunk, in order; those of the whole text if there is no chunk."""
    structure, _ = _known(text, placed)
    if chunk is None:
        return [Window(*span) for span in structure.window_spans()]
    return [Window(*span) for span in divide(_plain(text, structure), *_span(text, structure.body, chunk))]


def choose_passages(
    text: str,
    highlighter: Highlighter,
    ranked: Ranked,
    count: int = 1,
    *,
    context_lines: int | None = None,
    placed: Placed | None = None,
) -> tuple[Snippet, ...]:
    """Return the best passages of a document for a query, the best first.

    If no term of the query occurs and no reranker has read the document, it is the beginning of the chunk.

    Args:
        text: The text of the document.
        highlighter: Finds the terms of the query.
        ranked: The document, with its best chunk and the windows that the reranker has read.
        count: The highest number of passages; no two overlap.
        context_lines: Lines to show before and after the line of a passage; None for about 300 characters.
        placed: The structure of the text and the places of terms, as far as they are known.
    """
    structure, places = _known(text, placed, highlighter)
    plain = _plain(text, structure)
    by_words = find_windows(plain, highlighter, structure, places) if count > 1 or not ranked.windows else []
    best_first = _best_first(text, structure.body, by_words, ranked)
    chosen: list[tuple[Window, Cut]] = []
    # What the reranker likes is alike, so the last of several passages is chosen by words.
    for order, most in ((None, max(1, count - 1)), (_by_words, count), (None, count)):
        if len(chosen) >= most:
            continue
        for window in sorted(best_first, key=order) if order else best_first:
            if len(chosen) >= most:
                break
            first = _first_of_equals(text, window, structure)
            place = best_place(plain, first, highlighter, structure)
            cut = snippet(text, plain, structure.body, first, place, lines=context_lines)
            if not any(cut.start < other.end and other.start < cut.end for _, other in chosen):
                chosen.append((window, cut))
    if not chosen:
        span = _span(text, structure.body, ranked.chunk)
        chosen = [(Window(*span), opening(text, plain, *span, lines=context_lines))]
    return tuple(
        replace(
            cut.snippet,
            section=section_path(text, structure, cut.place),
            score=round(window.score or 0.0, 4),
            fences=inside(structure.verbatim_spans(), cut.start, cut.end),
        )
        for window, cut in chosen
    )


def _known(text: str, placed: Placed | None, highlighter: Highlighter | None = None) -> Placed:
    """Return what is known of a text, if it is of this text, or else what Markdown says of it."""
    known = placed if placed and placed.structure.fits(text) else Placed(lay_out_markdown(text))
    if highlighter is None:
        return known
    if highlighter.quoted and len(text) <= _QUOTED:
        return known._replace(places=None)
    if known.places is not None or len(text) <= _SEARCHED:
        return known
    return placed_in(text, known.structure, highlighter.placeable)


def _plain(text: str, structure: Structure) -> str:
    return blanked(text, structure.unread_spans())


def _first_of_equals(text: str, window: Window, structure: Structure) -> Window:
    """Return the first window with the same text under the same headings, as pages may be repeated."""
    length = len(text[window.start : window.end].rstrip())
    if length < _REPEATED:
        return window
    body = structure.body
    floor = max(body if window.start >= body else 0, window.start - _LOOKBACK)
    at = text.find(text[window.start : window.start + length], floor, window.start + length - 1)
    if at < 0 or section_path(text, structure, at) != section_path(text, structure, window.start):
        return window
    return replace(window, start=at, end=at + length)


def _best_first(text: str, body: int, by_words: Sequence[Window], ranked: Ranked) -> list[Window]:
    """Return the windows that may answer the query, with their scores of 0..1, the best first.

    Those with most of what the user has quoted come first, then those below the heading or number that was
    asked for, and then those that the reranker has read.
    """
    read = {(window.start, window.end) for window in ranked.windows}
    start, end = _span(text, body, ranked.chunk) if ranked.chunk else (0, 0)
    scored = [
        (((window.score or 0.0) + WORDS * _words(window)) / (1 + WORDS), window) for window in ranked.windows
    ]
    ceiling = min((score for score, _ in scored), default=1.0)
    for window in by_words:
        if (window.start, window.end) not in read:
            nearest = NEAREST * (window.start < end and start < window.end)
            scored.append((ceiling * (_words(window) + nearest) / (1 + NEAREST), window))
    scored.sort(
        key=lambda entry: (
            -entry[1].quoted,
            not entry[1].is_named,
            not entry[1].alone,
            -round(entry[0], 9),
            entry[1].start,
        )
    )
    ceiling = 1.0
    best_first: list[Window] = []
    for score, window in scored:
        ceiling = min(ceiling, score)
        best_first.append(replace(window, score=ceiling))
    return best_first


def _words(window: Window) -> float:
    """Return the mean part of the query in a window and around it, because its subject may be named there."""
    return (window.share + window.around) / 2 + window.heading


def _by_words(window: Window) -> tuple[float, ...]:
    return -window.quoted, -round(_words(window), 9), window.start


def _span(text: str, body: int, chunk: Chunk | None) -> tuple[int, int]:
    """Return the part of a text that a chunk covers, without front matter unless there is nothing else."""
    start, end = (min(chunk.start, len(text)), min(chunk.end, len(text))) if chunk else (0, len(text))
    return (max(start, body), end) if end > body else (start, end)
