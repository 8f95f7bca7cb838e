"""The command `qmd` itself, which has all others below it, and `help`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qmd.cli.command import Command, Group, command
from qmd.cli.commands import COMMANDS, OLDER
from qmd.cli.help import show_help
from qmd.cli.options import argument, flag
from qmd.cli.session import Session
from qmd.cli.usage import MisuseError


@flag("-v", "--version", help="Show the version.", goes="answer")
def qmd(_: Session) -> None:
    """Search your notes and documents on your own machine: by keyword, by meaning, or both.

    qmd add ~/notes                    index a folder
    qmd query "how do I deploy this"   search
    qmd get notes/deploy.md            read a result
    """


app = Group(qmd, aliases=OLDER, table=COMMANDS, acts_alone=True, runs="qmd.cli.home:show", agents=True)


@command("help", agents=True)
@argument("names", "[COMMAND ...]", "commands")
@flag("--all", "everything", help="Describe all commands, or all options in full.")
def help_(session: Session, names: tuple[str, ...], everything: bool) -> None:
    """Show the help of a command, or of qmd itself.

    Examples:
      qmd help
      qmd help search
      qmd help --all
      qmd help collection add
    """
    found, path = named(names)
    if isinstance(found, Command):
        show_help(found, path, everything=everything)
    else:
        from qmd.cli.foreign import run_foreign

        run_foreign(found, path, ["--help"], session)


def named(words: Sequence[str]) -> tuple[Any, str]:
    """Return the command that words name, and its path. Raises `MisuseError` if there is none."""
    found: Any = app
    path, left = "qmd", [*words]
    while left:
        found, path, left = command_of(found, path, left)
        left = [word for word in left if not word.startswith("-")]  # those of an older name
    return found, path


def command_of(group: Any, path: str, words: list[str]) -> tuple[Any, str, list[str]]:
    """Return the command of a group with which words begin, its path, and the words for it.

    Raises `MisuseError` if there is none.
    """
    if not isinstance(group, Group):
        raise MisuseError(f"'{path}' has no subcommands", path)
    name, left = group.divided(words)
    found = group.find(name)
    if found is None:
        told = f"no such command '{words[0]}'"
        raise MisuseError(told, path, cause="command", words=words, names=[*group.names(), *group.aliases])
    return found, f"{path} {name}", left
