"""The base of every command: global options, help, and suggestions for unknown names."""

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


def _store_option(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Store a global option in the session, because it may be given before or after a command's name."""
    if value and param.name:
        setattr(ctx.ensure_object(Session), param.name, value)


_ARGUMENTS = "qmd.arguments"

#: Accepted before and after a command's name.
GLOBAL_OPTIONS: tuple[click.Option, ...] = (
    click.Option(
        ["--index", "index_name"],
        metavar="NAME",
        expose_value=False,
        callback=_store_option,
        help="Use the index with this name.",
    ),
    click.Option(
        ["--store"],
        metavar="URL",
        expose_value=False,
        callback=_store_option,
        help="Keep the index in this store: milvus://HOST:PORT/DB.",
    ),
    click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_store_option,
        help="Do not show notes, hints and progress.",
    ),
    click.Option(
        ["--debug"],
        is_flag=True,
        expose_value=False,
        callback=_store_option,
        help="Show the traceback of an error.",
    ),
)


class Command(click.Command):
    """A command that accepts the global options.

    Args:
        if_unknown: A hint to show if an option is unknown.
        if_missing: A hint to show if an argument is missing.
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
    """A group of commands, which loads a command of its table when it is called.

    Args:
        table: The commands. Commands added by a decorator are listed after these.
        aliases: Other names of commands.
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
        targets = {name: target for _, rows in self.table for name, target, _ in rows}
        if name in targets:
            module, _, attribute = targets[name].partition(":")
            return cast(click.Command, getattr(import_module(module), attribute))
        return super().get_command(ctx, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            suggestion = did_you_mean(args[0], [*self.list_commands(ctx), *self.aliases])
            raise click.UsageError(f"no such command '{args[0]}'{suggestion}", ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        _write_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = [(title, [(name, text) for name, _, text in rows]) for title, rows in self.table]
        if self.commands:
            rows = [(name, command.get_short_help_str(200)) for name, command in self.commands.items()]
            sections.append(("Commands", rows))
        widest = max(len(name) for _, rows in sections for name, _ in rows)
        for title, rows in sections:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in rows])


def help_alone(ctx: click.Context) -> None:
    """Show the help of a group that is called without a command."""
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())


def intended_as_text(argument: str, ctx: click.Context | None = None) -> str | None:
    """Return a hint for an argument such as `-notes`, which was read as an option but may be meant as text.

    None if no argument of the command starts with `argument`, or if the command takes no such text.
    """
    ctx = ctx or click.get_current_context()
    command = ctx.command
    given: tuple[str, ...] = ctx.meta.get(_ARGUMENTS, ())
    text = next((word for word in given if word.startswith(argument) and len(word) > 2), None)
    if text is None or not isinstance(command, Command) or command.if_unknown is None:
        return None
    from shlex import join

    others = [word for word in given if word != text]
    return f"{command.if_unknown}: {ctx.command_path} {join([*others, '--', text])}"


def did_you_mean(given: str, names: Iterable[str]) -> str:
    """Return `. Did you mean 'x'?` for the nearest name, or an empty string if none is near."""
    from difflib import get_close_matches

    close = get_close_matches(given, list(names), n=1)
    return f". Did you mean '{close[0]}'?" if close else ""


def fail(message: str) -> NoReturn:
    """Raise a usage error, which exits with code 2."""
    raise click.UsageError(message, click.get_current_context())


def _with_globals(params: list[click.Parameter]) -> list[click.Parameter]:
    # click puts --help last: insert the global options before it.
    return [*params[:-1], *GLOBAL_OPTIONS, *params[-1:]]


def _write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    options = [param for param in command.params if isinstance(param, click.Option)]
    help_option = command.get_help_option(ctx)
    shared = [*GLOBAL_OPTIONS, *([help_option] if help_option is not None else [])]
    for title, section in (("Options", options), ("Global options", shared)):
        rows = [record for option in section if (record := option.get_help_record(ctx)) is not None]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
