"""`why`: explain the rank of one document in a search."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins
from msgspec.structs import replace

from qmd.cli import options
from qmd.cli.command import command
from qmd.cli.render.explain import breakdown, unexpected
from qmd.cli.render.passage import labelled
from qmd.cli.render.view import View, address
from qmd.cli.session import Session
from qmd.cli.show import show_json
from qmd.cli.terminal import (
    BOLD,
    DIM,
    GREEN,
    YELLOW,
    clean_name,
    columns,
    is_terminal,
    one_line,
    output_width,
    painted,
    say,
    width_of,
)
from qmd.errors import DocumentNotFoundError, QmdError
from qmd.text.values import plain, shown
from qmd.text.wording import plural
from qmd.types.traces import VectorMatch

if TYPE_CHECKING:
    from qmd.features.diagnosis.explainer import Standing, Why
    from qmd.features.diagnosis.term_matches import TermMatch

#: The default limit of the searches on a terminal.
_LIMIT = 5
#: The most terms shown; of a longer query, the rarest.
_MAX_TERMS = 20
#: The most values of a field shown.
_MAX_VALUES = 10
#: Fields that the document's path and title say already.
_OF_THE_FILE = ("collection", "path", "file", "title")
#: Options that concern how a list of results is shown.
_OF_THE_LIST = "offset facets full passages in_order context_lines tokens explain timeout".split()
_VERDICTS = {"shown": ("Shown", GREEN), "not_indexed": ("Not indexed", YELLOW)}


@command(if_unknown="a query that begins with '-' goes after '--'")
@options.argument("reference", "QUERY...", "typed_or_paths", multiple=False)
@options.argument("text", "DOC", "typed_or_paths", multiple=True)
@options.option(
    "--search S",
    ("search", "vsearch", "query"),
    "The command to explain: search, vsearch or query.  [default: query]",
    to="kind",
    default="query",
)
@options.limit_option(f"Explain a search that shows at most N results.  [default: {_LIMIT}]")
@options.collection_option("Explain a search of only this collection (may be repeated).")
@options.options_of("query", without=_OF_THE_LIST)
@options.json_option
def why(session: Session, /, reference: str, text: tuple[str, ...], **arguments: Any) -> None:
    """Explain why a document is in the results of a search, or why not.

    'qmd get --help' says how to name DOC. If it is a file that is not indexed, the answer names the rule that
    excludes it. Otherwise the search is run with the options given here, and the answer shows which words the
    document contains, its fields, the filter that leaves it out, its rank in every list, and how to make it a
    result. DOC may stand first, too: the word that exists as a document is DOC.

    Examples:
      qmd why "how do I deploy the service" notes/ops/deploy.md
      qmd why "quarterly planning" drafts/plan.md
      qmd why rollback deploy.md --search search -n 10 --json
      qmd why budget plan.md --tag work
    """
    document, words = _in_order(session, (reference, *text))
    kind, query = arguments["kind"], options.query_text(words)
    request = options.search_request(query, arguments, arguments["limit"] or _LIMIT)
    explanation = session.index.why(document, kind, request)
    session.abandoned |= any(stage.status == "timed_out" for stage in explanation.stages)
    if options.chosen_format() == "json":
        show_json(_as_json(explanation))
        return
    session.note(*unexpected(explanation.stages))
    explanation = replace(
        explanation,
        hint=explanation.hint and session.addressed(explanation.hint),
        notes=tuple(map(session.addressed, explanation.notes)),
    )
    say(*_lines(explanation))


def _in_order(session: Session, words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the document of the words, and the query; the one that exists is the document, else the last."""
    first, last = words[0], words[-1]
    if _likeness(session, first) > _likeness(session, last):
        return first, words[1:]
    return last, words[:-1]


def _likeness(session: Session, word: str) -> tuple[bool, bool]:
    """Return whether a document or a file has this name, and whether a word looks like a path."""
    return _exists(session, word), not {*word}.isdisjoint("/.#") and " " not in word


def _exists(session: Session, word: str) -> bool:
    if word == "-":
        return False
    try:
        session.index.get(word, max_lines=1)
    except DocumentNotFoundError:
        return os.path.exists(os.path.join(session.folder(), os.path.expanduser(word)))
    except QmdError:  # of several documents of this name, or of one that cannot be read
        return True
    return True


def _lines(explanation: Why) -> Iterator[str]:
    """Yield the lines for people: the verdict first, then the reasons for it."""
    docid = f" {explanation.document.docid}" if explanation.document is not None else ""
    yield painted(clean_name(explanation.file), BOLD) + painted(docid, DIM)
    label, colour = _VERDICTS.get(explanation.verdict, ("Not shown", YELLOW))
    yield f"{painted(label, colour)}: {one_line(explanation.reason)}."
    if explanation.hint:
        yield f"Hint: {one_line(explanation.hint)}"
    for note in explanation.notes:
        yield f"Note: {one_line(note)}"
    if explanation.fields:
        yield ""
        yield "Fields:"
        yield from _field_lines(explanation.fields)
    if explanation.terms:
        yield ""
        yield "Words of the query, the rarest first:"
        yield from _term_lines(explanation.terms)
    for place in explanation.standings:
        yield ""
        query = "" if place.query == explanation.query else f" {one_line(place.query)}"
        yield f"qmd {place.kind}{query}: {_rank(place)}"
        yield from _details(place)


def _field_lines(fields: Mapping[str, Sequence[str | float | bool]]) -> Iterator[str]:
    of_text = {name: values for name, values in fields.items() if name not in _OF_THE_FILE}
    widest = max((width_of(clean_name(name)) for name in of_text), default=0)
    view = View(terminal=is_terminal(sys.stdout), width=output_width())
    for name, values in sorted(of_text.items()):
        texts = [one_line(shown(value)) for value in values[:_MAX_VALUES]]
        more = f" and {len(values) - _MAX_VALUES} more" if len(values) > _MAX_VALUES else ""
        label = f"  {clean_name(name)}{' ' * (widest - width_of(clean_name(name)))}  "
        yield from labelled(label, ", ".join(texts) + more, view)


def _term_lines(terms: Sequence[TermMatch]) -> Iterator[str]:
    rows = [
        (clean_name(f"{'-' * term.excluded}{term.term}"), _occurrences(term), _rarity(term))
        for term in terms[:_MAX_TERMS]
    ]
    yield from (f"  {line}" for line in columns(rows))
    more = len(terms) - len(rows)
    if more:
        matched = sum(bool(term.found) for term in terms)
        yield f"  ... and {more} more; the document contains {matched} of all {len(terms)}"


def _occurrences(term: TermMatch) -> str:
    if not term.found:
        return "only in longer words" if term.longer else "not in it"
    return f"{plural(sum(term.found.values()), 'time')} in {', '.join(term.found)}"


def _rarity(term: TermMatch) -> str:
    return f"in {term.documents:,} of {term.total:,} documents" if term.documents else "in no document"


def _rank(place: Standing) -> str:
    if place.hit is not None:
        results = f"{place.total:,}" if place.complete else f"{place.total:,} or more"
        return f"number {place.rank:,} of {results}, score {place.hit.score:.3f}"
    if place.last is None:
        return "no results"
    results = f"its {plural(place.total, 'result')}" if place.complete else f"its best {place.total:,}"
    cosine = "".join(
        f", cosine {trace.cosine:.3f}" for trace in place.last.traces if isinstance(trace, VectorMatch)
    )
    return f"not among {results}; the last one has score {place.last.score:.3f}{cosine}"


def _details(place: Standing) -> Iterator[str]:
    if place.hit is not None:
        yield from (f"  {line}" for line in breakdown(place.hit.traces, output_width() - 2))
    if place.passage is not None:
        chunk = place.passage.chunk
        cosine = place.passage.similarity
        yield f"  nearest passage: lines {chunk.first_line} to {chunk.last_line}, cosine {cosine:.3f}"


def _as_json(explanation: Why) -> dict[str, Any]:

    document = explanation.document
    values = {"file": explanation.file if document is None else address(document.file)}
    if document is not None:
        values |= {"docid": document.docid, "title": document.title}
    return values | {
        "search": explanation.kind,
        "query": explanation.query,
        "verdict": explanation.verdict,
        "reason": explanation.reason,
        "hint": explanation.hint,
        "notes": explanation.notes,
        "results": explanation.shown,
        "least_score": explanation.lowest_score,
        "fields": {
            name: [plain(value) for value in values] for name, values in sorted(explanation.fields.items())
        },
        "terms": [to_builtins(term) for term in explanation.terms],
        "places": [_place_as_json(place) for place in explanation.standings],
    }


def _place_as_json(place: Standing) -> dict[str, Any]:
    values: dict[str, Any] = {
        "search": place.kind,
        "query": place.query,
        "rank": place.rank,
        "of": place.total,
        "complete": place.complete,
        "last_score": place.last and place.last.score,
    }
    if place.hit is not None:
        values |= {"score": place.hit.score, "line": place.hit.line, "explain": place.hit.explain}
    if place.passage is not None:
        chunk = place.passage.chunk
        lines = {"first_line": chunk.first_line, "last_line": chunk.last_line}
        values["passage"] = lines | {"cosine": place.passage.similarity}
    return values
