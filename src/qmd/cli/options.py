"""Option types, and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from qmd.cli import candidates
from qmd.cli.render.formats import FORMATS

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_CHOSEN = "qmd.format"


def whole(least: int, most: int = 1_000_000_000) -> Callable[[str], int]:
    """Return an option type: a whole number from `least` to `most`."""

    def convert(value: str) -> int:
        number = int(value) if re.fullmatch(r"[+-]?[0-9]{1,12}", value) else None
        if number is None or not least <= number <= most:
            raise click.BadParameter(f"must be a whole number from {least} to {most}, not '{value}'")
        return number

    return convert


def decimal(least: float, most: float) -> Callable[[str], float]:
    """Return an option type: a number from `least` to `most`."""

    def convert(value: str) -> float:
        number = float(value) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", value[:20]) else None
        if number is None or not least <= number <= most:
            raise click.BadParameter(f"must be a number from {least:g} to {most:g}, not '{value}'")
        return number

    return convert


class OneOf(click.Choice[str]):
    """An option type: one of several words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return f"must be one of {', '.join(map(str, self.choices))}, not '{value}'"


def combined(*decorators: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """Return one decorator that adds several options, in order."""

    def decorate(command: Decorated) -> Decorated:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def format_options(*names: str) -> Callable[[Decorated], Decorated]:
    """Add `--format F`, and a flag for each format except the first; read the choice by `chosen_format`."""
    choice = click.option(
        "--format",
        "as_format",
        type=OneOf(names),
        metavar="F",
        expose_value=False,
        callback=_choose,
        help=f"Print as {', '.join(names[:-1])} or {names[-1]}.",
    )
    flags = [
        click.option(
            f"--{name}",
            f"as_{name}",
            is_flag=True,
            expose_value=False,
            callback=_choose,
            help=f"Print {FORMATS[name].description}.",
        )
        for name in names[1:]
    ]
    return combined(choice, *flags)


def chosen_format() -> str:
    """Return the format that the command line names, or `cli`."""
    chosen: str = click.get_current_context().meta.get(_CHOSEN, "cli")
    return chosen


def _choose(ctx: click.Context, param: click.Parameter, value: str | bool | None) -> None:
    if not value:
        return
    name = value if isinstance(value, str) else str(param.name).removeprefix("as_")
    if ctx.meta.setdefault(_CHOSEN, name) != name:
        raise click.UsageError(f"two formats at once: {ctx.meta[_CHOSEN]} and {name}", ctx)


#: All formats, for commands that print hits, documents or a listing.
all_formats = format_options(*FORMATS)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
line_numbers_option = click.option("--line-numbers", is_flag=True, help="Show the file's line numbers.")
full_path_option = click.option("--full-path", is_flag=True, help="Show paths on disk.")
max_lines_option = click.option(
    "-l", "--max-lines", type=whole(1), metavar="N", help="Print at most N lines of each document."
)


def collection_option(help: str) -> Callable[[Decorated], Decorated]:
    """Add `-c C`, which may be repeated."""
    return click.option(
        "-c",
        "--collection",
        "collections",
        multiple=True,
        metavar="C",
        shell_complete=candidates.collections,
        help=help,
    )
