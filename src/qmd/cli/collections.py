"""`collection`: add, list, show and change collections."""

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
#: The columns of a listing.
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
@click.option("--name", metavar="N", help="Name the collection N.  [default: the folder's name]")
@click.option(
    "--mask",
    "--pattern",
    "--glob",
    "pattern",
    default=DEFAULT_PATTERN,
    metavar="GLOB",
    help=f"Index the files that match; use commas or braces for alternatives.  [default: {DEFAULT_PATTERN}]",
)
@click.option(
    "--ignore", multiple=True, metavar="GLOB", help="Do not index the files that match (may be repeated)."
)
@click.option("--encoding", metavar="E", help="The encoding of files that are not UTF-8, such as gb18030.")
@pass_session
def add(
    session: Session,
    path: str,
    name: str | None,
    pattern: str,
    ignore: tuple[str, ...],
    encoding: str | None,
) -> None:
    """Add a folder as a collection, and index it.

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
    """List the collections with their folders and numbers of files.

    \b
    Examples:
      qmd collection list
      qmd collection list --format csv
    """
    statuses = session.index.status().collections
    config = session.index.config.collections
    if chosen_format() != "cli":
        show_listing(_listing([_row(config[status.name], status) for status in statuses]))
        return
    if not statuses:
        say(session.addressed("No collections yet. Add one with: qmd collection add PATH"))
        return
    say(f"Collections ({len(statuses)}):")
    for status in statuses:
        say()
        for line in _lines(config[status.name], status):
            say(line)


@collection.command()
@click.argument("name", shell_complete=candidates.collections)
@all_formats
@pass_session
def show(session: Session, name: str) -> None:
    """Show one collection with its contexts.

    \b
    Example:
      qmd collection show notes
    """
    found = session.index.collection(name)
    status = next(each for each in session.index.status().collections if each.name == found.name)
    match chosen_format():
        case "cli":
            for line in _lines(found, status):
                say(line)
            for prefix, text in found.context.items():
                say(f"  Context of {clean_name(prefix) or 'the whole collection'}: {one_line(text)}")
        case "json":
            show_json(_row(found, status))
        case _:
            show_listing(_listing([_row(found, status)]))


@collection.command()
@click.argument("name", shell_complete=candidates.collections)
@pass_session
def remove(session: Session, name: str) -> None:
    """Remove a collection from the index; its files stay on disk.

    \b
    Example:
      qmd collection remove notes
    """
    removed = session.index.remove_collection(name)
    say(f"Removed collection '{clean_name(name)}' ({plural(removed, 'document')}); its files stay on disk.")


@collection.command()
@click.argument("old", shell_complete=candidates.collections)
@click.argument("new")
@pass_session
def rename(session: Session, old: str, new: str) -> None:
    """Give a collection a new name.

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
    """Include a collection in searches that name no collection.

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
    """Exclude a collection from searches that do not name it with -c.

    \b
    Example:
      qmd collection exclude archive
    """
    session.index.include_collection(name, False)
    say(f"Collection '{clean_name(name)}' is searched only when named: -c {_quoted(name)}")


class _Verbatim(Command):
    """A command whose arguments may contain options of another program."""

    allow_interspersed_args = False


@collection.command("update-cmd", cls=_Verbatim)
@click.argument("name", shell_complete=candidates.collections)
@click.argument("words", nargs=-1, metavar="[CMD...]")
@pass_session
def update_command(session: Session, name: str, words: tuple[str, ...]) -> None:
    """Set the command that 'qmd update' runs in the folder before it scans; without CMD, remove it.

    A single quoted argument is a shell command line. Several words are one command and its arguments.

    \b
    Examples:
      qmd collection update-cmd notes git pull --ff-only
      qmd collection update-cmd notes 'git pull && make docs'
      qmd collection update-cmd notes
    """
    from shlex import join

    if words and words[0].startswith("-"):
        fail(f"options come before the collection's name, and a command cannot begin with '{words[0]}'")
    command = words[0] if len(words) == 1 else join(words)
    session.index.set_update_command(name, command)
    if command.strip():
        prefix = f"'qmd update' first runs this in the folder of '{clean_name(name)}'"
        say(f"{session.addressed(prefix)}: {one_line(command)}")
    else:
        say(session.addressed(f"'qmd update' runs no command for '{clean_name(name)}'."))


def _next_steps(session: Session, name: str) -> None:
    """Suggest what to do next, as commands to copy."""
    if session.quiet:
        return
    steps = [
        ('qmd search "..." -c ' + _quoted(name), "search by keyword"),
        ("qmd embed", "make vectors, so that vsearch and query work"),
        (f'qmd context add {_quoted("qmd://" + name)} "..."', "describe these documents"),
    ]
    say("\nNext:")
    for line in columns([(session.addressed(command), text) for command, text in steps]):
        say(f"  {line}")


def _lines(collection: Collection, status: CollectionStatus) -> list[str]:
    name = clean_name(collection.name)
    title = styled(name, BOLD) if has_colours(sys.stdout) else name
    rows = [("Path:", clean_name(collection.path)), ("Pattern:", clean_name(collection.pattern))]
    if collection.ignore:
        rows.append(("Ignore:", clean_name(", ".join(collection.ignore))))
    if collection.encoding:
        rows.append(("Encoding:", collection.encoding))
    if collection.update:
        rows.append(("Update:", one_line(collection.update)))
    rows.append(("Files:", f"{status.documents:,}"))
    rows.append(("Updated:", local_time(status.last_updated) if status.last_updated else "never"))
    if status.contexts:
        rows.append(("Contexts:", str(status.contexts)))
    note = "" if collection.include_by_default else "  [searched only when named]"
    return [f"{title}  qmd://{name}/{note}", *(f"  {line}" for line in columns(rows))]


def _listing(rows: list[dict[str, Any]]) -> Listing:

    table = [Column(name, right=name in ("documents", "bytes")) for name in _COLUMNS]
    return Listing("collections", "collection", table, rows)


def _row(collection: Collection, status: CollectionStatus) -> dict[str, Any]:
    return {
        "name": collection.name,
        "path": collection.path,
        "pattern": collection.pattern,
        "ignore": list(collection.ignore),
        "encoding": collection.encoding,
        "update": collection.update,
        "include_by_default": collection.include_by_default,
        "documents": status.documents,
        "bytes": status.bytes,
        "last_updated": status.last_updated,
        "context": dict(collection.context),
    }


def _quoted(text: str) -> str:
    """Quote a word for the shell."""
    from shlex import quote

    return quote(text)
