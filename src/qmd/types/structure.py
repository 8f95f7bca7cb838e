"""The structure of a text: what its reader knows beside the words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import sub
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

#: [start, end) of a part of a text, in characters.
Span: TypeAlias = tuple[int, int]
#: How much a number counts that states no kind.
_LIKE = 0.9
#: The kinds of edits, in the order of the numbers by which they are stored.
_KINDS: tuple[EditKind, ...]
EditKind = Literal["markup", "joined", "hyphen", "script", "entity"]
_KINDS = ("markup", "joined", "hyphen", "script", "entity")


class Number(NamedTuple):
    """The number of a section in the form in which it is compared, and its kind; "" if it states none."""

    value: str
    kind: str = ""

    def likeness(self, other: Number) -> float:
        """Return 1 for the same number and kind, less if one states no kind, and 0 for other numbers."""
        if self.value != other.value:
            return 0.0
        if self.kind == other.kind:
            return 1.0
        kinds = {self.kind, other.kind}
        alike = "" in kinds or kinds == {"§", "section"} or (self.value[0].isalpha() and "section" in kinds)
        return _LIKE if alike else 0.0


class Heading(NamedTuple):
    """A heading, or a paragraph that begins with the number of a section.

    Attributes:
        start: The place of its line.
        level: From 1; above 6 for a paragraph with a number.
        low: The start of its words, as they are written.
        high: Their end.
        id: The anchor that it states; "" if it states none.
        number: The number that it begins with, if it is known.
    """

    start: int
    level: int
    low: int
    high: int
    id: str = ""
    number: Number | None = None


class Edit(NamedTuple):
    """A part of a text that is read otherwise than it is written.

    `kind` is `markup`, which is not read; `joined` for marks inside a word; `hyphen` for one at the end of a
    line; `script` for tags of raised and lowered letters; `entity` for a character that is written by name.
    """

    start: int
    end: int
    kind: EditKind


class Structure(Struct, frozen=True, array_like=True, omit_defaults=True):
    """The structure of a text, made once by the reader of its format, and stored beside it.

    Places are kept as differences from those before, which are small numbers.

    Attributes:
        body: The end of the front matter.
        headings: The headings, in order.
        verbatim: The edges of code and data, which are not divided and have no links.
        unread: The edges of markup, attributes, comments and embedded data.
        edits: The edges of what is read otherwise than it is written.
        edit_kinds: A digit for each of these.
        rules: The places of lines that divide the text.
        windows: The edges of the windows that searches rank and show; empty until a store needs them.
        terms: The number of terms before each window, and at last of the whole text; empty as well.
        markdown: Whether the words of headings are Markdown.
    """

    body: int = 0
    headings: tuple[Heading, ...] = ()
    verbatim: tuple[int, ...] = ()
    unread: tuple[int, ...] = ()
    edits: tuple[int, ...] = ()
    edit_kinds: str = ""
    rules: tuple[int, ...] = ()
    windows: tuple[int, ...] = ()
    terms: tuple[int, ...] = ()
    markdown: bool = True

    @classmethod
    def of(
        cls,
        body: int = 0,
        headings: Iterable[Heading] = (),
        verbatim: Iterable[Span] = (),
        unread: Iterable[Span] = (),
        edits: Sequence[Edit] = (),
        rules: Iterable[int] = (),
        *,
        markdown: bool = True,
    ) -> Structure:
        """Return a structure of parts that are in order and apart."""
        return cls(
            body,
            tuple(headings),
            packed(edge for span in verbatim for edge in span),
            packed(edge for span in unread for edge in span),
            packed(edge for edit in edits for edge in edit[:2]),
            "".join(str(_KINDS.index(edit.kind)) for edit in edits),
            packed(rules),
            markdown=markdown,
        )

    def fits(self, text: str) -> bool:
        """Return whether this may be the structure of a text. In a damaged index it may be another's."""
        size = len(text)
        edges = (self.verbatim, self.unread, self.edits, self.windows)
        return (
            all(len(each) % 2 == 0 and sum(each) <= size and min(each, default=0) >= 0 for each in edges)
            and len(self.edits) == 2 * len(self.edit_kinds)
            and 0 <= self.body <= size
            and sum(self.rules) <= size
            and min(self.terms, default=0) >= 0
            and all(0 <= each.start <= each.low <= each.high <= size for each in self.headings)
        )

    def verbatim_spans(self) -> list[Span]:
        """Return the [start, end) of code and data, in order."""
        return _spans(self.verbatim)

    def unread_spans(self) -> list[Span]:
        """Return the [start, end) of what is not read, in order."""
        return _spans(self.unread)

    def window_spans(self) -> list[Span]:
        """Return the [start, end) of each window, in order."""
        return _spans(self.windows)

    def rule_places(self) -> list[int]:
        """Return the places of lines that divide the text."""
        return [*accumulate(self.rules)]

    def first_terms(self) -> list[int]:
        """Return the number of the first term of each window, and the number of all terms."""
        return [*accumulate(self.terms)]

    def all_edits(self) -> Iterator[Edit]:
        """Yield what is read otherwise than it is written, in order."""
        for (start, end), kind in zip(_spans(self.edits), self.edit_kinds, strict=True):
            yield Edit(start, end, _KINDS[int(kind)])


def packed(numbers: Iterable[int]) -> tuple[int, ...]:
    """Return the differences between numbers and those before them."""
    edges = [*numbers]
    return tuple(map(sub, edges, [0, *edges]))


def _spans(differences: Sequence[int]) -> list[Span]:
    edges = accumulate(differences)
    return [*zip(edges, edges, strict=True)]
