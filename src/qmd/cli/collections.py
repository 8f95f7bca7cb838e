"""`collection ...`: the folders that are indexed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from qmd.cli.command import Group, help_alone
from qmd.cli.options import json_option
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import counted, local_time
from qmd.cli.terminal import BOLD, clean_name, columns, has_colours, one_line, say, styled, write
from qmd.types import DEFAULT_PATTERN

if TYPE_CHECKING:
    from qmd.engine.status import CollectionStatus
    from qmd.types import Collection

ALIASES = {"rm": "remove", "mv": "rename", "info": "show"}


@click.group(cls=Group, aliases=ALIASES)
@click.pass_context
def collection(ctx: click.Context) -> None:
    """Add, list, show, remove and rename collections: the folders that are indexed.

    \b
    Examples:
      qmd collection add ~/notes
      qmd collection list
    """
    help_alone(ctx)


@collection.command()
@click.argument("path", required=False, default=".", metavar="[PATH]")
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
@json_option
@pass_session
def list_(session: Session, as_json: bool) -> None:
    """List the collections, their folders, and how many files each has.

    \b
    Example:
      qmd collection list
    """
    states = session.index.status().collections
    config = session.index.config.collections
    if as_json:
        _print_json([_as_json(config[each.name], each) for each in states])
        return
    if not states:
        say("No collections yet. Add one with: qmd collection add PATH")
        return
    say(f"Collections ({len(states)}):")
    for each in states:
        say()
        for line in _described(config[each.name], each):
            say(line)


@collection.command()
@click.argument("name")
@json_option
@pass_session
def show(session: Session, name: str, as_json: bool) -> None:
    """Show one collection, its contexts included.

    \b
    Example:
      qmd collection show notes
    """
    found = session.index.collection(name)
    state = next(each for each in session.index.status().collections if each.name == found.name)
    if as_json:
        _print_json(_as_json(found, state))
        return
    for line in _described(found, state):
        say(line)
    for prefix, text in found.context.items():
        say(f"  Context of {clean_name(prefix) or 'all of it'}: {one_line(text)}")


@collection.command()
@click.argument("name")
@pass_session
def remove(session: Session, name: str) -> None:
    """Forget a collection; its files stay.

    \b
    Example:
      qmd collection remove notes
    """
    path = session.index.collection(name).path
    removed = session.index.remove_collection(name)
    documents = counted(removed, "document")
    say(f"Removed collection '{clean_name(name)}' ({documents}); the files in {clean_name(path)} stay.")


@collection.command()
@click.argument("old")
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


def _next_steps(session: Session, name: str) -> None:
    """What to do now, as commands that can be copied."""
    if session.quiet:
        return
    from shlex import quote

    steps = [
        ('qmd search "..." -c ' + quote(name), "find documents by their words"),
        ("qmd embed", "then vsearch and query find by meaning too"),
        (f'qmd context add {quote("qmd://" + name)} "..."', "say what these documents are about"),
    ]
    say("\nNext:")
    for line in columns(steps):
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


def _as_json(found: Collection, state: CollectionStatus) -> dict[str, Any]:
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


def _print_json(value: Any) -> None:
    from qmd.cli.render.json import dumps

    write(dumps(value))
