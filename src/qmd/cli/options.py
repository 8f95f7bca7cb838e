"""Option types, options that several commands share, and the request that the search options make."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from qmd.cli import candidates
from qmd.cli.command import fail
from qmd.cli.render.formats import FORMATS

if TYPE_CHECKING:
    from qmd.engine.requests import SearchRequest

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_CHOSEN = "qmd.format"


def whole(least: int, most: int = 1_000_000_000) -> Callable[[str], int]:
    """Return an option type: a whole number from `least` to `most`."""

    def convert(value: str) -> int:
        number = int(value) if re.fullmatch(r"[+-]?[0-9]{1,12}", value) else None
        if number is None or not least <= number <= most:
            raise click.BadParameter(f"must be a whole number from {least} to {most}, not '{value}'")
        return number

    return convert


def decimal(least: float, most: float) -> Callable[[str], float]:
    """Return an option type: a number from `least` to `most`."""

    def convert(value: str) -> float:
        number = float(value) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", value[:20]) else None
        if number is None or not least <= number <= most:
            raise click.BadParameter(f"must be a number from {least:g} to {most:g}, not '{value}'")
        return number

    return convert


def half_life(value: str) -> float | None:
    """Return an option's value as days; 0 for `off`, None for `default`."""
    from qmd.text.dates import days

    if value in ("off", "default"):
        return 0.0 if value == "off" else None
    number = days(value)
    if number is None:
        raise click.BadParameter(f"must be a time such as 30d, 6m or 1y, or off, not '{value}'")
    return number


def _some_days(value: str) -> float:
    days = half_life(value)
    if not days:
        raise click.BadParameter(f"must be a time such as 30d, 6m or 1y, not '{value}'")
    return days


def _filter(name: str) -> Callable[[str], str]:
    """Return an option type: a value of the filter option `name` of `text.filters.from_options`."""

    def convert(value: str) -> str:
        from qmd.errors import UsageError
        from qmd.text.filters import from_options

        if not value.strip():
            raise click.BadParameter("must not be empty")
        try:
            from_options({name: value})
        except UsageError as error:
            message = error.message.removeprefix(f"{name} ").removeprefix("filter: ")
            hint = f"; {error.hint}" if error.hint else ""
            raise click.BadParameter(message + hint) from None
        return value

    return convert


def name_list(value: str) -> tuple[str, ...]:
    """Return an option's value as names, which commas separate."""
    found = tuple(name for part in value.split(",") if (name := part.strip()))
    if not found:
        raise click.BadParameter("must be one name, or several with commas between them")
    return found


class OneOf(click.Choice[str]):
    """An option type: one of several words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return f"must be one of {', '.join(map(str, self.choices))}, not '{value}'"


def combined(*decorators: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """Return one decorator that adds several options, in order."""

    def decorate(command: Decorated) -> Decorated:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def flag(*names: str, help: str, **attributes: Any) -> Callable[[Decorated], Decorated]:
    return click.option(*names, is_flag=True, help=help, **attributes)


def format_options(*names: str) -> Callable[[Decorated], Decorated]:
    """Add `--format F`, and a flag for each format except the first; read the choice by `chosen_format`."""
    choice = click.option(
        "--format",
        "as_format",
        type=OneOf(names),
        metavar="F",
        expose_value=False,
        callback=_choose,
        help=f"Print as {', '.join(names[:-1])} or {names[-1]}.",
    )
    flags = [
        flag(f"--{name}", f"as_{name}", help=f"Print {FORMATS[name]}.", expose_value=False, callback=_choose)
        for name in names[1:]
    ]
    return combined(choice, *flags)


def chosen_format() -> str:
    """Return the format that the command line names, or `cli`."""
    chosen: str = click.get_current_context().meta.get(_CHOSEN, "cli")
    return chosen


def _choose(ctx: click.Context, param: click.Parameter, value: str | bool | None) -> None:
    if not value:
        return
    name = value if isinstance(value, str) else str(param.name).removeprefix("as_")
    if ctx.meta.setdefault(_CHOSEN, name) != name:
        raise click.UsageError(f"two formats at once: {ctx.meta[_CHOSEN]} and {name}", ctx)


#: All formats, for commands that print hits, documents or a listing.
all_formats = format_options(*FORMATS)


def _choose_json(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    _choose(ctx, param, value)
    return ctx.meta.get(_CHOSEN) == "json"


#: For commands that print JSON or text for people. An option that is given is handled before `as_json`.
json_option = combined(
    click.option(
        "--format",
        type=OneOf(["cli", "json"]),
        metavar="F",
        expose_value=False,
        callback=_choose,
        help="Print as cli or json.",
    ),
    flag("--json", "as_json", help="Print JSON.", callback=_choose_json),
)
#: For commands that print documents.
path_options = combined(
    flag("--line-numbers", help="Show the file's line numbers."),
    flag("--full-path", help="Show paths on disk."),
)
max_lines_option = click.option(
    "-l", "--max-lines", type=whole(1), metavar="N", help="Print at most N lines of each document."
)


def collection_option(help: str) -> Callable[[Decorated], Decorated]:
    """Add `-c C`, which may be repeated."""
    return click.option(
        "-c",
        "--collection",
        "collections",
        multiple=True,
        metavar="C",
        shell_complete=candidates.collections,
        help=help,
    )


query_argument = click.argument(
    "text", nargs=-1, required=True, metavar="QUERY...", shell_complete=candidates.typed
)
#: Options that limit a command to some documents; see `text.filters.from_options`.
filter_options = combined(
    click.option(
        "--tag",
        type=_filter("tag"),
        multiple=True,
        metavar="TAG",
        shell_complete=candidates.tags,
        help="Only documents with this tag, or one below it (may be repeated).",
    ),
    click.option(
        "--path",
        type=_filter("path"),
        multiple=True,
        metavar="PATH",
        shell_complete=candidates.inner_paths,
        help="Only documents whose path in the collection begins so, or matches this glob.",
    ),
    click.option(
        "--where",
        type=_filter("where"),
        multiple=True,
        metavar="CONDITION",
        shell_complete=candidates.conditions,
        help="Only documents with this field: status=draft, 'priority>=2', status (may be repeated).",
    ),
    click.option(
        "--filter",
        type=_filter("filter"),
        metavar="JSON",
        help="Only documents that pass this tree of conditions.",
    ),
    click.option(
        "--author",
        type=_filter("author"),
        metavar="NAME",
        shell_complete=candidates.authors,
        help="Only documents by this author.",
    ),
    click.option(
        "--after", type=_filter("after"), metavar="DATE", help="Only documents from this date on: 2024-06."
    ),
    click.option(
        "--before", type=_filter("before"), metavar="DATE", help="Only documents from before this date."
    ),
)
#: How a query is understood by models.
model_options = combined(
    click.option("--intent", metavar="TEXT", help="The purpose of the search; affects the ranking only."),
    flag("--no-expand", help="Search for the query itself only, without variants."),
)
ranking_options = combined(
    click.option(
        "-C",
        "--candidate-limit",
        type=whole(1, 1000),
        metavar="N",
        default="30",
        help="Rerank the best N candidates.  [default: 30]",
    ),
    click.option(
        "--ranking",
        type=OneOf(["contract", "tuned"]),
        metavar="R",
        help="The way to rank: contract or tuned.  [default: the configured one]",
    ),
)
rerank_options = combined(flag("--no-rerank", help="Skip the reranker; faster."), ranking_options)


#: How the results of a search are ordered, beyond their relevance.
order_options = combined(
    click.option(
        "--recent/--no-recent",
        default=None,
        help="Rank newer documents higher, by a half-life of 90 days or the configured one; or do not.",
    ),
    click.option(
        "--half-life",
        type=_some_days,
        metavar="TIME",
        help="Rank newer documents higher, by this half-life: 30d, 8w, 6m, 1y.",
    ),
    click.option(
        "--sort",
        type=OneOf(["relevance", "date"]),
        metavar="S",
        default="relevance",
        help="Order the results by relevance or date; search then finds the newest of all matches.  "
        "[default: relevance]",
    ),
    click.option(
        "--fold/--no-fold",
        default=None,
        help="Show documents with the same text as one result that names the others; or each.",
    ),
    flag("--no-marks", help="Search without your pins and marks."),
    click.option(
        "--scores",
        type=OneOf(["calibrated", "raw"]),
        metavar="S",
        help="What scores mean: how likely a result answers (calibrated), or the value that ranks it (raw).  "
        "[default: the configured one]",
    ),
)


#: What is shown of each result.
passage_options = combined(
    click.option(
        "--passages",
        type=whole(1, 10),
        metavar="N",
        default="1",
        help="Show the N best passages of each document.  [default: 1]",
    ),
    flag("--in-order", help="Show passages in the order of the document; otherwise the best is first."),
    click.option(
        "--context-lines",
        type=whole(0, 100),
        metavar="N",
        help="Show N lines before and after the line that matches.  [default: about 300 characters]",
    ),
)


def refuse(options: dict[str, Any], needed: str) -> None:
    """Fail if an option is given that has no effect without another option, `needed`."""
    for name, value in options.items():
        if value not in (None, False, ()):
            fail(f"--{name.replace('_', '-')} needs {needed}")


def limit_option(help: str) -> Callable[[Decorated], Decorated]:
    return click.option("-n", "limit", type=whole(1, 1_000_000), metavar="N", help=help)


min_score_option = click.option(
    "--min-score",
    type=decimal(0, 1),
    metavar="F",
    default="0",
    help="Leave out results with a score below F, from 0 to 1.  [default: 0]",
)


def filters_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `filter_options`, without those that are not given."""
    from qmd.engine.requests import FILTERS

    return {name: options[name] for name in FILTERS if options.get(name)}


def query_text(words: tuple[str, ...]) -> str:
    """Join the words of a query; `-` alone reads the query from stdin."""
    if words != ("-",):
        return " ".join(words)
    from qmd.engine.requests import MAX_QUERY

    data = sys.stdin.buffer.read(4 * MAX_QUERY + 1024)
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if len(text) > MAX_QUERY:
        fail(f"the query on stdin is longer than {MAX_QUERY} characters")
    return text


def search_request(query: str, kind: str, options: dict[str, Any], limit: int | None = None) -> SearchRequest:
    """Make a request from the options above that a command has. `kind` is search, vsearch or query."""
    from qmd.engine.requests import SearchRequest
    from qmd.text.filters import from_options

    names = {"collections", "intent", "candidate_limit", "ranking", "explain", "full", "timeout", "facets"}
    names |= {"min_score", "scores", "recent", "half_life", "sort", "fold"}
    names |= {"passages", "in_order", "context_lines"}
    given = {name: options[name] for name in names & options.keys()}
    given["marks"] = not options.get("no_marks")
    rerank, expand = not options.get("no_rerank"), not options.get("no_expand")
    where = from_options(options)
    return SearchRequest(query, limit, rerank=rerank, expand=expand, where=where, **given)
