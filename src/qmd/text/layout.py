"""The layout of a text: its windows, which do not depend on a query.

Stores keep them in the structure beside a text, so that searches do not divide it again. With the places of
terms, which a full-text index has, they say which windows contain them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from msgspec import MsgspecError
from msgspec.msgpack import Decoder, encode
from msgspec.structs import replace

from qmd.text.data_uris import without_data
from qmd.text.headings import numbered
from qmd.text.regex import lazy
from qmd.text.seen import edited
from qmd.text.spans import blanked
from qmd.types.structure import Structure, packed

#: Characters of a window in scripts with spaces and without, about 55 tokens of the default tokenizer each.
SPACED, _UNSPACED = 220, 90
_SENTENCE_END = lazy(r"""[.!?…。！？｡；](?:(?<=[。！？｡；])|["')\]]*\s)""")
#: From the first script without spaces on; the same as a range takes a millisecond to compile.
_WIDE = lazy("[^\x00-\u0e00]+")
#: The places of terms among those of a text, by term.
Places: TypeAlias = Mapping[str, Sequence[int]]


def divide(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Divide a part of a text into windows; white space at their beginning belongs to none."""
    sample = text[start : min(end, start + 400)]
    foreign = 0 if sample.isascii() else len(sample) - len(_WIDE.sub("", sample))
    unspaced = foreign / max(1, len(sample))
    width = round(1 / (unspaced / _UNSPACED + (1 - unspaced) / SPACED))
    while True:
        while start < end and text[start].isspace():
            start += 1
        if end - start <= width * 1.3:
            break
        following = cut(text, start, width)
        yield start, following
        start = following
    if start < end:
        yield start, end


def cut(text: str, start: int, width: int) -> int:
    """Return the best position to end a window, or a block of windows, of about `width` characters."""
    most = start + width * 23 // 20
    for separator, least in (("\n#", 4), ("\n\n", 2), ("\n", 2)):
        at = text.rfind(separator, start + width // least, most)
        if at >= 0:
            return at
    ends = [
        match.end() for match in _SENTENCE_END.finditer(text, max(start + width // 2, most - SPACED), most)
    ]
    if ends:
        return ends[-1]
    space = text.rfind(" ", start + width // 2, most)
    return space if space >= 0 else start + width


class Placed(NamedTuple):
    """The structure of a text, and the places of some terms in it if they are known."""

    structure: Structure
    places: Places | None = None


def lay_out(text: str, structure: Structure) -> Structure:
    """Return the structure of a text with its windows and the numbers of its sections."""
    plain = blanked(text, structure.unread_spans())
    body = structure.body
    windows = divide(plain, body if body < len(text) else 0, len(text))
    return replace(
        structure,
        headings=numbered(text, structure),
        windows=packed(edge for window in windows for edge in window),
    )


@lru_cache(maxsize=8)
def lay_out_markdown(text: str) -> Structure:
    """Return the structure of a Markdown text that no store has kept, with its windows."""
    return lay_out(text, of_markdown(text))


def indexed_with_structure(
    names: str, text: str, path: str, structure: Structure
) -> tuple[tuple[str, str, str], bytes]:
    """Return the terms of a document, as `indexed` does, and the structure of its text as a store keeps it.

    It then has windows, the numbers of their first terms, and the numbers of headings.
    """
    forms, counted = _counted(names, text, path, lay_out(text, structure))
    return forms, encode(counted)


def _counted(names: str, text: str, path: str, laid_out: Structure) -> tuple[tuple[str, str, str], Structure]:
    from qmd.text.tokens import indexed_in_parts  # reading a document starts without it

    edges = [0, *(start for start, _ in laid_out.window_spans()), len(text)]
    seen, rest = edited(without_data(text), laid_out.all_edits())
    forms, counts = indexed_in_parts(names, seen, rest, path, edges)
    return forms, replace(laid_out, terms=tuple(counts))


@lru_cache(maxsize=64)
def placed_in(text: str, structure: Structure, terms: tuple[str, ...]) -> Placed:
    """Return the structure of a text and the places of terms in it, as a full-text index has them.

    A term that ends with `*` is the beginning of others.
    """
    laid_out = structure if structure.windows else lay_out(text, structure)
    (_, body, _), counted = _counted("", text, "", laid_out)
    places: dict[str, list[int]] = {term: [] for term in terms}
    beginnings = tuple(term[:-1] for term in terms if term.endswith("*"))
    for at, term in enumerate(body.split()):
        if term in places:
            places[term].append(at)
        if beginnings and term.startswith(beginnings):
            for beginning in filter(term.startswith, beginnings):
                places[f"{beginning}*"].append(at)
    return Placed(counted, places)


def indexed(names: str, text: str, path: str, structure: Structure) -> tuple[str, str, str]:
    """Return the terms of the names, the text and the path of a document; see `tokens.indexed_in_parts`."""
    from qmd.text.tokens import indexed_in_parts

    seen, rest = edited(without_data(text), structure.all_edits())
    return indexed_in_parts(names, seen, rest, path, (0, len(text)))[0]


#: The structure that `indexed_with_structure` has packed.
unpack = Decoder(Structure).decode


def known(packed: bytes | None, text: str) -> Structure:
    """Return the structure of a text as a store keeps it, or else what Markdown says of the text."""
    with suppress(MsgspecError):
        if packed and (structure := unpack(packed)).fits(text):
            return structure
    return of_markdown(text)


def of_markdown(text: str) -> Structure:
    """Return the structure of a Markdown text that no store has kept."""
    from qmd.text.markdown.reading import read  # searches of texts with structures start without it

    return read(text).structure
