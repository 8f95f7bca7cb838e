"""`search`, `vsearch` and `query`: three ways of finding, one way of asking and of showing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from qmd.cli.command import Command, intended_as_text
from qmd.cli.options import (
    FORMATS,
    OneOf,
    chosen_format,
    collection_option,
    decimal,
    filter_options,
    format_options,
    full_path_option,
    line_numbers_option,
    whole,
    words,
)
from qmd.cli.session import Session, pass_session
from qmd.cli.terminal import write
from qmd.errors import CollectionNotFoundError, TimedOutError

if TYPE_CHECKING:
    from qmd.types import SearchResponse

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_LIMIT, _LONG_LIMIT = 5, 20
_MAX_LIMIT = 1_000_000
_DAY = 86_400.0
_IF_UNKNOWN = "text that begins with '-', such as a word to leave out, goes after '--'"


def search_options(min_score: float) -> Callable[[Decorated], Decorated]:
    """What all three take, the query included."""
    decorators: list[Callable[[Any], Any]] = [
        click.argument("text", nargs=-1, required=True, metavar="QUERY..."),
        click.option(
            "-n",
            "limit",
            type=whole(1, _MAX_LIMIT),
            metavar="N",
            help=f"Show at most N results.  [default: {_LIMIT}; {_LONG_LIMIT} for json and files]",
        ),
        collection_option("Search only this collection (may be repeated)."),
        filter_options,
        click.option("--all", "everything", is_flag=True, help="Show all results, whatever -n says."),
        click.option(
            "--min-score",
            type=decimal(0, 1),
            metavar="F",
            default=str(min_score),
            help=f"Leave out results below this score, 0 to 1.  [default: {min_score:g}]",
        ),
        click.option("--full", is_flag=True, help="Show whole documents, not snippets."),
        line_numbers_option,
        full_path_option,
        click.option("--explain", is_flag=True, help="Show how each result came to its place."),
        click.option(
            "--mode",
            type=OneOf(["auto", "server", "local"]),
            metavar="M",
            default="auto",
            help="Ask the server of this index: auto (where one runs), server or local.  [default: auto]",
        ),
        format_options(*FORMATS),
        pass_session,
    ]
    return _all_of(decorators)


def model_options() -> Callable[[Decorated], Decorated]:
    """What the two that use models take besides."""
    return _all_of(
        [
            click.option("--intent", metavar="TEXT", help="What the search is for; steers, finds nothing."),
            click.option("--no-expand", is_flag=True, help="Search for the query alone, without variants."),
            click.option(
                "--timeout",
                type=decimal(0.001, _DAY),
                metavar="S",
                default="30",
                help="Answer with what is there after S seconds.  [default: 30]",
            ),
        ]
    )


def _all_of(decorators: list[Callable[[Any], Any]]) -> Callable[[Decorated], Decorated]:
    def decorate(command: Decorated) -> Decorated:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


@click.command(cls=Command, if_unknown=_IF_UNKNOWN)
@search_options(0.0)
def search(session: Session, text: tuple[str, ...], **options: Any) -> None:
    """Find documents by their words (BM25): fast, and nothing else is needed.

    All words count, in any order; "quoted words" stand together, word* finds longer words, and -word leaves
    documents out (after --). author:NAME, after:2024-06 and before:2025 filter as the options do, in all
    searches. A single - reads the query from stdin.

    \b
    Examples:
      qmd search deploy kubernetes
      qmd search '"release notes" 2026' -c work -n 10
      qmd search --json -- performance -sports
      qmd search backup --author ann --after 2024-06
    """
    _run(session, "search", text, options)


@click.command(cls=Command, if_unknown=_IF_UNKNOWN)
@search_options(0.3)
@model_options()
def vsearch(session: Session, text: tuple[str, ...], **options: Any) -> None:
    """Find documents by what they mean, in any language; 'qmd embed' comes first.

    \b
    Examples:
      qmd vsearch how do I log in
      qmd vsearch "ways to keep costs down" --min-score 0.5 --json
    """
    _run(session, "vsearch", text, options)


@click.command(cls=Command, if_unknown=_IF_UNKNOWN)
@search_options(0.0)
@model_options()
@click.option("--no-rerank", is_flag=True, help="Leave the order as the lists give it; faster.")
@click.option(
    "-C",
    "--candidate-limit",
    type=whole(1, 1000),
    metavar="N",
    default="30",
    help="Rerank the best N.  [default: 30]",
)
@click.option(
    "--ranking",
    type=OneOf(["contract", "tuned"]),
    metavar="R",
    help="How to rank: contract or tuned.  [default: as set]",
)
def query(session: Session, text: tuple[str, ...], **options: Any) -> None:
    """Find documents by words and meaning together, reranked: the best answers.

    The query is a question, or lines that begin with lex: (words), vec: (a question) or hyde: (what an answer
    would say), and at most one intent: line. What could not run is said on stderr.

    \b
    Examples:
      qmd query how do I deploy the service
      qmd query "quarterly planning" --explain
      qmd query $'lex: "rate limit"\\nvec: how are clients slowed down'
    """
    _run(session, "query", text, options)


def _run(session: Session, kind: str, text: tuple[str, ...], options: dict[str, Any]) -> None:
    """Ask the engine, or the server of this index, and show its answer."""
    from qmd.cli.asking import ask
    from qmd.engine.requests import SearchRequest

    name = chosen_format()
    default = _LONG_LIMIT if name in ("json", "files") else _LIMIT
    wanted = words(text)
    request = SearchRequest(
        wanted,
        limit=None if options["everything"] else options["limit"] or default,
        min_score=options["min_score"],
        collections=options["collections"],
        intent=options.get("intent"),
        candidate_limit=options.get("candidate_limit", 30),
        rerank=not options.get("no_rerank"),
        expand=not options.get("no_expand"),
        ranking=options.get("ranking"),
        explain=options["explain"],
        full=options["full"],
        timeout=options.get("timeout"),
        author=options["author"],
        after=options["after"],
        before=options["before"],
    )
    try:
        response = ask(session.index, kind, request, options["mode"])
    except TimedOutError:
        session.abandoned = True
        raise
    except CollectionNotFoundError as error:
        # -cats, meant as a word to leave out, is read as -c ats.
        meant = (intended_as_text(f"-c{name}") for name in options["collections"])
        error.hint = next(filter(None, meant), error.hint)
        raise
    known = session.index.config.collections
    if not known:
        session.note("there are no collections yet: add one with 'qmd collection add PATH'")
    elif not options["collections"] and not any(each.include_by_default for each in known.values()):
        session.note("every collection is excluded: name one with -c, or 'qmd collection include NAME'")
    _show(session, name, wanted, response, options)
    if any(stage.status == "timed_out" for stage in response.stages):
        session.abandoned = True


def _show(
    session: Session, name: str, wanted: str, response: SearchResponse, options: dict[str, Any]
) -> None:
    from qmd.cli.render.explain import stages, worth_telling
    from qmd.cli.render.formats import render_hits
    from qmd.cli.show import tell_missing, view_for

    told = name == "cli" and options["explain"]
    if not told:
        for line in worth_telling(response.stages):
            session.note(line)
    view = view_for(session, sys.stdout, wanted if name == "cli" else None, options)
    write(render_hits(name, response.hits, view))
    tell_missing(session, view)
    if told:
        write("\n" + stages(response.stages))
