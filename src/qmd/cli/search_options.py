"""Options that `search`, `vsearch`, `query`, `why` and `bench` share, and the request they make."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from qmd.cli import candidates
from qmd.cli.command import fail
from qmd.cli.options import Decorated, OneOf, combined, decimal, whole

if TYPE_CHECKING:
    from qmd.engine.requests import SearchRequest

query_argument = click.argument("text", nargs=-1, required=True, metavar="QUERY...")
intent_option = click.option(
    "--intent", metavar="TEXT", help="The purpose of the search; affects the ranking only."
)
no_expand_option = click.option(
    "--no-expand", is_flag=True, help="Search for the query itself only, without variants."
)
no_rerank_option = click.option("--no-rerank", is_flag=True, help="Skip the reranker; faster.")
candidate_limit_option = click.option(
    "-C",
    "--candidate-limit",
    type=whole(1, 1000),
    metavar="N",
    default="30",
    help="Rerank the best N candidates.  [default: 30]",
)
ranking_option = click.option(
    "--ranking",
    type=OneOf(["contract", "tuned"]),
    metavar="R",
    help="The way to rank: contract or tuned.  [default: the configured one]",
)


def limit_option(help: str) -> Callable[[Decorated], Decorated]:
    """Add `-n` to a command."""
    return click.option("-n", "limit", type=whole(1, 1_000_000), metavar="N", help=help)


def min_score_option(default: str) -> Callable[[Decorated], Decorated]:
    """Add `--min-score` to a command. `default` is shown in the help only."""
    return click.option(
        "--min-score",
        type=decimal(0, 1),
        metavar="F",
        help=f"Leave out results with a score below F, from 0 to 1.  [default: {default}]",
    )


def date(value: str) -> str:
    """Check that an option's value is a date or part of one, such as 2024-06."""
    from qmd.engine.requests import DATE
    from qmd.text import dates

    if dates.read(value) is None:
        raise click.BadParameter(f"must be {DATE}, not '{value}'")
    return value


#: `--author`, `--after` and `--before`.
filter_options = combined(
    click.option(
        "--author",
        metavar="NAME",
        shell_complete=candidates.authors,
        help="Only documents by this author.",
    ),
    click.option("--after", type=date, metavar="DATE", help="Only documents from this date on: 2024-06."),
    click.option("--before", type=date, metavar="DATE", help="Only documents from before this date."),
)


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


def search_request(query: str, options: dict[str, Any], **values: Any) -> SearchRequest:
    """Make a request from the options above that a command has, and from `values`."""
    from qmd.engine.requests import SearchRequest

    return SearchRequest(
        query,
        collections=options["collections"],
        intent=options.get("intent"),
        candidate_limit=options.get("candidate_limit", 30),
        rerank=not options.get("no_rerank"),
        expand=not options.get("no_expand"),
        ranking=options.get("ranking"),
        author=options.get("author"),
        after=options.get("after"),
        before=options.get("before"),
        **values,
    )
