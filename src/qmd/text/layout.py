"""The layout of a text: what of its windows does not depend on a query.

Stores keep it beside a long text, so that searches neither divide the text nor look for its markup and
headings again. With the places of terms, which a full-text index has, it says which windows contain them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.msgpack import Decoder, encode
from msgspec.structs import replace

from qmd.text.blocks import blocks, code_of, front_matter_end
from qmd.text.headings import Heading, headings
from qmd.text.markup import blanked, markup_spans
from qmd.text.outline import heading_text
from qmd.text.regex import lazy
from qmd.text.tokens import indexed_in_parts

#: Characters of a window in scripts with spaces and without, about 55 tokens of the default tokenizer each.
SPACED, _UNSPACED = 220, 90
_SENTENCE_END = lazy(r"""[.!?…]["')\]]*\s|[。！？｡；]""")
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


class Layout(Struct, frozen=True, array_like=True):
    """The windows, the markup and the headings of a text.

    Numbers are stored as differences from those before, which are small.

    Attributes:
        spans: The start and the end of each window, and of the next.
        terms: The number of terms in the text before each window, and at last of the whole; empty unless it
            is kept.
        markup: The start and the end of each part that is markup.
        sections: The headings, and the paragraphs that begin with a number.
    """

    spans: list[int]
    terms: list[int]
    markup: list[int]
    sections: list[Heading]

    def fits(self, text: str) -> bool:
        """Return whether this may be the layout of a text. In a damaged index it may be another's."""
        size = len(text)
        return (
            all(
                len(edges) % 2 == 0 and sum(edges) <= size and min(edges, default=0) >= 0
                for edges in (self.spans, self.markup)
            )
            and min(self.terms, default=0) >= 0
            and all(0 <= each.start <= each.low <= each.high <= size for each in self.sections)
        )

    def windows(self) -> list[tuple[int, int]]:
        """Return the [start, end) of each window, in order."""
        edges = [*accumulate(self.spans)]
        return [*zip(edges[::2], edges[1::2], strict=True)]

    def first_terms(self) -> list[int]:
        """Return the number of the first term of each window, and the number of all terms."""
        return [*accumulate(self.terms)]

    def section(self, text: str, place: int) -> str:
        """Return the headings above a place, from the highest level down: `Operations > Backups`."""
        line = text.rfind("\n", 0, place) + 1
        above: list[Heading] = []
        for heading in self.sections[: bisect_right(self.sections, line, key=_start_of)]:
            if not heading.is_line:
                above = [other for other in above if other.level < heading.level]
                above.append(heading)
        return " > ".join(heading_text(text[each.low : each.high]) for each in above)

    def only_text(self, text: str) -> str:
        """Return the text with blanks in place of its markup; see `markup.only_text`."""
        edges = [*accumulate(self.markup)]
        return blanked(text, zip(edges[::2], edges[1::2], strict=True))


class Placed(NamedTuple):
    """The layout of a text, and the places of some terms in it if they are known."""

    layout: Layout
    places: Places | None = None


@lru_cache(maxsize=8)
def lay_out(text: str) -> Layout:
    """Return the layout of a text, without the numbers of terms."""
    body = front_matter_end(text)
    found = [*blocks(text, body)]
    spans = markup_spans(text, code_of(found))
    windows = divide(blanked(text, spans), body if body < len(text) else 0, len(text))
    return Layout(
        _differences([edge for window in windows for edge in window]),
        [],
        _differences([edge for span in spans for edge in span]),
        headings(text, found),
    )


def indexed_with_layout(names: str, text: str, path: str) -> tuple[tuple[str, str, str], bytes]:
    """Return the terms of a document, as `indexed` does, and the layout of its text as a store keeps it."""
    layout = lay_out.__wrapped__(text)
    edges = [0, *(start for start, _ in layout.windows()), len(text)]
    forms, counts = indexed_in_parts(names, text, path, edges)
    return forms, encode(replace(layout, terms=counts))


def _start_of(heading: Heading) -> int:
    return heading.start


def _differences(numbers: Sequence[int]) -> list[int]:
    return [number - before for before, number in zip([0, *numbers], numbers, strict=False)]


#: The layout that `indexed_with_layout` has packed.
unpack = Decoder(Layout).decode
