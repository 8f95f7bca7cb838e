"""A query, read once: the filters that are typed in it, and its words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from qmd.text import filters
from qmd.text.filters import Typed
from qmd.text.predicates import Predicate, both, field_name
from qmd.text.query import LexicalQuery, parse
from qmd.text.spelling import candidates, with_joined


class Question(Struct, frozen=True, dict=True):
    """A query as it was typed, with the filters in it; without them if made by itself.

    A text has brackets too, so a condition in brackets is text if its field is among `unknown`, or if it is
    only a name and the query has words as well: `[draft] of the plan`.

    Attributes:
        text: The query as it was typed.
        typed: The filters and all conditions in brackets, in order.
        unknown: The fields that no document has.
        known: The terms of other spellings of the words that documents have, with the number of these.
        read_as: The words as they are searched if other forms of them were added; see `widening`.
        also: Synonyms of the words, as they are written, which are added to what a model embeds.
        wrong_date: The first filter whose date is none: its key, its value, and the whole of it.
    """

    text: str
    typed: tuple[Typed, ...] = ()
    unknown: tuple[str, ...] = ()
    wrong_date: tuple[str, str, str] | None = None
    known: tuple[tuple[str, int], ...] = ()
    read_as: LexicalQuery | None = None
    also: tuple[str, ...] = ()

    @staticmethod
    def read(text: str) -> Question:
        """Read a query. Raises `UsageError` if a filter cannot have its value."""
        typed, wrong_date = filters.scan(text)
        return Question(text, typed, (), wrong_date)

    def among(self, unknown: tuple[str, ...]) -> Question:
        """Return the same query if no document has some fields."""
        return self if unknown == self.unknown else replace(self, unknown=unknown)

    def refuse_wrong_date(self) -> None:
        """Raise `UsageError` if a filter needs a date and has none, and so is text."""
        filters.refuse_wrong_date(self.wrong_date)

    @cached_property
    def filters(self) -> tuple[Typed, ...]:
        """The filters, in order."""
        known = [each for each in self.typed if not each.field or field_name(each.field) not in self.unknown]
        return filters.filtering(self.text, known)

    @cached_property
    def brackets(self) -> tuple[Typed, ...]:
        """The conditions in brackets that are text, in order."""
        starts = {each.start for each in self.filters}
        return tuple(each for each in self.typed if each.start not in starts)

    @cached_property
    def words(self) -> str:
        """The query without its filters."""
        return filters.without(self.text, self.filters) if self.filters else self.text

    @cached_property
    def where(self) -> Predicate | None:
        """The filters, which must all hold; None if there are none."""
        return both(*(each.predicate for each in self.filters[: filters.MAX_NODES]))

    def knowing(self, documents: Mapping[str, int]) -> Question:
        """Return the same query if these numbers of documents have terms of other spellings."""
        if not documents:
            return self
        other = replace(self, known=tuple(documents.items()))
        other.__dict__["terms"] = with_joined(self.words, self.terms, documents)
        return other

    @cached_property
    def terms(self) -> LexicalQuery:
        """The words as they are searched."""
        if self.read_as is not None:
            return self.read_as
        query = parse(self.words)
        return with_joined(self.words, query, dict(self.known)) if self.known else query

    @cached_property
    def spellings(self) -> list[str]:
        """The terms of other spellings of the words."""
        return candidates(self.words, self.terms)
