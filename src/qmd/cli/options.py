"""Option types, options that several commands share, and the request that the search options make."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from qmd.cli.console import current
from qmd.cli.parameters import (
    Decorated as Decorated,
    Parameter,
    argument as argument,
    flag as flag,
    option as option,
)
from qmd.cli.render.formats import FORMATS
from qmd.cli.usage import MisuseError, fail
from qmd.errors import UsageError
from qmd.search_options import CONDITIONS, MAX_QUERY, SEARCH_OPTIONS, Option, SearchKind, names_of
from qmd.text.dates import days

if TYPE_CHECKING:
    from qmd.engine.requests import SearchRequest


def whole(least: int, most: int = 1_000_000_000) -> Callable[[str], int]:
    """Return an option type: a whole number from `least` to `most`."""

    def convert(value: str) -> int:
        digits = value[value[:1] in ("+", "-") :]
        number = int(value) if digits.isascii() and digits.isdecimal() and len(digits) <= 12 else None
        if number is None or not least <= number <= most:
            raise MisuseError(f"must be a whole number from {least} to {most}, not '{value}'")
        return number

    return convert


def decimal(least: float, most: float) -> Callable[[str], float]:
    """Return an option type: a number from `least` to `most`."""

    def convert(value: str) -> float:
        number = float(value) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", value[:20]) else None
        if number is None or not least <= number <= most:
            raise MisuseError(f"must be a number from {least:g} to {most:g}, not '{value}'")
        return number

    return convert


def half_life(value: str) -> float | None:
    """Return an option's value as days; 0 for `off`, None for `default`."""
    if value in ("off", "default"):
        return 0.0 if value == "off" else None
    number = days(value)
    if number is None:
        raise MisuseError(f"must be a time such as 30d, 6m or 1y, or off, not '{value}'")
    return number


def _some_days(value: str) -> float:
    number = half_life(value)
    if not number:
        raise MisuseError(f"must be a time such as 30d, 6m or 1y, not '{value}'")
    return number


def _filter(name: str) -> Callable[[str], str]:
    """Return an option type: a value of the filter option `name` of `text.filters.from_options`."""

    def convert(value: str) -> str:
        from qmd.text.filters import from_options

        if not value.strip():
            raise MisuseError("must not be empty")
        try:
            from_options({name: value})
        except UsageError as error:
            message = error.message.removeprefix(f"{name} ").removeprefix("filter: ")
            hint = f"; {error.hint}" if error.hint else ""
            raise MisuseError(message + hint) from None
        return value

    return convert


#: An option type: a date, also a relative one.
date_of_filter = _filter("after")


def name_list(value: str) -> tuple[str, ...]:
    """Return an option's value as names, which commas separate."""
    found = tuple(name for part in value.split(",") if (name := part.strip()))
    if not found:
        raise MisuseError("must be one name, or several with commas between them")
    return found


def combined(*decorators: Callable[[Any], Any], section: str = "") -> Callable[[Decorated], Decorated]:
    """Return one decorator that adds several options, in order; long helps show them in this section."""

    def decorate(command: Decorated) -> Decorated:
        before = len(vars(command).get("parameters", ()))
        for decorator in reversed(decorators):
            command = decorator(command)
        added = vars(command)["parameters"]
        for each in added[: len(added) - before]:
            each.section = each.section or section
        return command

    return decorate


def search_options(*names: str, **help: str) -> Callable[[Decorated], Decorated]:
    """Add the options of searches with these names, with the `help` of the command if it differs."""
    return combined(*(_of_search(name, help.get(name)) for name in names))


def options_of(
    kind: SearchKind, without: Collection[str] = (), **help: str
) -> Callable[[Decorated], Decorated]:
    """Add all options of a kind of search that have a spelling, but those that the command adds itself."""
    left_out = {*_BY_COMMAND, *without, "searches"}
    names = (name for name in SEARCH_OPTIONS if name in names_of(kind) and name not in left_out)
    return search_options(*names, **help)


@cache
def _of_search(name: str, help: str | None) -> Parameter:
    """Return an option of searches as one of a command."""
    row = SEARCH_OPTIONS[name]
    default = row.value.default
    help = help or row.help
    if row.value.reader == "flag":
        return flag(row.spelling, help=help, section=row.section)
    if (row.value.is_number or row.value.words) and default is not None:
        help += f"  [default: {default if isinstance(default, str) else format(default, 'g')}]"
    several = row.value.reader == "condition" and default is not None
    kind = _READERS[row.value.reader](row)
    return option(row.spelling, kind, help, multiple=several, complete=row.complete, section=row.section)


_LEAST_TIMEOUT, _DAY = 0.001, 86_400.0
#: How the values of options of searches are read.
_READERS: Mapping[str, Callable[[Option], Any]] = {
    "text": lambda row: None,
    "words": lambda row: row.value.words,
    "whole": lambda row: whole(int(row.value.least or 0), int(row.value.most or 1_000_000_000)),
    "decimal": lambda row: decimal(_LEAST_TIMEOUT if row.value.least is None else 0, row.value.most or _DAY),
    "days": lambda row: _some_days,
    "names": lambda row: name_list,
    "condition": lambda row: _filter(row.name),
}
#: Options of searches of which each command has its own form.
_BY_COMMAND = ("limit", "collections")
#: Options that limit a command to some documents; see `text.filters.from_options`.
filter_options = search_options(*CONDITIONS)


def format_options(*names: str) -> Callable[[Decorated], Decorated]:
    """Add `--format F`, and a flag for each format except the first; read the choice by `chosen_format`."""
    help = f"Print as {', '.join(names[:-1])} or {names[-1]} (in short --{names[1]})."
    flags = [
        flag(f"--{name}", f"as_{name}", help=f"Print {FORMATS[name]}.", goes="format") for name in names[1:]
    ]
    return combined(option("--format F", names, help, goes="format"), *flags, section="Output")


def chosen_format() -> str:
    """Return the format that the command line names, or `cli`."""
    return current().format or "cli"


def choose_format(option: str, value: str | bool | None) -> None:
    """Take the value of one of `format_options`. Raises `MisuseError` if another format was chosen."""
    if not value:
        return
    console = current()
    name = value if isinstance(value, str) else option.removeprefix("as_")
    if console.format not in (None, name):
        raise MisuseError(f"two formats at once: {console.format} and {name}")
    console.format = name


#: All formats, for commands that print hits, documents or a listing.
all_formats = format_options(*FORMATS)


#: For commands that print JSON or text for people.
json_option = format_options("cli", "json")
#: For commands that print documents.
path_options = combined(
    flag("--line-numbers", help="Show the file's line numbers."),
    flag("--full-path", help="Show paths on disk."),
    flag("--raw", help="Show control characters of texts as they are, not as escapes."),
    section="Output",
)
fresh_option = flag(
    "--fresh", help="First read files that are gone or have changed since they were indexed.", section="What"
)
mode_option = option(
    "--mode M",
    ("auto", "server", "local"),
    "Search in the server of this index (server), in this process (local), or in the server if it "
    "runs (auto).  [default: auto]",
    default="auto",
    section="What",
)
max_lines_option = option("-l, --max-lines N", whole(1), "Print at most N lines of each document.")


def _name(value: str) -> str:
    """Return the name of a collection in the form that all names in the index have."""
    from qmd.config.validate import nfc

    return nfc(value)


def collection_option(help: str) -> Callable[[Decorated], Decorated]:
    """Add `-c C`, which may be repeated."""
    return option(
        "-c, --collection C",
        _name,
        help,
        to="collections",
        multiple=True,
        complete="collections",
        section="What",
    )


collections_argument = argument("names", "[COLLECTION...]", "collections")


def limit_option(help: str) -> Callable[[Decorated], Decorated]:
    return option("-n, --limit N", whole(1, 1_000_000), help, section="What")


offset_option = search_options("offset")
tokens_option = search_options("tokens")
query_argument = argument("text", "QUERY...", "typed")


def filters_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `filter_options`, without those that are not given."""
    return {name: options[name] for name in CONDITIONS if options.get(name)}


def query_text(words: tuple[str, ...]) -> str:
    """Join the words of a query; `-` alone reads the query from stdin."""
    if words != ("-",):
        return " ".join(words)
    data = current().read(4 * MAX_QUERY + 1024)
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if len(text) > MAX_QUERY:
        fail(f"the query on stdin is longer than {MAX_QUERY} characters")
    return text


def search_request(
    query: str, options: Mapping[str, Any], limit: int | None = None, **values: Any
) -> SearchRequest:
    """Make a request from `values` and the options above that a command has.

    Options that are not given have the default of the request.
    """
    from qmd.engine.requests import SearchRequest
    from qmd.text.filters import from_options

    names = SEARCH_OPTIONS.keys() - {"query", "limit", *CONDITIONS}
    given = {name: options[name] for name in names & options.keys() if options[name] is not None}
    given |= {name: not options[f"no_{name}"] for name in SEARCH_OPTIONS if f"no_{name}" in options}
    return SearchRequest(query, limit, where=from_options(options), **given | values)
