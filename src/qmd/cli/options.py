"""Option types, options that several commands share, and the request that the search options make."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from qmd.cli.console import current
from qmd.cli.parameters import Decorated as Decorated
from qmd.cli.parameters import argument as argument
from qmd.cli.parameters import flag as flag
from qmd.cli.parameters import option as option
from qmd.cli.render.formats import FORMATS
from qmd.cli.usage import MisuseError, fail
from qmd.errors import UsageError
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
tokens_option = option(
    "--tokens N",
    whole(1),
    "Print an answer of at most N tokens of language models, and say what was left out.",
    section="Output",
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


offset_option = option(
    "--offset N",
    whole(0, 100_000),
    "Skip the first N, which the pages before have shown.  [default: 0]",
    section="What",
)
query_argument = argument("text", "QUERY...", "typed")
#: Options that limit a command to some documents; see `text.filters.from_options`.
filter_options = combined(
    option(
        "--tag TAG",
        _filter("tag"),
        "Only documents with this tag, or one below it (may be repeated).",
        multiple=True,
        complete="tags",
    ),
    option(
        "--path PATH",
        _filter("path"),
        "Only documents whose path in the collection begins so, or matches this glob.",
        multiple=True,
        complete="inner_paths",
    ),
    option(
        "--ext EXT",
        _filter("ext"),
        "Only documents whose file has this suffix, or one of several: md,pdf.",
        multiple=True,
        complete="suffixes",
    ),
    option(
        "--lang LANG",
        _filter("lang"),
        "Only documents in this language, or one of several: de,fr.",
        multiple=True,
        complete="languages",
    ),
    option(
        "--where CONDITION",
        _filter("where"),
        "Only documents with this field: status=draft, 'priority>=2', status (may be repeated).",
        multiple=True,
        complete="conditions",
    ),
    option(
        "--state S",
        _filter("state"),
        "Only documents in one of these states: superseded, expired, deprecated, archived, upcoming, draft, "
        "done, current.",
        multiple=True,
    ),
    flag("--current", help="Only documents that are current: short for --state current."),
    option(
        "--filter JSON",
        _filter("filter"),
        "Only documents that pass: filters as in a query, or JSON.",
    ),
    option(
        "--author NAME",
        _filter("author"),
        "Only documents by this author: a word of the name, or all of it.",
        complete="authors",
    ),
    option(
        "--after DATE",
        _filter("after"),
        "Only documents from this date on: 2024-06, 7d, last-week, yesterday.",
        complete="dates",
        section="Time",
    ),
    option(
        "--before DATE",
        _filter("before"),
        "Only documents from before this date.",
        complete="dates",
        section="Time",
    ),
    section="Filters",
)
# The options of a search have the limits and defaults of `qmd.engine.requests.SearchRequest`, which the help
# does not import; a test compares them.
min_score_option = option(
    "--min-score F",
    decimal(0, 1),
    "Leave out results with a score below F, from 0 to 1. From 0.5 a result is about the query; below "
    "0.3 it is about something else.  [default: 0]",
    section="Filters",
)
#: How a query is understood by models.
model_options = combined(
    option("--intent TEXT", None, "The purpose of the search; affects the ranking only."),
    flag("--no-expand", help="Search for the query itself only, without variants."),
    section="Ranking",
)
ranking_options = combined(
    option("-C, --candidate-limit N", whole(1, 1000), "Rerank the best N candidates.  [default: 30]"),
    option(
        "--ranking R",
        ("contract", "tuned"),
        "The way to rank: contract or tuned.  [default: the configured one]",
    ),
    section="Ranking",
)
rerank_options = combined(
    flag("--no-rerank", help="Skip the reranker; faster."), ranking_options, section="Ranking"
)
recency_options = combined(
    flag(
        "--recent/--no-recent",
        help="Rank newer documents higher, by a half-life of 90 days or the configured one; or do not.",
    ),
    option(
        "--half-life TIME", _some_days, "Rank newer documents higher, by this half-life: 30d, 8w, 6m, 1y."
    ),
    section="Time",
)
fold_option = flag(
    "--fold/--no-fold",
    help="Show documents with the same text as one result that names the others; or each.",
    section="Output",
)
#: How the results of a search are ordered, beyond their relevance.
order_options = combined(
    recency_options,
    option(
        "--sort S",
        ("relevance", "date"),
        "Order the results by relevance or date; search then finds the newest of all matches.  "
        "[default: relevance]",
    ),
    fold_option,
    flag("--no-marks", help="Search without your pins and marks."),
    option(
        "--scores S",
        ("calibrated", "raw"),
        "What scores mean: how likely a result is about the query (calibrated), or the value that ranks it "
        "(raw).  [default: the configured one]",
    ),
    section="Ranking",
)
context_lines_option = option(
    "--context-lines N",
    whole(0, 100),
    "Show N lines before and after the line that matches.  [default: about 300 characters]",
)
#: The parts of each result that are shown.
passage_options = combined(
    option("--passages N", whole(1, 10), "Show the N best passages of each document.  [default: 1]"),
    flag("--in-order", help="Show passages in the order of the document; otherwise the best is first."),
    context_lines_option,
    section="Output",
)


def filters_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `filter_options`, without those that are not given."""
    names = ("tag", "path", "ext", "lang", "where", "state", "current", "filter", "author", "after", "before")
    return {name: options[name] for name in names if options.get(name)}


def query_text(words: tuple[str, ...]) -> str:
    """Join the words of a query; `-` alone reads the query from stdin."""
    if words != ("-",):
        return " ".join(words)
    from qmd.engine.requests import MAX_QUERY

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

    names = set(SearchRequest.__struct_fields__) - {"query", "limit", "where"}
    given = {name: options[name] for name in names & options.keys() if options[name] is not None}
    given |= {name: not options.get(f"no_{name}") for name in ("rerank", "expand", "marks")}
    return SearchRequest(query, limit, where=from_options(options), **given | values)
