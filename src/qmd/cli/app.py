"""The `qmd` command of click, and `help`. `start` runs often used commands without it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import click

from qmd._version import __version__
from qmd.cli import running
from qmd.cli.command import Group, command
from qmd.cli.commands import ALIASES, COMMANDS, LOADABLE
from qmd.cli.console import current
from qmd.cli.definition import Definition
from qmd.cli.session import Session
from qmd.cli.terminal import say
from qmd.cli.usage import Exit
from qmd.errors import PluginError


class App(Group):
    """The program: runs a command, shows its error, and exits with its exit code."""

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        if "_QMD_COMPLETE" in os.environ:
            import_module("qmd.cli.completion")  # registers the output formats of the shells
            super().main(args, prog_name="qmd")
        sys.exit(import_module("qmd.cli.start").run(sys.argv[1:] if args is None else args))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        current().format = None  # the small parser may have read one
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, of another package if qmd has none of this name."""
        try:
            own = super().get_command(ctx, cmd_name) or LOADABLE.load(cmd_name)
            return own.click if isinstance(own, Definition) else own
        except PluginError:
            if ctx.resilient_parsing:  # a completion shows no errors
                return None
            raise


def run(app: click.Group, args: Sequence[str]) -> int:
    """Run a command of `app`, show its error if it fails, and return its exit code."""
    session = Session()
    return running.run(session, partial(act, app, [*args], session))


def act(app: click.Group, words: list[str], session: Session) -> None:
    """Let click read the words, and run the command that they name."""
    try:
        with app.make_context("qmd", words, obj=session) as ctx:
            app.invoke(ctx)
    except click.exceptions.Exit as done:
        raise Exit(done.exit_code) from None


@click.group(cls=App, table=COMMANDS, aliases=ALIASES)
@click.version_option(__version__, "-v", "--version", message=f"qmd {__version__}", help="Show the version.")
def app() -> None:
    """Search folders of Markdown on your own machine: by keyword, by meaning, or both.

    \b
    qmd collection add ~/notes         index a folder
    qmd embed                          make vectors, to search by meaning
    qmd query "how do I deploy this"   search
    qmd get notes/deploy.md            read a result
    """


def _commands(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the commands that start with `incomplete`, inside the groups named before."""
    try:
        parent = _resolve(ctx, ctx.params.get(param.name or "") or ())
    except click.UsageError:
        return []
    names = parent.command.list_commands(parent) if isinstance(parent.command, click.Group) else []
    return [name for name in names if name.startswith(incomplete)]


@command("help")
@click.argument("names", nargs=-1, metavar="[COMMAND ...]", shell_complete=_commands)
def help_(session: Session, names: tuple[str, ...]) -> None:
    """Show the help of a command, or of qmd itself.

    Examples:
      qmd help
      qmd help search
      qmd help collection add
    """
    say(_resolve(click.get_current_context(), names).get_help())


def _resolve(ctx: click.Context, names: Iterable[str]) -> click.Context:
    """Return the context of a command. Raises `click.UsageError` if there is no such command."""
    context = ctx.find_root()
    for name in names:
        if not isinstance(context.command, click.Group):
            raise click.UsageError(f"'{context.command_path}' has no subcommands", context)
        _, command, _ = context.command.resolve_command(context, [name])
        if command is None:  # during completion, the group does not refuse an unknown name
            raise click.UsageError(f"no such command '{name}'", context)
        context = click.Context(command, context, info_name=name)
    return context
