"""`search`, `vsearch`, `query` and `similar`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from qmd.cli import options
from qmd.cli.command import command
from qmd.cli.console import current
from qmd.cli.render.formats import writer
from qmd.cli.render.rows import count_entry
from qmd.cli.session import Session
from qmd.cli.show import note_missing, view_for
from qmd.cli.terminal import can_ask, write
from qmd.cli.usage import MisuseError, fail
from qmd.errors import CollectionNotFoundError, NotFoundError, PluginError, QmdError, VectorIndexMissingError
from qmd.plugins import Table
from qmd.text.wording import about, local_time, plural

if TYPE_CHECKING:
    from qmd.cli.render.view import View
    from qmd.engine.requests import SearchRequest
    from qmd.search_options import SearchKind
    from qmd.types import SearchResponse, Stage

    #: Runs a search with its words and options, and shows what a function keeps of the answer.
    Search = Callable[
        [Session, str, tuple[str, ...], Mapping[str, Any], Callable[[SearchResponse], SearchResponse]], None
    ]

_LIMIT, _LONG_LIMIT, _SIMILAR = 5, 20, 10
#: The least seconds that a search has left after a server did not answer: the words alone need less.
_AFTER_SERVER = 0.5
#: Formats that have a place for facets and for several passages of a document.
_WITH_DETAILS = ("cli", "json")
#: Formats with a line for each result, and the one of programs: more results are shown.
_LONG = ("json", "files", "names", "vimgrep", "short")
#: What runs searches that are saved.
_SAVED = Table("qmd.saved", {}, Callable)
_IF_UNKNOWN = "text that begins with '-', such as an excluded word, goes after '--'"


def _options(kind: SearchKind) -> Callable[[options.Decorated], options.Decorated]:
    """Add the options of `search`, `vsearch` or `query`."""
    return options.combined(
        options.argument("text", "[QUERY...]", "typed"),
        options.limit_option(
            f"Show at most N results.  [default: {_LIMIT}; {_LONG_LIMIT} for lines and JSON]"
        ),
        options.collection_option("Search only this collection (may be repeated)."),
        options.options_of(kind),
        options.flag("--all", "everything", help="Show all results; -n is ignored.", section="What"),
        options.option(
            "--save NAME", None, "Save this search, so that @NAME runs it.", agents=False, section="What"
        ),
        options.flag("--new", help="With @NAME, show what was not there the last time.", section="What"),
        options.path_options,
        options.fresh_option,
        options.mode_option,
        options.all_formats,
    )


@command("search", agents=True, if_unknown=_IF_UNKNOWN)
@_options("search")
def search(session: Session, text: tuple[str, ...], **arguments: Any) -> None:
    """Find documents by keyword (BM25): fast, and needs no models.

    The more and the rarer words of the query a document has, the earlier it comes, most of all if they are
    its name. "Quoted words" must stand together, word* also finds longer words, and -word excludes documents
    (write it after --). A single - reads the query from stdin.

    Filters can be typed in all searches: tag:work, path:ops/, collection:notes, author:ann, after:2024-06,
    [status:draft], [priority>=2], [reviewed:*] (has the field), -tag:old. Brackets with a field that no
    document has, or with only a name among words, are text. Filters without words, typed or as options, list
    the documents that pass, newest first. See 'qmd fields'.

    Examples:
      qmd search deploy kubernetes
      qmd search '"release notes" 2026' -c work -n 10
      qmd search --json -- performance -sports
      qmd search backup --author ann --where status=draft --facets tag,year
      qmd search 'tag:work after:2026'
      qmd search --tag work --after 2026
    """
    _run(session, "search", text, arguments)


@command("vsearch", agents=True, if_unknown=_IF_UNKNOWN)
@_options("vsearch")
def vsearch(session: Session, text: tuple[str, ...], **arguments: Any) -> None:
    """Find documents by meaning, in any language. Run 'qmd embed' first.

    Filters such as tag:work or [status:draft] can be typed in the query: see 'qmd search --help'.

    Examples:
      qmd vsearch how do I log in
      qmd vsearch "ways to keep costs down" --min-score 0.5 --json
    """
    _run(session, "vsearch", text, arguments)


@command("query", agents=True, if_unknown=_IF_UNKNOWN)
@_options("query")
def query(session: Session, text: tuple[str, ...], **arguments: Any) -> None:
    """Combine keyword and vector search and rerank the results: the best results.

    The query is a question, or lines that start with lex: (keywords), vec: (a question) or hyde: (the text of
    a possible answer), and at most one line that starts with intent:. If a step cannot run, stderr says so.

    Filters such as tag:work or [status:draft] can be typed in a question or in lex: lines: see 'qmd search
    --help'.

    Examples:
      qmd query how do I deploy the service
      qmd query "quarterly planning" --explain
      qmd query $'lex: "rate limit"\\nvec: how are clients slowed down'
    """
    _run(session, "query", text, arguments)


def _run(session: Session, kind: str, words: tuple[str, ...], arguments: dict[str, Any]) -> None:
    if arguments["save"] is not None or arguments["new"] or (words and words[0][:1] == "@"):
        saved = _SAVED.load("search")
        if saved is None:
            raise PluginError("this installation has no saved searches")
        saved(session, kind, words, arguments, _search)
    else:
        _search(session, kind, words, arguments)


def _search(
    session: Session,
    kind: str,
    words: tuple[str, ...],
    arguments: Mapping[str, Any],
    kept: Callable[[SearchResponse], SearchResponse] = lambda response: response,
) -> None:
    """Search, and show what is `kept` of the answer."""
    format_name = options.chosen_format()
    session.uses |= {"marks"}
    several = (arguments["passages"] or 1) > 1 and format_name not in ("vimgrep", "short")
    for name, given in (("facets", arguments["facets"]), ("passages", several)):
        if given and format_name not in _WITH_DETAILS:
            fail(f"--{name} needs the format {' or '.join(_WITH_DETAILS)}, not {format_name}")
    if not words and not options.filters_of(arguments):
        raise MisuseError("missing QUERY...", cause="missing")
    limit = arguments["limit"] or (_LONG_LIMIT if format_name in _LONG else _LIMIT)
    text = options.query_text(words)
    no_timeout = {"timeout": None} if kind == "search" else {}
    limit = None if arguments["everything"] else limit
    request = options.search_request(text, arguments, limit, **no_timeout)
    response = kept(response_of(session, kind, request, arguments))
    note_what_is_missing(session, response.stages, arguments)
    show_response(session, format_name, text, response, arguments)
    session.abandoned |= any(stage.status == "timed_out" for stage in response.stages)
    note_changes(session, arguments["collections"])
    if arguments["mode"] != "local":
        _offer_server(session, response)


def note_changes(session: Session, collections: Sequence[str]) -> None:
    """Note since when the folders of collections have changed, unless a process reads the changes."""
    if session.quiet or session.portable_file is not None:
        return
    visible = session.index.config.collections
    for name, (since, paths) in session.whole_index.changed_on_disk(collections).items():
        if name not in visible:
            continue
        watcher = session.watcher()
        if watcher is None or name not in watcher.collections:
            changed = f"{name} has changed since {local_time(since)} ({plural(len(paths), 'change')})"
            session.note(f"{changed}: run 'qmd update', or add --fresh")


def _offer_server(session: Session, response: SearchResponse) -> None:
    """Tell a person, once, that a server would keep the models that this command has loaded."""
    loaded = any(stage.stage in ("vector", "rerank") and stage.status == "ran" for stage in response.stages)
    if not loaded or session.refusal != "" or session.for_agent or session.quiet or not can_ask():
        return
    from qmd.config.paths import cache_dir

    said = os.path.join(cache_dir(current().environ), "server-offered")
    with suppress(OSError):  # It has been said, or cannot be remembered.
        os.close(os.open(said, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        daemon = "" if os.name == "nt" else " --daemon"  # not possible on Windows
        session.note(f"a server would keep the models in memory for the next search: qmd server{daemon}")


def response_of(
    session: Session, kind: str, request: SearchRequest, arguments: Mapping[str, Any]
) -> SearchResponse:
    """Run a search as the options say. Errors name the right command."""
    try:
        if arguments.get("fresh"):
            session.index.refresh(collections=arguments["collections"])
        response = _response(session, kind, request, arguments["mode"])
        if arguments.get("fresh") and session.index.refresh(response.hits):
            response = _response(session, kind, request, arguments["mode"])
        return response
    except CollectionNotFoundError as error:
        # -cats, meant as a word to exclude, is read as -c ats.
        hints = (session.intended_as_text(f"-c{name}") for name in arguments["collections"])
        error.hint = next(filter(None, hints), error.hint)
        raise
    except VectorIndexMissingError as error:
        error.hint = error.hint or missing_vectors(session, arguments)
        if session.is_embedding():
            error.message = "there are no vectors yet"
        raise


def note_what_is_missing(session: Session, stages: Sequence[Stage], arguments: Mapping[str, Any]) -> None:
    """Note that only words were searched, because there are no vectors, and how to make them."""
    if any(stage.reason == VectorIndexMissingError.MESSAGE for stage in stages):
        session.note(f"searched by words alone: {missing_vectors(session, arguments)}")


def missing_vectors(session: Session, arguments: Mapping[str, Any]) -> str:
    """Say how many documents have no vectors, who makes them or how, and how long that takes."""
    missing = session.index.missing_vectors(arguments["collections"])
    texts = f"{plural(missing.texts, 'text')} without vectors"
    watcher = session.watcher()
    if watcher is not None and watcher.embedding in ("waiting", "running"):
        return f"{texts}: {watcher.command} (process {watcher.pid}) is making them"
    if session.is_embedding():
        return f"{texts}: they are being made"
    time = "" if missing.seconds is None else f", which takes {about(missing.seconds)}"
    return f"{texts}: run 'qmd embed'{time}"


def _response(session: Session, kind: str, request: SearchRequest, mode: str) -> SearchResponse:
    """Run the search. Raises `QmdError` if `mode` is `server` and no server runs this command."""
    if mode == "server" and session.refusal is not None:
        if not session.refusal:
            raise NotFoundError("no server runs for this index", "start one: 'qmd server --daemon'")
        raise QmdError(session.refusal)
    if session.began is not None and session.refusal and request.timeout is not None:
        from msgspec.structs import replace

        left = request.timeout - (time.monotonic() - session.began)
        request = replace(request, timeout=max(round(left, 1), min(request.timeout, _AFTER_SERVER)))
    return session.index.run(kind, request, cancelled=session.cancelled)


def show_response(
    session: Session, format_name: str, text: str, response: SearchResponse, arguments: Mapping[str, Any]
) -> None:
    """Show the hits with the words of a query marked, and note steps that could not run."""
    from qmd.cli.render.explain import unexpected

    people = format_name == "cli"
    show_stages = people and arguments["explain"]
    if not show_stages:
        told = VectorIndexMissingError.MESSAGE  # in the note above, with the number
        session.note(*unexpected([stage for stage in response.stages if stage.reason != told]))
    view = view_for(session, arguments, text if people else None, response.unknown_fields)

    def printed(response: SearchResponse) -> str:
        return _printed(format_name, response, view.replaced(note=response.note), arguments, show_stages)

    if arguments["tokens"] is None:
        write(printed(response))
    else:
        from qmd.engine.documents.fitting import Limit, fit_response

        write(
            fit_response(
                response, Limit(arguments["tokens"], "--tokens", format_name not in _LONG[1:]), printed, str
            )
        )
    note_missing(session, view)
    asked = arguments["limit"] is not None and people and view.terminal
    if response.next_offset is not None and (response.offset or asked):
        session.note(f"{response.extent}: --offset {response.next_offset} shows the next")


def _printed(
    format_name: str, response: SearchResponse, view: View, arguments: Mapping[str, Any], show_stages: bool
) -> str:
    from qmd.cli.render.explain import facets, stages

    if arguments["facets"] and format_name != "cli":
        from qmd.cli.render.programs import dumps, json_hits

        counts = {name: [*map(count_entry, counts)] for name, counts in response.facets.items()}
        results = json_hits(response.hits, view.replaced(escapes=False, terminal=False))
        answer = {"results": results, "facets": counts}
        note = {"note": view.note} if view.note else {}
        return view.written(dumps(answer | note))
    parts = [writer(format_name).hits(response.hits, view)]
    parts += [facets(response, view)] if arguments["facets"] else []
    parts += [stages(response.stages)] if show_stages else []
    return "\n".join(parts)


@command("similar", agents=True)
@options.argument("document", "DOC", "paths")
@options.limit_option(f"Show at most N documents.  [default: {_SIMILAR}]")
@options.collection_option("Search only this collection (may be repeated).")
@options.options_of(
    "similar",
    min_score="Leave out documents with a score below F.",
    explain="Show how near each document is.",
)
@options.path_options
@options.all_formats
def similar(session: Session, document: str, **arguments: Any) -> None:
    """Find documents that are similar to one, by the vectors that exist and by words. No model is loaded.

    'qmd get --help' says how to name DOC; lines (notes/plan.md:10:20) or a section (plan.md#Costs) are
    compared alone. Each document is shown with the passage that is nearest, and the passage of DOC that it is
    similar to. Copies of DOC are left out. With --unlinked, the documents are those that DOC may want to
    link. A score is about 0 for documents about something else, and 1 for the same text.

    Without vectors of DOC, documents with its most telling words are found. Run 'qmd embed'.

    Examples:
      qmd similar notes/plan.md
      qmd similar notes/ops.md --unlinked -n 5
      qmd similar 'notes/ops.md#Backups' -c work --json
    """
    from qmd.engine.requests import of_document

    request = of_document(options.search_request(document, arguments, arguments["limit"] or _SIMILAR))
    response = session.index.run("similar", request, cancelled=session.cancelled)
    show_response(session, options.chosen_format(), "", response, arguments | {"facets": ()})
