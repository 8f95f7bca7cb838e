"""Listings: rows of named columns, which a command passes to an output format.

listing = Listing(
    "models",
    "model",
    (Column("role"), Column("name"), Column("bytes", "Size", human_size, right=True)),
    [{"role": "embed", "name": "e5", "bytes": 96_000_000}],
    nothing="No models.",
)
show_listing(listing)  # qmd.cli.show; the command has @all_formats
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """A column, whose values are text, numbers, booleans, None, or lists or mappings of these.

    Args:
        name: The key in formats for programs.
        title: The heading for people; the name if it is not given.
        shown: Converts a value to text for people.
        right: Whether to align the column to the right.
        for_people: Whether people see the column too.
    """

    name: str
    title: str | None = None
    shown: Callable[[Any], str] | None = None
    right: bool = False
    for_people: bool = True

    @property
    def heading(self) -> str:
        """The title, or one made from the name."""
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


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows by column name.

    Args:
        root: The name of the root element in XML.
        row: The name of a row's element in XML.
        columns: The columns, in order.
        rows: The values by column name.
        nothing: The message for people if there are no rows.
        names: The columns that the format `files` prints; by default the first.
    """

    root: str
    row: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    nothing: str = "Nothing to list."
    names: Sequence[str] = field(default=())

    @property
    def key_columns(self) -> Sequence[str]:
        """The columns that the format `files` prints."""
        return self.names or (self.columns[0].name,)


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
