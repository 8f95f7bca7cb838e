"""What every command shares: global options, help, and errors that suggest what was meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, NoReturn, cast

import click

from qmd.cli.commands import Table, names
from qmd.cli.session import Session
from qmd.cli.terminal import say

_CONTEXT: dict[str, Any] = {
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100}
}


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Note a global option, wherever among the arguments it stood."""
    if value and param.name:
        setattr(ctx.ensure_object(Session), param.name, value)


_ARGUMENTS = "qmd.arguments"

#: Accepted before and after a command's name.
GLOBAL_OPTIONS: tuple[click.Option, ...] = (
    click.Option(
        ["--index", "index_name"],
        metavar="NAME",
        expose_value=False,
        callback=_keep,
        help="Use the index of this name.",
    ),
    click.Option(
        ["--store"],
        metavar="URL",
        expose_value=False,
        callback=_keep,
        help="Keep the index there: milvus://HOST:PORT/DB.",
    ),
    click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Leave out notes, hints and progress.",
    ),
    click.Option(
        ["--debug"],
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Show where an error comes from.",
    ),
)


class Command(click.Command):
    """A command that takes the global options too.

    `if_unknown` is a hint for where an option is unknown, `if_missing` for where an argument is missing.
    """

    def __init__(
        self, *args: Any, if_unknown: str | None = None, if_missing: str | None = None, **attributes: Any
    ) -> None:
        super().__init__(*args, **_CONTEXT | attributes)
        self.if_unknown = if_unknown
        self.if_missing = if_missing

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return _with_globals(super().get_params(ctx))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_options(self, ctx, formatter)


class Group(click.Group):
    """A group of commands, some under a second name, that are loaded when they are called.

    Commands added in the usual way are listed after those of the table.
    """

    command_class = Command

    def __init__(
        self, *args: Any, table: Table = (), aliases: Mapping[str, str] | None = None, **attributes: Any
    ) -> None:
        attributes.setdefault("invoke_without_command", True)
        attributes.setdefault("subcommand_metavar", "COMMAND ...")
        super().__init__(*args, **_CONTEXT | attributes)
        self.table = table
        self.aliases = aliases or {}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return _with_globals(super().get_params(ctx))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*names(self.table), *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self.aliases.get(cmd_name, cmd_name)
        for _, rows in self.table:
            for known, target, _ in rows:
                if known == name:
                    module, _, attribute = target.partition(":")
                    return cast(click.Command, getattr(import_module(module), attribute))
        return super().get_command(ctx, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            known = [*self.list_commands(ctx), *self.aliases]
            raise click.UsageError(f"no such command '{args[0]}'{did_you_mean(args[0], known)}", ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        _write_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = [(title, [(name, what) for name, _, what in rows]) for title, rows in self.table]
        if self.commands:
            own = [(name, command.get_short_help_str(200)) for name, command in self.commands.items()]
            sections.append(("Commands", own))
        widest = max(len(name) for _, rows in sections for name, _ in rows)
        for title, rows in sections:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), what) for name, what in rows])


def help_alone(ctx: click.Context) -> None:
    """A group's callback: called without a command, it shows what there is."""
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())


def intended_as_text(argument: str, ctx: click.Context | None = None) -> str | None:
    """Return a hint for an argument such as `-notes`, which was read as an option but may be meant as text.

    None if no argument of the command starts with `argument`, or if the command takes no such text.
    """
    ctx = ctx or click.get_current_context()
    command = ctx.command
    arguments: tuple[str, ...] = ctx.meta.get(_ARGUMENTS, ())
    meant = next((each for each in arguments if each.startswith(argument) and len(each) > 2), None)
    if meant is None or not isinstance(command, Command) or command.if_unknown is None:
        return None
    from shlex import join

    others = [each for each in arguments if each != meant]
    return f"{command.if_unknown}: {ctx.command_path} {join([*others, '--', meant])}"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """`. Did you mean 'x'?`, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(given, list(known), n=1)
    return f". Did you mean '{close[0]}'?" if close else ""


def fail(message: str) -> NoReturn:
    """Refuse what the user typed: exit code 2."""
    raise click.UsageError(message, click.get_current_context())


def _with_globals(params: list[click.Parameter]) -> list[click.Parameter]:
    # Help comes last in the list that click gives; the global options stand before it.
    return [*params[:-1], *GLOBAL_OPTIONS, *params[-1:]]


def _write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    options = [param for param in command.params if isinstance(param, click.Option)]
    own = [record for param in options if (record := param.get_help_record(ctx)) is not None]
    if own:
        with formatter.section("Options"):
            formatter.write_dl(own)
    shared: list[click.Parameter] = [*GLOBAL_OPTIONS]
    help_option = command.get_help_option(ctx)
    if help_option is not None:
        shared.append(help_option)
    rows = [record for param in shared if (record := param.get_help_record(ctx)) is not None]
    with formatter.section("Global options"):
        formatter.write_dl(rows)
