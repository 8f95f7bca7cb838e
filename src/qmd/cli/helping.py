"""`help`: the help of a command, asked for by its name."""

from __future__ import annotations

from collections.abc import Iterable

import click

from qmd.cli.command import Command
from qmd.cli.terminal import say


def _commands(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the commands that start with `incomplete`, below those named before."""
    try:
        shown = _resolve(ctx, ctx.params.get(param.name or "") or ())
    except click.UsageError:
        return []
    group = shown.command
    names = group.list_commands(shown) if isinstance(group, click.Group) else []
    return [name for name in names if name.startswith(incomplete)]


@click.command("help", cls=Command)
@click.argument("names", nargs=-1, metavar="[COMMAND ...]", shell_complete=_commands)
@click.pass_context
def help_(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Show the help of a command, or of qmd itself.

    \b
    Examples:
      qmd help
      qmd help search
      qmd help collection add
    """
    say(_resolve(ctx, names).get_help())


def _resolve(ctx: click.Context, names: Iterable[str]) -> click.Context:
    """Return the context of a command. Raises `click.UsageError` if there is no such command."""
    found = ctx.find_root()
    for name in names:
        if not isinstance(found.command, click.Group):
            raise click.UsageError(f"'{found.command_path}' has no commands of its own", found)
        _, command, _ = found.command.resolve_command(found, [name])
        if command is None:  # while completing, the group does not refuse an unknown name
            raise click.UsageError(f"no such command '{name}'", found)
        found = click.Context(command, found, info_name=name)
    return found
