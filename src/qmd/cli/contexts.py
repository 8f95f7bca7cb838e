"""`context`: describe collections and folders."""

from __future__ import annotations

from itertools import groupby

from qmd.cli.command import group
from qmd.cli.options import all_formats, argument
from qmd.cli.render.rows import Column
from qmd.cli.session import Session
from qmd.cli.show import show_listing
from qmd.cli.terminal import BOLD, clean_name, one_line, painted, say, shell_words
from qmd.cli.usage import fail


@group(aliases={"remove": "rm"})
def context() -> None:
    """Describe collections and folders. Searches show the description, called context, with each result.

    A path is / (everything), qmd://collection/folder, or a folder on disk inside a collection.

    Examples:
      qmd context add qmd://notes "Personal notes and ideas"
      qmd context list
    """


@context.command()
@argument("arguments", "[PATH] TEXT", "context_paths", multiple=True, required=True)
def add(session: Session, arguments: tuple[str, ...]) -> None:
    """Describe a path, or the current folder if PATH is not given. An existing text is replaced.

    Examples:
      qmd context add / "Everything about the shop"
      qmd context add qmd://notes/work "Meetings with suppliers"
      cd ~/notes/recipes && qmd context add "Recipes, tried and untried"
    """
    if len(arguments) > 2:
        fail("give one PATH and one TEXT: put the text in quotes")
    path, text = arguments if len(arguments) == 2 else (".", arguments[0])
    named = text == "/" or text.startswith("qmd://") or text in session.index.config.collections
    if len(arguments) == 1 and named:
        fail(f"the TEXT that describes {text} is missing")
    say(f"Added context for {_display(session.index.add_context(path, text))}")


@context.command("list", agents=True)
@all_formats
def list_(session: Session) -> None:
    """List the contexts and the paths they describe.

    Examples:
      qmd context list
      qmd context list --json
    """
    session.uses |= {"context"}
    contexts = session.index.contexts()
    lines = ["Configured Contexts"]
    for name, described in groupby(contexts, key=lambda each: _parts(each[0])[0]):
        lines += ["", painted(clean_name(name), BOLD)]
        for path, text in described:
            lines.append(f"  {clean_name(_parts(path)[1]) or '/ (root)'}")
            lines += [f"    {one_line(line)}".rstrip() for line in text.splitlines()]
    rows = [{"path": path, "context": text} for path, text in contexts]
    nothing = 'No contexts yet. Add one with: qmd context add qmd://COLLECTION "what it is about"'
    show_listing("contexts", "place", ("path", "context"), rows, session.addressed(nothing), lines=lines)


@context.command("rm")
@argument("path", "PATH", "described_paths")
def remove(session: Session, path: str) -> None:
    """Remove the context of a path.

    Example:
      qmd context rm qmd://notes/work
    """
    say(f"Removed context for {_display(session.index.remove_context(path))}")


@context.command()
@all_formats
def check(session: Session) -> None:
    """List collections and top folders without context, each with the command that adds it.

    Examples:
      qmd context check
      qmd context check --format files
    """
    session.uses |= {"context"}
    rows = [
        {
            "path": path,
            "documents": documents,
            "command": session.addressed(f'qmd context add {shell_words(path)} "what it is about"'),
        }
        for path, documents in session.index.undescribed()
    ]
    table = Column("path", "No context"), Column("documents", right=True), Column("command", "Add it with")
    nothing = "Every collection and top folder that has documents has a context."
    show_listing("places", "place", table, rows, nothing)


def _parts(path: str) -> tuple[str, str]:
    """Return the collection that a context is of, or "/" for all, and the folder in it."""
    name, _, folder = path.removeprefix("qmd://").partition("/")
    return name or "/", folder and f"/{folder}"


def _display(path: str) -> str:
    return f"everything ({path})" if path == "qmd://" else clean_name(path)
