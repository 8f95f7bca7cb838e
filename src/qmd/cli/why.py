"""`why`: what a search makes of one document."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from qmd.cli import candidates
from qmd.cli.command import Command
from qmd.cli.options import OneOf, collection_option, decimal, filter_options, json_option, whole, words
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import counted
from qmd.cli.terminal import (
    BOLD,
    DIM,
    GREEN,
    YELLOW,
    clean_name,
    columns,
    has_colours,
    is_terminal,
    one_line,
    styled,
    terminal_width,
    write,
    write_plain,
)
from qmd.errors import TimedOutError

if TYPE_CHECKING:
    from qmd.engine.explain.explainer import Standing, Why
    from qmd.engine.explain.term_matches import TermMatch
    from qmd.engine.requests import SearchRequest

#: As many results as the searches show on a terminal.
_LIMIT = 5
#: Columns where there is no terminal.
_WIDTH = 80
#: Terms shown; of a longer query, the rarest.
_TERMS = 20
_VERDICTS = {"shown": ("Shown", GREEN), "not_indexed": ("Not indexed", YELLOW)}


@click.command(cls=Command, if_unknown="a query that begins with '-' goes after '--'")
@click.argument("path", shell_complete=candidates.paths)
@click.argument("text", nargs=-1, required=True, metavar="QUERY...")
@click.option(
    "--search",
    "kind",
    type=OneOf(["search", "vsearch", "query"]),
    default="query",
    metavar="S",
    help="The search in question: search, vsearch or query.  [default: query]",
)
@click.option(
    "-n", "limit", type=whole(1, 1_000_000), metavar="N", help=f"As of the search.  [default: {_LIMIT}]"
)
@collection_option("As of the search (may be repeated).")
@filter_options
@click.option(
    "--min-score",
    type=decimal(0, 1),
    metavar="F",
    help="As of the search.  [default: 0; 0.3 for vsearch]",
)
@click.option("--intent", metavar="TEXT", help="As of query.")
@click.option("--no-expand", is_flag=True, help="As of vsearch and query.")
@click.option("--no-rerank", is_flag=True, help="As of query.")
@click.option(
    "-C",
    "--candidate-limit",
    type=whole(1, 1000),
    metavar="N",
    default="30",
    help="As of query.  [default: 30]",
)
@click.option(
    "--ranking", type=OneOf(["contract", "tuned"]), metavar="R", help="As of query.  [default: as set]"
)
@json_option
@pass_session
def why(session: Session, /, path: str, text: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Tell why a document is among the results of a search, or why it is not.

    PATH is anything that get takes, or a file on disk: one that is not indexed is told which rule keeps it
    out. For a document, the search is run with the options that it is given here, and what it says of the
    document is shown: its words, its place in every list, what would show it.

    \b
    Examples:
      qmd why notes/ops/deploy.md how do I deploy the service
      qmd why drafts/plan.md "quarterly planning"
      qmd why deploy.md rollback --search search -n 10 --json
    """
    try:
        found = session.index.why(path, options["kind"], _request(words(text), options))
    except TimedOutError:
        session.abandoned = True
        raise
    if any(stage.status == "timed_out" for stage in found.stages):
        session.abandoned = True
    if as_json:
        from qmd.cli.render.json import dumps

        write_plain(dumps(_as_json(found)))
        return
    from qmd.cli.render.explain import worth_telling

    for line in worth_telling(found.stages):
        session.note(line)
    found = replace(
        found,
        hint=found.hint and session.addressed(found.hint),
        notes=tuple(map(session.addressed, found.notes)),
    )
    write("\n".join(_lines(found, colours=has_colours(sys.stdout))) + "\n")


def _request(query: str, options: dict[str, Any]) -> SearchRequest:
    from qmd.engine.requests import VECTOR_MIN_SCORE, SearchRequest

    least = VECTOR_MIN_SCORE if options["kind"] == "vsearch" else 0.0
    return SearchRequest(
        query,
        limit=options["limit"] or _LIMIT,
        min_score=least if options["min_score"] is None else options["min_score"],
        collections=options["collections"],
        intent=options["intent"],
        candidate_limit=options["candidate_limit"],
        rerank=not options["no_rerank"],
        expand=not options["no_expand"],
        ranking=options["ranking"],
        author=options["author"],
        after=options["after"],
        before=options["before"],
    )


def _lines(found: Why, *, colours: bool) -> Iterator[str]:
    """The answer for people: the verdict first, then what it rests on."""
    docid = f" {found.document.docid}" if found.document is not None else ""
    yield _style(clean_name(found.file), colours, BOLD) + _style(docid, colours, DIM)
    label, colour = _VERDICTS.get(found.verdict, ("Not shown", YELLOW))
    yield f"{_style(label, colours, colour)}: {one_line(found.reason)}."
    if found.hint:
        yield f"Hint: {one_line(found.hint)}"
    for note in found.notes:
        yield f"Note: {one_line(note)}"
    if found.terms:
        yield ""
        yield "Words of the query, the rarest first:"
        yield from _terms(found.terms)
    for place in found.standings:
        yield ""
        query = "" if place.query == found.query else f" {one_line(place.query)}"
        yield f"qmd {place.kind}{query}: {_standing(place)}"
        yield from _details(place)


def _terms(terms: Sequence[TermMatch]) -> Iterator[str]:
    shown = terms[:_TERMS]
    for line in columns(
        [(clean_name(f"{'-' * each.excluded}{each.term}"), _has(each), _rarity(each)) for each in shown]
    ):
        yield f"  {line}"
    if len(terms) > len(shown):
        held = sum(bool(term.found) for term in terms)
        yield f"  ... and {len(terms) - len(shown)} more; of all {len(terms)}, {held} are in it"


def _has(term: TermMatch) -> str:
    if not term.found:
        return "only in longer words" if term.longer else "not in it"
    count = sum(term.found.values())
    return f"{count} {'time' if count == 1 else 'times'} in {', '.join(term.found)}"


def _rarity(term: TermMatch) -> str:
    return f"in {term.documents:,} of {term.total:,} documents" if term.documents else "in no document"


def _standing(place: Standing) -> str:
    if place.hit is not None:
        of = f"{place.total:,}" if place.complete else f"{place.total:,} or more"
        return f"number {place.rank:,} of {of}, score {place.hit.score:.3f}"
    if place.last is None:
        return "finds nothing"
    among = f"its {counted(place.total, 'result')}" if place.complete else f"its best {place.total:,}"
    vector = (place.last.explain or {}).get("vector")
    cosine = f", cosine {vector['cosine']:.3f}" if vector else ""
    return f"not among {among}, the last of which scores {place.last.score:.3f}{cosine}"


def _details(place: Standing) -> Iterator[str]:
    from qmd.cli.render.explain import breakdown

    if place.hit is not None and place.hit.explain is not None:
        width = terminal_width() if is_terminal(sys.stdout) else _WIDTH
        yield from (f"  {line}" for line in breakdown(place.hit.explain, width - 2))
    if place.passage is not None:
        chunk = place.passage.chunk
        cosine = place.passage.similarity
        yield f"  nearest passage: lines {chunk.first_line} to {chunk.last_line}, cosine {cosine:.3f}"


def _as_json(found: Why) -> dict[str, Any]:
    from dataclasses import asdict

    from qmd.cli.render.view import address

    document = found.document
    shown: dict[str, Any] = {"file": found.file if document is None else address(document.file)}
    if document is not None:
        shown |= {"docid": document.docid, "title": document.title}
    return shown | {
        "search": found.kind,
        "query": found.query,
        "verdict": found.verdict,
        "reason": found.reason,
        "hint": found.hint,
        "notes": list(found.notes),
        "results": found.shown,
        "least_score": found.lowest_score,
        "terms": [asdict(term) for term in found.terms],
        "places": [_place_as_json(place) for place in found.standings],
    }


def _place_as_json(place: Standing) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "search": place.kind,
        "query": place.query,
        "rank": place.rank,
        "of": place.total,
        "complete": place.complete,
        "last_score": place.last.score if place.last is not None else None,
    }
    if place.hit is not None:
        shown |= {"score": place.hit.score, "line": place.hit.line, "explain": place.hit.explain}
    if place.passage is not None:
        chunk = place.passage.chunk
        shown["passage"] = {
            "first_line": chunk.first_line,
            "last_line": chunk.last_line,
            "cosine": place.passage.similarity,
        }
    return shown


def _style(text: str, colours: bool, *codes: str) -> str:
    return styled(text, *codes) if colours else text
