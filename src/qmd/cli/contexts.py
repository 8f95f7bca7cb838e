"""`context ...`: what folders are about, shown with every result from them."""

from __future__ import annotations

import sys

import click

from qmd.cli import candidates
from qmd.cli.command import Group, fail, help_alone
from qmd.cli.options import all_formats, chosen_format
from qmd.cli.render.rows import Column, Listing
from qmd.cli.session import Session, pass_session
from qmd.cli.show import show_listing
from qmd.cli.terminal import BOLD, clean_name, has_colours, one_line, say, styled


@click.group(cls=Group, aliases={"remove": "rm"})
@click.pass_context
def context(ctx: click.Context) -> None:
    """Say what collections and folders are about; searches show it with what they find there.

    A place is / (everything), qmd://collection/folder, or a folder on disk inside a collection.

    \b
    Examples:
      qmd context add qmd://notes "Personal notes and ideas"
      qmd context list
    """
    help_alone(ctx)


@context.command()
@click.argument("arguments", nargs=-1, required=True, metavar="[PATH] TEXT", shell_complete=candidates.places)
@pass_session
def add(session: Session, arguments: tuple[str, ...]) -> None:
    """Describe a place; without PATH, the current folder. A text that is there is replaced.

    \b
    Examples:
      qmd context add / "Everything about the shop"
      qmd context add qmd://notes/work "Meetings with suppliers"
      cd ~/notes/recipes && qmd context add "Recipes, tried and untried"
    """
    if len(arguments) > 2:
        fail("one PATH and one TEXT are wanted: put the text in quotes")
    path, text = arguments if len(arguments) == 2 else (".", arguments[0])
    if len(arguments) == 1 and (text == "/" or text.startswith("qmd://")):
        fail(f"the text that describes {text} is missing")
    place = session.index.add_context(path, text)
    say(f"Added context for {_named(place)}")


@context.command("list")
@all_formats
@pass_session
def list_(session: Session) -> None:
    """List the places that are described, with their texts.

    \b
    Examples:
      qmd context list
      qmd context list --json
    """
    found = session.index.contexts()
    if chosen_format() != "cli":
        rows = [{"path": place, "context": text} for place, text in found]
        show_listing(Listing("contexts", "place", (Column("path"), Column("context")), rows))
        return
    if not found:
        nothing = 'No contexts yet. Add one with: qmd context add qmd://COLLECTION "what it is about"'
        say(session.addressed(nothing))
    colours = has_colours(sys.stdout)
    for place, text in found:
        say(styled(clean_name(place), BOLD) if colours else clean_name(place))
        for line in text.splitlines():
            say(f"  {one_line(line)}".rstrip())


@context.command("rm")
@click.argument("path", shell_complete=candidates.described)
@pass_session
def remove(session: Session, path: str) -> None:
    """Forget what was said of a place.

    \b
    Example:
      qmd context rm qmd://notes/work
    """
    place = session.index.remove_context(path)
    say(f"Removed context for {_named(place)}")


@context.command()
@all_formats
@pass_session
def check(session: Session) -> None:
    """Name collections and top folders that are not described, each with the command that does it.

    \b
    Examples:
      qmd context check
      qmd context check --format files
    """
    from shlex import quote

    rows = [
        {
            "path": place,
            "documents": documents,
            "command": session.addressed(f'qmd context add {quote(place)} "what it is about"'),
        }
        for place, documents in session.index.undescribed()
    ]
    table = (
        Column("path", "Not described"),
        Column("documents", right=True),
        Column("command", "Describe it with"),
    )
    nothing = "Every collection and top folder that has documents is described."
    show_listing(Listing("places", "place", table, rows, nothing))


def _named(place: str) -> str:
    return f"everything ({place})" if place == "qmd://" else clean_name(place)
