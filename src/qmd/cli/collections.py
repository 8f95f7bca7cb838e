"""`collection ...`: the folders that are indexed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from qmd.cli import candidates
from qmd.cli.command import Command, Group, fail, help_alone
from qmd.cli.options import all_formats, chosen_format
from qmd.cli.render.rows import Column, Listing
from qmd.cli.session import Session, pass_session
from qmd.cli.show import show_json, show_listing
from qmd.cli.sizes import local_time
from qmd.cli.terminal import BOLD, clean_name, columns, has_colours, one_line, say, styled, write
from qmd.text.wording import plural
from qmd.types import DEFAULT_PATTERN

if TYPE_CHECKING:
    from qmd.engine.upkeep.status import CollectionStatus
    from qmd.types import Collection

ALIASES = {"rm": "remove", "mv": "rename", "info": "show", "set-update": "update-cmd"}
#: What is listed of a collection.
_COLUMNS = (
    "name",
    "path",
    "pattern",
    "ignore",
    "encoding",
    "update",
    "include_by_default",
    "documents",
    "bytes",
    "last_updated",
    "context",
)


@click.group(cls=Group, aliases=ALIASES)
@click.pass_context
def collection(ctx: click.Context) -> None:
    """Add, list, show and change collections: the folders that are indexed.

    \b
    Examples:
      qmd collection add ~/notes
      qmd collection list
    """
    help_alone(ctx)


@collection.command()
@click.argument("path", required=False, default=".", metavar="[PATH]", shell_complete=candidates.folders)
@click.option("--name", metavar="N", help="Call it N.  [default: the folder's name]")
@click.option(
    "--mask",
    "--pattern",
    "--glob",
    "pattern",
    default=DEFAULT_PATTERN,
    metavar="GLOB",
    help=f"Index the files that match; commas and braces mean or.  [default: {DEFAULT_PATTERN}]",
)
@click.option("--ignore", multiple=True, metavar="GLOB", help="Leave these files out (may be repeated).")
@click.option("--encoding", metavar="E", help="The charset of files that are not UTF-8, such as gb18030.")
@pass_session
def add(
    session: Session,
    path: str,
    name: str | None,
    pattern: str,
    ignore: tuple[str, ...],
    encoding: str | None,
) -> None:
    """Make a folder a collection, and index it.

    \b
    Examples:
      qmd collection add
      qmd collection add ~/notes --name notes
      qmd collection add ~/code/app --mask '**/*.{md,txt}' --ignore 'drafts/**'
    """
    from qmd.cli.indexing import problem_lines, report_lines
    from qmd.cli.progress import Bar

    with Bar("Indexing", quiet=session.quiet) as bar:

        def on_progress(label: str, done: int, total: int) -> None:
            if done < total:
                bar.update(done, total, label=label)

        report = session.index.add_collection(
            path, name, pattern=pattern, ignore=ignore, encoding=encoding, on_progress=on_progress
        )
    added = session.index.collection(report.collection)
    say(
        f"Added collection '{clean_name(added.name)}': {clean_name(added.path)} ({clean_name(added.pattern)})"
    )
    for line in report_lines(report):
        say(line)
    for line in problem_lines(report):
        write(line + "\n", sys.stderr)
    if report.added or report.unchanged:
        _next_steps(session, added.name)
    else:
        session.note(f"no file in {added.path} matches {added.pattern}: see --mask")


@collection.command("list")
@all_formats
@pass_session
def list_(session: Session) -> None:
    """List the collections, their folders, and how many files each has.

    \b
    Examples:
      qmd collection list
      qmd collection list --format csv
    """
    states = session.index.status().collections
    config = session.index.config.collections
    if chosen_format() != "cli":
        show_listing(_listing([_row(config[each.name], each) for each in states]))
        return
    if not states:
        say(session.addressed("No collections yet. Add one with: qmd collection add PATH"))
        return
    say(f"Collections ({len(states)}):")
    for each in states:
        say()
        for line in _described(config[each.name], each):
            say(line)


@collection.command()
@click.argument("name", shell_complete=candidates.collections)
@all_formats
@pass_session
def show(session: Session, name: str) -> None:
    """Show one collection, its contexts included.

    \b
    Example:
      qmd collection show notes
    """
    found = session.index.collection(name)
    state = next(each for each in session.index.status().collections if each.name == found.name)
    match chosen_format():
        case "cli":
            for line in _described(found, state):
                say(line)
            for prefix, text in found.context.items():
                say(f"  Context of {clean_name(prefix) or 'all of it'}: {one_line(text)}")
        case "json":
            show_json(_row(found, state))
        case _:
            show_listing(_listing([_row(found, state)]))


@collection.command()
@click.argument("name", shell_complete=candidates.collections)
@pass_session
def remove(session: Session, name: str) -> None:
    """Forget a collection; its files stay.

    \b
    Example:
      qmd collection remove notes
    """
    removed = session.index.remove_collection(name)
    say(f"Removed collection '{clean_name(name)}' ({plural(removed, 'document')}); its files stay.")


@collection.command()
@click.argument("old", shell_complete=candidates.collections)
@click.argument("new")
@pass_session
def rename(session: Session, old: str, new: str) -> None:
    """Give a collection another name.

    \b
    Example:
      qmd collection rename notes diary
    """
    session.index.rename_collection(old, new)
    say(
        f"Renamed collection '{clean_name(old)}' to '{clean_name(new)}': its addresses are qmd://{clean_name(new)}/..."
    )


@collection.command()
@click.argument("name", shell_complete=candidates.collections)
@pass_session
def include(session: Session, name: str) -> None:
    """Search a collection whenever no other is named, as by default.

    \b
    Example:
      qmd collection include notes
    """
    session.index.include_collection(name)
    say(f"Collection '{clean_name(name)}' is searched by default.")


@collection.command()
@click.argument("name", shell_complete=candidates.collections)
@pass_session
def exclude(session: Session, name: str) -> None:
    """Search a collection only when it is named with -c.

    \b
    Example:
      qmd collection exclude archive
    """
    session.index.include_collection(name, False)
    say(f"Collection '{clean_name(name)}' is searched only when named: -c {_quoted(name)}")


class _Verbatim(Command):
    """A command whose arguments may hold options of other programs."""

    allow_interspersed_args = False


@collection.command("update-cmd", cls=_Verbatim)
@click.argument("name", shell_complete=candidates.collections)
@click.argument("words", nargs=-1, metavar="[CMD...]")
@pass_session
def update_command(session: Session, name: str, words: tuple[str, ...]) -> None:
    """Set the command that 'qmd update' runs first in the folder; without CMD, there is none any more.

    In quotes it is a line for the shell; several words are one command, as they stand.

    \b
    Examples:
      qmd collection update-cmd notes git pull --ff-only
      qmd collection update-cmd notes 'git pull && make docs'
      qmd collection update-cmd notes
    """
    from shlex import join

    if words and words[0].startswith("-"):
        fail(f"options stand before the collection's name, and a command does not begin with '{words[0]}'")
    command = words[0] if len(words) == 1 else join(words)
    session.index.set_update_command(name, command)
    if command.strip():
        done = f"'qmd update' first runs this in the folder of '{clean_name(name)}'"
        say(f"{session.addressed(done)}: {one_line(command)}")
    else:
        say(session.addressed(f"'qmd update' runs no command for '{clean_name(name)}'."))


def _next_steps(session: Session, name: str) -> None:
    """What to do now, as commands that can be copied."""
    if session.quiet:
        return
    steps = [
        ('qmd search "..." -c ' + _quoted(name), "find documents by their words"),
        ("qmd embed", "then vsearch and query find by meaning too"),
        (f'qmd context add {_quoted("qmd://" + name)} "..."', "say what these documents are about"),
    ]
    say("\nNext:")
    for line in columns([(session.addressed(command), what) for command, what in steps]):
        say(f"  {line}")


def _described(found: Collection, state: CollectionStatus) -> list[str]:
    name = clean_name(found.name)
    title = styled(name, BOLD) if has_colours(sys.stdout) else name
    rows = [("Path:", clean_name(found.path)), ("Pattern:", clean_name(found.pattern))]
    if found.ignore:
        rows.append(("Ignore:", clean_name(", ".join(found.ignore))))
    if found.encoding:
        rows.append(("Encoding:", found.encoding))
    if found.update:
        rows.append(("Update:", one_line(found.update)))
    rows.append(("Files:", f"{state.documents:,}"))
    rows.append(("Updated:", local_time(state.last_updated) if state.last_updated else "never"))
    if state.contexts:
        rows.append(("Contexts:", str(state.contexts)))
    note = "" if found.include_by_default else "  [searched only when named]"
    return [f"{title}  qmd://{name}/{note}", *(f"  {line}" for line in columns(rows))]


def _listing(rows: list[dict[str, Any]]) -> Listing:

    table = [Column(name, right=name in ("documents", "bytes")) for name in _COLUMNS]
    return Listing("collections", "collection", table, rows)


def _row(found: Collection, state: CollectionStatus) -> dict[str, Any]:
    return {
        "name": found.name,
        "path": found.path,
        "pattern": found.pattern,
        "ignore": list(found.ignore),
        "encoding": found.encoding,
        "update": found.update,
        "include_by_default": found.include_by_default,
        "documents": state.documents,
        "bytes": state.bytes,
        "last_updated": state.last_updated,
        "context": dict(found.context),
    }


def _quoted(text: str) -> str:
    """As a word for the shell."""
    from shlex import quote

    return quote(text)
