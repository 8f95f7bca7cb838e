"""The base of every command: global options, help, and suggestions for unknown names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import cleandoc
from typing import Any

import click

from qmd.cli.commands import LOADABLE, WITH_INDEX_FILE, Table, names
from qmd.cli.options import choose_format
from qmd.cli.parameters import GLOBAL, Parameter
from qmd.cli.session import Called, Session
from qmd.cli.terminal import say
from qmd.cli.usage import MisuseError, fail

_CONTEXT: dict[str, Any] = {
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100}
}


class OneOf(click.Choice[str]):
    """An option type: one of several words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return f"must be one of {', '.join(map(str, self.choices))}, not '{value}'"


def made(parameter: Parameter | click.Parameter) -> click.Parameter:
    """Return the parameter of click that a parameter describes."""
    if isinstance(parameter, click.Parameter):
        return parameter
    each, complete = parameter, parameter.complete
    if isinstance(complete, str) and complete != "files":
        # Imported on use, because it is needed only to complete.
        complete = partial(_complete, complete)
    shared: dict[str, Any] = {"metavar": each.metavar}
    if complete == "files":
        shared |= {"type": click.Path()}
    else:
        shared |= {"type": typed(each.kind), "shell_complete": complete}
    if not each.names:
        return click.Argument([each.to], nargs=-1 if each.multiple else 1, required=each.required, **shared)
    if each.flag:
        shared = {"is_flag": True}
    if each.default or each.off:
        shared |= {"default": str(each.default) if callable(each.kind) else each.default}
    *others, last = each.names
    return click.Option(
        [*others, "/".join((last, *each.off)), each.to],
        help=each.help,
        multiple=each.multiple,
        expose_value=each.goes == "argument",
        callback=_CALLBACKS.get(each.goes),
        **shared,
    )


def typed(kind: Any) -> Any:
    """Return the type of click for the `kind` of a parameter."""
    if isinstance(kind, tuple):
        return OneOf(kind)
    if kind is None or isinstance(kind, click.ParamType):
        return kind

    def convert(value: str) -> Any:
        try:
            return kind(value)
        except MisuseError as error:
            raise click.BadParameter(str(error)) from None

    return convert


def _complete(name: str, *typed: Any) -> Any:
    return getattr(import_module("qmd.cli.candidates"), name)(*typed)


def _store(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    ctx.ensure_object(Session).take(str(param.name), value)


def _choose(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    try:
        choose_format(str(param.name), value)
    except MisuseError as error:
        raise click.UsageError(str(error), ctx) from None


_CALLBACKS = {"session": _store, "format": _choose}
#: Accepted before and after a command's name, and therefore stored in the session.
GLOBAL_OPTIONS = tuple(map(made, GLOBAL))


_pass_session = click.make_pass_decorator(Session, ensure=True)


class _WithGlobalOptions(click.Command):
    def __init__(
        self,
        *args: Any,
        help: str | None = None,
        params: Iterable[Parameter | click.Parameter] = (),
        **attributes: Any,
    ) -> None:
        # click wraps all paragraphs that do not start with \b: examples must keep their lines.
        marked = re.sub(r"\n\n(?=Examples?:\n)", "\n\n\b\n", cleandoc(help or ""))
        own = {"help": marked, "params": [*map(made, params)]}
        super().__init__(*args, **_CONTEXT | own | attributes)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        # click puts --help last: insert the global options before it.
        params = super().get_params(ctx)
        return [*params[:-1], *self._global_options(), *params[-1:]]

    def _global_options(self) -> list[click.Parameter]:
        """Return the global options, without those of which the command has its own."""
        own = {name for param in self.params for name in param.opts}
        return [option for option in GLOBAL_OPTIONS if own.isdisjoint(option.opts)]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except MisuseError as error:
            raise click.UsageError(str(error), ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.params if isinstance(param, click.Option)]
        help_option = self.get_help_option(ctx)
        shared = [*self._global_options(), *([help_option] if help_option is not None else [])]
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
        super().__init__(*args, callback=_pass_session(callback), **attributes)
        self.if_unknown = if_unknown
        self.if_missing = if_missing

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ensure_object(Session).called = Called(ctx.command_path, tuple(args), self.if_unknown)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        _require_reading(ctx)
        return super().invoke(ctx)


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., None]], Command]:
    """Make a command from a function whose first argument is the session."""
    return click.command(name, cls=Command, **attributes)


class NoSuchCommandError(click.UsageError):
    """A command is unknown. The hint, if there is one, is what to type instead."""

    def __init__(self, words: Sequence[str], names: Collection[str], ctx: click.Context) -> None:
        from qmd.cli.guesses import suggestion

        end, self.hint = suggestion(ctx, words, names)
        super().__init__(f"no such command '{words[0]}'{end}", ctx)


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
            LOADABLE.load(" ".join([*ctx.command_path.split()[1:], args[0]]))  # a missing feature may have it
            raise NoSuchCommandError(args, [*self.list_commands(ctx), *self.aliases], ctx)
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


def refuse(options: dict[str, Any], needed: str) -> None:
    """Fail if an option is given that has no effect without another option, `needed`."""
    for param in click.get_current_context().command.params:
        if options.get(param.name or "") not in (None, False, ()):
            fail(f"{max(param.opts, key=len)} needs {needed}")
