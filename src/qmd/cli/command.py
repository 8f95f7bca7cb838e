"""The base of every command: global options, help, and suggestions for unknown names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from inspect import cleandoc
from typing import Any, NoReturn

import click

from qmd.cli.commands import WITH_INDEX_FILE, Table, names
from qmd.cli.session import Session, pass_session
from qmd.cli.terminal import say, shell_words
from qmd.text.similar import nearest

_CONTEXT: dict[str, Any] = {
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100}
}
_ARGUMENTS = "qmd.arguments"


def _store_option(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value and param.name:
        setattr(ctx.ensure_object(Session), param.name, value)


def _global_option(*names: str, **attributes: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_store_option, **attributes)


#: Accepted before and after a command's name, and therefore stored in the session.
GLOBAL_OPTIONS: tuple[click.Option, ...] = (
    _global_option(
        "--index",
        "index_name",
        metavar="NAME",
        help="Use the index with this name.",
        # Imported on use, because it is needed only to complete.
        shell_complete=lambda *typed: import_module("qmd.cli.candidates").indexes(*typed),
    ),
    _global_option("--store", metavar="URL", help="Keep the index in this store: milvus://HOST:PORT/DB."),
    _global_option(
        "--index-file",
        "portable_file",
        type=click.Path(),
        metavar="FILE",
        help="Read this portable index file, made by 'qmd backup --portable'.",
    ),
    _global_option("-q", "--quiet", is_flag=True, help="Do not show notes, hints and progress."),
    _global_option("--debug", is_flag=True, help="Show the traceback of an error."),
)


class _WithGlobalOptions(click.Command):
    def __init__(self, *args: Any, help: str | None = None, **attributes: Any) -> None:
        # click wraps all paragraphs that do not start with \b: examples must keep their lines.
        marked = re.sub(r"\n\n(?=Examples?:\n)", "\n\n\b\n", cleandoc(help or ""))
        super().__init__(*args, **_CONTEXT | {"help": marked} | attributes)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        # click puts --help last: insert the global options before it.
        params = super().get_params(ctx)
        return [*params[:-1], *GLOBAL_OPTIONS, *params[-1:]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.params if isinstance(param, click.Option)]
        help_option = self.get_help_option(ctx)
        shared = [*GLOBAL_OPTIONS, *([help_option] if help_option is not None else [])]
        for title, section in (("Options", options), ("Global options", shared)):
            rows = [record for option in section if (record := option.get_help_record(ctx)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _require_reading(ctx: click.Context) -> None:
    """Raise `click.UsageError` if the command cannot be used with the index file that is named."""
    session = ctx.ensure_object(Session)
    if session.portable_file is None:
        return
    if session.index_name is not None or session.store is not None:
        raise click.UsageError("--index-file goes without --index and --store", ctx)
    name = ctx.command_path.removeprefix(f"{ctx.find_root().command_path} ")
    if name not in WITH_INDEX_FILE:
        raise click.UsageError(f"'{name}' cannot be used with --index-file: the file is only read", ctx)


class Command(_WithGlobalOptions):
    """A command that accepts the global options. The first argument of its function is the session.

    `if_unknown` is a hint to show if an option is unknown, `if_missing` if an argument is missing.
    """

    def __init__(
        self,
        *args: Any,
        callback: Callable[..., None],
        if_unknown: str | None = None,
        if_missing: str | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, callback=pass_session(callback), **attributes)
        self.if_unknown = if_unknown
        self.if_missing = if_missing

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        _require_reading(ctx)
        return super().invoke(ctx)


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., None]], Command]:
    """Make a command from a function whose first argument is the session."""
    return click.command(name, cls=Command, **attributes)


class Group(_WithGlobalOptions, click.Group):
    """A group of commands.

    The help lists the commands of `table`, and after them the commands added by a decorator. `aliases` are
    other names of commands. A group without `acts_alone` shows its help if it is called without a command.
    """

    command_class = Command

    def __init__(
        self,
        *args: Any,
        table: Table | None = None,
        aliases: Mapping[str, str] | None = None,
        acts_alone: bool = False,
        **attributes: Any,
    ) -> None:
        defaults: dict[str, Any] = {"subcommand_metavar": "COMMAND ...", "invoke_without_command": True}
        super().__init__(*args, **defaults | attributes)
        self.table = table or {}
        self.aliases = aliases or {}
        self.acts_alone = acts_alone

    def invoke(self, ctx: click.Context) -> Any:
        if self.acts_alone:
            _require_reading(ctx)
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None and not self.acts_alone:
            say(ctx.get_help())
        return result

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*names(self.table), *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self.aliases.get(cmd_name, cmd_name)
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
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = {title: [(name, text) for name, _, text in rows] for title, rows in self.table.items()}
        if self.commands:
            rows = [(name, added.get_short_help_str(200)) for name, added in self.commands.items()]
            sections["Commands"] = rows
        widest = max(len(name) for rows in sections.values() for name, _ in rows)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in rows])


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
    others = [word for word in given if word != text]
    return f"{command.if_unknown}: {ctx.command_path} {shell_words(*others, '--', text)}"


def did_you_mean(given: str, names: Iterable[str]) -> str:
    """Return `. Did you mean 'x'?` for the nearest name, or an empty string if none is near."""
    close = nearest(given, [*names])
    return f". Did you mean '{close}'?" if close else ""


def fail(message: str) -> NoReturn:
    """Raise a usage error, which exits with code 2."""
    raise click.UsageError(message, click.get_current_context())
