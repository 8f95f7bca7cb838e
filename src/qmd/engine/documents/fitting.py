"""Answers that stay within a number of tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, dropwhile, islice, takewhile
from typing import Generic, TypeVar

from msgspec import Struct, json
from msgspec.structs import replace

from qmd.engine.documents.pages import Page, Pages, Skipped
from qmd.errors import TokensError
from qmd.text import budget
from qmd.text.budget import cuts, line_ends
from qmd.text.data_uris import with_names
from qmd.text.wording import plural, visible
from qmd.types import Hit, SearchResponse, Snippet

T = TypeVar("T")
A = TypeVar("A")

#: No token of the bound has as many characters, so that longer texts need not be counted.
_LONG_TOKEN = 20
_BYTES_OF_A_CHARACTER = 4


class Limit(Struct, frozen=True):
    """The most tokens of an answer, or None, and the option that says so, as the user writes it.

    `texts` is false if the answer has only names, so that there is nothing to cut.
    """

    tokens: int | None
    option: str
    texts: bool = True


class Kind(Struct, Generic[T], frozen=True):
    """The names and cuts of the items of an answer.

    Attributes:
        noun: The word for an item.
        cuts: Yields the numbers of characters to which the text of an item can be cut, ascending: the best
            places, then others, which are taken if the answer cannot go on otherwise.
        cut: Returns an item with so many characters of its text.
        rest: Names the rest after so many characters: `more of notes/a.md from line 12`.
        least: How many items an answer must have, if only their beginnings.
    """

    noun: str
    cuts: Callable[[T], Iterator[Iterator[int]]]
    cut: Callable[[T, int], T]
    rest: Callable[[T, int], str]
    least: int = 0


def fit(
    kind: Kind[T],
    items: Sequence[T],
    limit: Limit,
    make: Callable[[Sequence[T], str], A],
    text: Callable[[A], str],
    *,
    beyond: int = 0,
) -> A:
    """Return an answer that stays within a limit: the last items are left out, and the last one kept is cut.

    Args:
        kind: How items are named and cut.
        items: The items of the whole answer, in order.
        limit: The limit.
        make: Makes an answer of items and a note of the omissions, "" if there are none.
        text: Returns the text of an answer as it is printed.
        beyond: How many items are left out in any case.

    Raises:
        TokensError: If the answer is too long even without its items.
    """
    tokens = limit.tokens
    if tokens is None:
        return make(items, "")
    total = len(items) + beyond

    def with_whole(number: int) -> A:
        return make(items[:number], _note(kind, total - number, "", limit))

    def with_cut(number: int, length: int) -> A:
        last = items[number]
        note = _note(kind, total - number - 1, kind.rest(last, length), limit)
        return make([*items[:number], kind.cut(last, length)], note)

    def is_over(answer: A) -> bool:
        printed = text(answer)
        return len(printed) > tokens * _LONG_TOKEN or budget.count(printed) > tokens

    if not is_over(whole_answer := with_whole(len(items))):
        return whole_answer
    # `bisect` returns the first that is over. The one before it was tried, unless there is none.
    whole = bisect_left(range(1, len(items)), True, key=lambda number: is_over(with_whole(number)))
    if items and limit.texts:
        room = tokens * _LONG_TOKEN
        for places in kind.cuts(items[whole]):
            lengths = [*takewhile(lambda length: length <= room, places)]
            tried = bisect_left(lengths, True, key=lambda length: is_over(with_cut(whole, length)))
            if tried:
                return with_cut(whole, lengths[tried - 1])
    if whole >= kind.least and not is_over(with_whole(whole)):
        return with_whole(whole)
    least = budget.count(text(with_cut(0, _shortest(kind, items[0])) if kind.least else with_whole(0)))
    raise TokensError(
        f"{limit.option} {tokens} is too little for this answer", f"raise it to {least}", least=least
    )


def _shortest(kind: Kind[T], item: T) -> int:
    """Return the least number of characters to which an item can be cut, 0 if that is none."""
    return min((length for places in kind.cuts(item) for length in islice(places, 1)), default=0)


def _note(kind: Kind[T], left: int, rest: str, limit: Limit) -> str:
    parts = [plural(left, f"more {kind.noun}")] if left else []
    parts += [rest] if rest else []
    return f"{', and '.join(parts)}: raise {limit.option}" if parts else ""


def _hit_cuts(hit: Hit) -> Iterator[Iterator[int]]:
    if hit.body is not None:
        yield chain((0,), cuts(hit.body, hit.fences))
    else:
        shown, verbatim = list[str](), list[tuple[int, int]]()
        at = 0
        for passage in _passages(hit):
            verbatim += [(at + low, at + high) for low, high in passage.fences]
            shown.append(passage.text)
            at += len(passage.text) + 1
        yield chain((0,), cuts("\n".join(shown), verbatim))


def _passages(hit: Hit) -> tuple[Snippet, ...]:
    return hit.passages or (hit.snippet,)


def _cut_hit(hit: Hit, length: int) -> Hit:
    if hit.body is not None:
        return replace(hit, body=hit.body[:length])
    kept: list[Snippet] = []
    for passage in _passages(hit):
        if kept and length <= 0:
            break
        kept.append(replace(passage, text=passage.text[: max(0, length)]))
        length -= len(passage.text) + 1
    best = next((each for each in kept if each.first_line == hit.snippet.first_line), None)
    snippet = best or replace(hit.snippet, text="")
    return replace(hit, snippet=snippet, passages=tuple(kept))


def _hit_rest(hit: Hit, length: int) -> str:
    if hit.body is not None:
        return _from_line(hit.file, 1, hit.body, length)
    for passage in _passages(hit):
        if length <= len(passage.text):
            return _from_line(hit.file, passage.first_line, passage.text, length)
        length -= len(passage.text) + 1
    return f"more of {visible(hit.file)}"


def _from_line(file: str, first: int, text: str, length: int) -> str:
    """Say from which line on a text of a file goes on after so many characters."""
    line = first + text.count("\n", 0, length) + text.startswith("\n", length)
    return f"more of {visible(file)} from line {line}"


def _page_cuts(item: Page | Skipped) -> Iterator[Iterator[int]]:
    if isinstance(item, Page):
        yield chain((0,), cuts(item.text, item.fences))


def _single_page_cuts(item: Page | Skipped) -> Iterator[Iterator[int]]:
    """Yield the cuts of the only page of an answer, so that reading on by lines gets to the end."""
    assert isinstance(item, Page)
    line = item.text.find("\n")
    yield dropwhile(lambda length: length < line, cuts(item.text, item.fences)) if line >= 0 else iter(())
    yield line_ends(item.text)
    yield cuts(item.text[:line] if line >= 0 else item.text, ())


def _cut_page(item: Page | Skipped, length: int) -> Page | Skipped:
    if isinstance(item, Skipped):
        return item
    shown = item.text.count("\n", 0, length) + bool(length)
    return replace(item, text=item.text[:length], more=item.total_lines - item.first_line + 1 - shown)


def _page_rest(item: Page | Skipped, length: int) -> str:
    if isinstance(item, Skipped):
        return f"more of {visible(item.document.file)}"
    file, line = item.document.file, item.text.find("\n")
    if length and (length < line or line < 0):
        return f"more of line {item.first_line} of {visible(file)}"
    return _from_line(file, item.first_line, item.text, length)


HITS = Kind("hit", _hit_cuts, _cut_hit, _hit_rest)
PAGES = Kind("document", _page_cuts, _cut_page, _page_rest)
_PAGE = replace(PAGES, cuts=_single_page_cuts, least=1)


def fit_response(
    response: SearchResponse,
    limit: Limit,
    make: Callable[[SearchResponse], A],
    text: Callable[[A], str],
) -> A:
    """Return the answer that `make` makes of a response, within a limit; see `fit`."""

    if limit.tokens is not None:
        named = (
            replace(hit, body=None if hit.body is None else with_names(hit.body)) for hit in response.hits
        )
        response = replace(response, hits=tuple(named))

    def shortened(hits: Sequence[Hit], note: str) -> A:
        left_out = len(response.hits) - len(hits)
        return make(replace(response, hits=tuple(hits), note=note, left_out=left_out) if note else response)

    return fit(HITS, response.hits, limit, shortened, text)


def fit_pages(
    pages: Pages,
    limit: Limit,
    make: Callable[[Pages], A],
    text: Callable[[A], str],
) -> A:
    """Return the answer that `make` makes of pages, within a limit; see `fit`."""

    def shortened(items: Sequence[Page | Skipped], note: str) -> A:
        left_out = (item.document for item in pages.items[len(items) :])
        return make(
            replace(pages, items=tuple(items), left_out=(*left_out, *pages.left_out), note=note)
            if note
            else pages
        )

    if limit.tokens is not None:
        pages = replace(pages, items=tuple(map(_with_names, pages.items)))
    return fit(PAGES, pages.items, limit, shortened, text, beyond=len(pages.left_out))


def most_bytes(tokens: int | None) -> int | None:
    """Return a number of bytes that certainly has more than `tokens` tokens; None if there is no limit."""
    return None if tokens is None else tokens * _LONG_TOKEN * _BYTES_OF_A_CHARACTER


def fit_page(page: Page, limit: Limit, make: Callable[[Page], A], text: Callable[[A], str]) -> A:
    """Return the answer that `make` makes of a page, within a limit; see `fit`."""

    def shortened(items: Sequence[Page | Skipped], note: str) -> A:
        (item,) = items
        assert isinstance(item, Page)
        return make(replace(item, note=note))

    return fit(_PAGE, [page if limit.tokens is None else _with_names(page)], limit, shortened, text)


def _with_names(item: Page | Skipped) -> Page | Skipped:
    """Return a page in which data are named by their size."""
    return replace(item, text=with_names(item.text)) if isinstance(item, Page) else item


def as_json(items: Sequence[Hit | Page | Skipped], note: str) -> str:
    """Return as JSON the shown part of items: all but their ranking and the parts of their paths."""
    return json.encode(([*map(_shown, items)], note)).decode()


def _shown(item: Hit | Page | Skipped) -> tuple[object, ...]:
    match item:
        case Hit():
            passages = [(each.line, each.section, each.text) for each in _passages(item)]
            names = (item.docid, item.file, item.title, item.score, item.context, item.date)
            return (*names, item.notes, passages, item.body)
        case Page():
            document = item.document
            described = document.docid, document.file, document.title, item.notes
            return (*described, item.context, item.first_line, item.text)
    return item.document.file, item.bytes
