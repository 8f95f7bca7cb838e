"""Things of one kind as rows of named columns: what a command that lists them hands to a format.

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
    """One value of every row: text, number, bool, None, or a list or mapping of those.

    `name` is its key for programs, `title` its heading for people (the name, where none is given). `shown`
    makes a value readable. `for_people` false: only programs are given it.
    """

    name: str
    title: str | None = None
    shown: Callable[[Any], str] | None = None
    right: bool = False
    for_people: bool = True

    @property
    def heading(self) -> str:
        """What stands above the column."""
        return self.name.replace("_", " ").capitalize() if self.title is None else self.title

    def for_person(self, value: Any) -> str:
        """A value as a person reads it."""
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
    """Rows by column name. `root` and `row` name the elements in XML.

    `names` are the columns that the format `files` prints, by default the first; `nothing` is what a person
    reads where there are no rows.
    """

    root: str
    row: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    nothing: str = "Nothing to list."
    names: Sequence[str] = field(default=())

    @property
    def named_by(self) -> Sequence[str]:
        """The columns that name a row."""
        return self.names or (self.columns[0].name,)


def for_program(value: Any) -> str:
    """A value as text: nothing for None, JSON for what has parts."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list() | tuple() | Mapping():
            import json

            return json.dumps(value, ensure_ascii=False)
    return str(value)
