"""The input of an output format: listings, which are rows of named columns, and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.cli.record import Record
from qmd.text.values import plain

if TYPE_CHECKING:
    from qmd.cli.render.view import View
    from qmd.engine.documents.pages import Page, Skipped
    from qmd.types import Hit, ValueCount


class Column(Record):
    """A column, whose values are text, numbers, booleans, None, or lists or mappings of these.

    `name` is the key in formats for programs, `title` the heading for people, by default the name. `shown`
    converts a value to text for people. `right` aligns the column to the right. People see the column only if
    `for_people` is set.
    """

    name: str
    title: str | None = None
    shown: Callable[[Any], str] | None = None
    right: bool = False
    for_people: bool = True

    @property
    def heading(self) -> str:
        return self.name.replace("_", " ").capitalize() if self.title is None else self.title

    def text(self, value: Any) -> str:
        """Return a value as text for people."""
        if self.shown is not None and value is not None:
            return self.shown(value)
        match value:
            case None:
                return ""
            case bool():
                return "yes" if value else "no"
            case int():
                return f"{value:,}"
            case list() | tuple():
                return ", ".join(map(str, value))
            case Mapping():
                return ", ".join(f"{key}: {each}" for key, each in value.items())
        return str(value)


class Listing(Record):
    """Rows by column name; values of other names are left out.

    `root` and `row` name the root element and a row's element in XML. `nothing` is the message for people if
    there are no rows. `names` are the columns that the format `files` prints, by default the first.
    """

    root: str
    row: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    nothing: str = "Nothing to list."
    names: Sequence[str] = ()

    @property
    def key_columns(self) -> Sequence[str]:
        """The columns that the format `files` prints."""
        return self.names or (self.columns[0].name,)


class Writer(Record):
    """The functions that return hits, documents and listings in a format."""

    hits: Callable[[Sequence[Hit], View], str]
    pages: Callable[[Sequence[Page | Skipped], View], str]
    listing: Callable[[Listing, View], str]


def program_text(value: Any) -> str:
    """Return a value as text for programs: empty for None, JSON for lists and mappings."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list() | tuple() | Mapping():
            import json

            return json.dumps(value, ensure_ascii=False)
    return str(value)


def count_entry(count: ValueCount) -> dict[str, Any]:
    """Return the value of a field and its number of documents as an object."""
    return {"value": plain(count.value), "documents": count.documents}
