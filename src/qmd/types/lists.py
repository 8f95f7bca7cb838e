"""The items of lists: links, authors, fields and their values."""

from __future__ import annotations

from msgspec import Struct

from qmd.types.content import LinkKind


class ResolvedLink(Struct, frozen=True):
    """A link between documents.

    Attributes:
        file: The display path of the document with the link.
        line: The line of the link, counted from 1.
        kind: The kind of the link.
        target: The target as written.
        to: The display path of the document that it leads to; None if there is none.
    """

    file: str
    line: int
    kind: LinkKind
    target: str
    to: str | None


class Author(Struct, frozen=True):
    """An author, the number of their documents, and the dates of the oldest and the newest one."""

    name: str
    documents: int
    first: str
    last: str


class FieldSummary(Struct, frozen=True):
    """A field, the types of its values, and the numbers of documents and of distinct values."""

    name: str
    types: tuple[str, ...]
    documents: int
    values: int


class ValueCount(Struct, frozen=True):
    """A value of a field, as the first document writes it, and the number of documents that have it."""

    value: str | float | bool
    documents: int
