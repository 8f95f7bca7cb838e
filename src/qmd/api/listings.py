"""The answers that list the fields, links, sections and commits of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from msgspec import Struct, convert
from msgspec.structs import replace

from qmd import types
from qmd.api.arguments import ListArguments
from qmd.engine.documents.fields import FieldValues
from qmd.text.values import plain
from qmd.types import LinkKind, Section, ValueCount


def whole(count: ValueCount) -> ValueCount:
    """Return a count whose value is `plain`."""
    return replace(count, value=plain(count.value))


class FieldState(Struct, frozen=True):
    """A field: its types, the numbers of documents and of distinct values, and its most frequent values."""

    name: str
    types: tuple[str, ...]
    documents: int
    distinct: int
    values: tuple[ValueCount, ...]

    @classmethod
    def of(cls, field: FieldValues, offset: int = 0) -> Self:
        """Return the result for a field of the engine, without its first values."""
        summary = field.summary
        values = tuple(map(whole, field.values[offset:]))
        return cls(summary.name, summary.types, summary.documents, summary.values, values)


class FieldList(Struct, frozen=True):
    """Fields, most frequent first. `left_out` says how many come after them."""

    fields: tuple[FieldState, ...]
    left_out: int


class Link(Struct, frozen=True):
    """A link of a document: its target as written, its line, and the document there, if there is one."""

    to: str | None
    target: str
    line: int
    kind: LinkKind


class Backlink(Struct, frozen=True):
    """A link to a document: the document with the link, its line, and its target as written."""

    file: str
    target: str
    line: int
    kind: LinkKind


class LinkLists(Struct, frozen=True):
    """The links of a document and those to it. The numbers say how many come after them."""

    links: tuple[Link, ...]
    links_left_out: int
    backlinks: tuple[Backlink, ...]
    backlinks_left_out: int

    @classmethod
    def of(
        cls,
        outgoing: Sequence[types.ResolvedLink],
        backlinks: Sequence[types.ResolvedLink],
        asked: ListArguments,
    ) -> Self:
        """Return the page of each list that a request asks for."""
        offset, end = asked.offset, asked.end
        return cls(
            convert(outgoing[offset:end], tuple[Link, ...], from_attributes=True),
            max(0, len(outgoing) - end),
            convert(backlinks[offset:end], tuple[Backlink, ...], from_attributes=True),
            max(0, len(backlinks) - end),
        )


class Outline(Struct, frozen=True):
    """The sections of a document, in order."""

    file: str
    sections: tuple[Section, ...]


class Commit(types.Commit, frozen=True, omit_defaults=True):
    """A commit of a document's file. `path` is that of the file in the collection then.

    `added` and `removed` are numbers of lines; binary files and merges have none.
    """


class History(Struct, frozen=True):
    """The commits of a document's file, newest first."""

    commits: tuple[Commit, ...]
