"""`saved`, with its commands; and what `--save`, `--new` and `@NAME` do in the commands of searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.cli import options
from qmd.cli.command import group
from qmd.cli.commands import LOADABLE
from qmd.cli.reading import read, split
from qmd.cli.session import Session
from qmd.cli.show import show_listing
from qmd.cli.terminal import clean_name, say, shell_words
from qmd.cli.usage import NotInServerError, fail
from qmd.errors import NotFoundError
from qmd.search_options import CONDITIONS
from qmd.text.similar import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from qmd.cli.parameters import Parameter
    from qmd.cli.search import Search
    from qmd.types import SearchResponse

#: What is not part of a search itself.
_NOT_SAVED = ("save", "new")


@group("saved", acts_alone=True, agents=True)
@options.all_formats
def saved(session: Session, subcommand: str | None) -> None:
    """List the saved searches.

    'qmd search WORDS --save NAME' saves one with its options, and so do vsearch and query. 'qmd search @NAME'
    runs it again, also with other options, and --new shows what was not there the last time. They are kept
    beside index.yml.

    Example:
      qmd saved
    """
    if subcommand is not None:
        return
    rows = [
        {"name": each.name, "command": each.command, "query": each.query, "words": each.words}
        for each in session.index.saved_searches()
    ]
    lines = [f"@{row['name']}: qmd {row['command']} {shell_words(*row['words'])}" for row in rows]
    nothing = "No searches are saved: 'qmd search WORDS --save NAME' saves one."
    columns = ("name", "command", "query", "words")
    show_listing("searches", "search", columns, rows, nothing, lines=map(clean_name, lines))


@saved.command("remove")
@options.argument("name", "NAME")
def remove(session: Session, name: str) -> None:
    """Forget a saved search.

    Example:
      qmd saved remove deploys
    """
    session.index.remove_saved_search(name.removeprefix("@"))
    say(f"Removed @{clean_name(name.removeprefix('@'))}.")


def search(
    session: Session, kind: str, words: tuple[str, ...], arguments: Mapping[str, Any], run: Search
) -> None:
    """Run a search that is saved, or save one; `run` does the search itself."""
    if session.refusal is None:
        raise NotInServerError  # the file belongs to the user's process
    if arguments["save"] is not None:
        _save(session, kind, words, arguments, run)
        return
    name = words[0][1:] if words and words[0][0] == "@" else ""
    known = {each.name: each for each in session.index.saved_searches()} if name else {}
    found = known.get(name)
    if found is None:
        if meant := did_you_mean(name, known):
            session.note(f"no search is saved as '{clean_name(name)}', so it is a text; {meant.strip()}")
        if arguments["new"]:
            raise NotFoundError("--new needs a saved search, as in @NAME", "'qmd saved' lists them")
        run(session, kind, words, arguments, lambda response: response)  # a text that begins with @
        return
    if len(words) > 1:
        fail("the name of a saved search stands alone; options may follow")
    given, _ = _divided(session)
    *kept, text = found.words
    saved: Any = LOADABLE.load(found.command)
    values, _ = read(saved, f"qmd {found.command}", [*kept, *given, "--", text], session)

    def new(response: SearchResponse) -> SearchResponse:
        from msgspec.structs import replace  # help does without it

        files = session.index.newly_found(name, [hit.file for hit in response.hits])
        return replace(response, hits=tuple(hit for hit in response.hits if hit.file in files), more=False)

    only_new = new if arguments["new"] else lambda response: response
    run(session, found.command, values.pop("text"), values, only_new)


def _save(
    session: Session, kind: str, words: tuple[str, ...], arguments: Mapping[str, Any], run: Search
) -> None:
    text, (given, _) = options.query_text(words), _divided(session)
    seen: list[str] = []

    def note(response: SearchResponse) -> SearchResponse:
        seen.extend(hit.file for hit in response.hits)
        return response

    run(session, kind, words, arguments, note)
    query = " ".join((*_typed(arguments), text)).strip()
    session.index.save_search(arguments["save"], kind, (*given, text), query, seen)
    session.note(f"saved: qmd search @{arguments['save']}")


def _divided(session: Session) -> tuple[list[str], list[str]]:
    """Return the options of a search that were given, and its other words."""
    assert session.command is not None
    found, others, _ = split([*session.command.shared, *session.command.parameters], session.words)
    own = [
        (option, value)
        for option, value in found
        if option.goes not in ("session", "format", "answer") and option.to not in _NOT_SAVED
    ]
    return [_written(option, value) for option, value in own], others


def _written(option: Parameter, value: Any) -> str:
    if option.flag:
        return option.names[-1] if value else option.off[-1]
    return f"{option.names[-1]}={value}"


def _typed(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the filters among options as they are typed in a query."""
    if arguments["current"]:
        yield "state:current"
    for name in ("collections", *CONDITIONS):
        given = () if name == "current" else arguments[name]
        for value in (given,) if isinstance(given, str) else given or ():
            quoted = f'"{value}"' if " " in value else value
            if name == "where":
                yield f"[{value}]"
            elif name != "filter":  # in JSON, which nobody types
                yield f"{name.removesuffix('s')}:{quoted}"
