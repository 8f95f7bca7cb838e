"""Option types and options that several commands share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from qmd.cli import candidates
from qmd.cli.command import fail

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

FORMATS = ("cli", "json", "csv", "md", "xml", "files")
_CHOSEN = "qmd.format"
_WHAT = {
    "json": "JSON",
    "csv": "CSV, with a header",
    "md": "Markdown",
    "xml": "XML",
    "files": "names only, a line a document",
}


def whole(least: int, most: int = 1_000_000_000) -> Callable[[str], int]:
    """The type of an option that is a whole number from `least` to `most`."""

    def convert(value: str) -> int:
        number = int(value) if re.fullmatch(r"[+-]?[0-9]{1,12}", value) else None
        if number is None or not least <= number <= most:
            raise click.BadParameter(f"must be a whole number from {least} to {most}, not '{value}'")
        return number

    return convert


def decimal(least: float, most: float) -> Callable[[str], float]:
    """The type of an option that is a number from `least` to `most`."""

    def convert(value: str) -> float:
        number = float(value) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", value[:20]) else None
        if number is None or not least <= number <= most:
            raise click.BadParameter(f"must be a number from {least:g} to {most:g}, not '{value}'")
        return number

    return convert


def date(value: str) -> str:
    """The type of an option that is a date, or a part of one."""
    from qmd.engine.requests import DATE
    from qmd.text import dates

    if dates.read(value) is None:
        raise click.BadParameter(f"must be {DATE}, not '{value}'")
    return value


class OneOf(click.Choice[str]):
    """One of some words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return f"must be one of {', '.join(map(str, self.choices))}, not '{value}'"


def format_options(*formats: str) -> Callable[[Decorated], Decorated]:
    """`--format F`, and a short form for each format but the first; ask `chosen_format` for the choice."""

    def decorate(command: Decorated) -> Decorated:
        for name in reversed(formats[1:]):
            command = click.option(
                f"--{name}",
                f"as_{name}",
                is_flag=True,
                expose_value=False,
                callback=_choose,
                help=f"Print {_WHAT[name]}.",
            )(command)
        return click.option(
            "--format",
            "as_format",
            type=OneOf(formats),
            metavar="F",
            expose_value=False,
            callback=_choose,
            help=f"Print as {', '.join(formats[:-1])} or {formats[-1]}.",
        )(command)

    return decorate


def chosen_format() -> str:
    """The format that the command line names, `cli` where it names none."""
    chosen: str = click.get_current_context().meta.get(_CHOSEN, "cli")
    return chosen


def _choose(ctx: click.Context, param: click.Parameter, value: str | bool | None) -> None:
    if not value:
        return
    name = value if isinstance(value, str) else str(param.name).removeprefix("as_")
    if ctx.meta.setdefault(_CHOSEN, name) != name:
        raise click.UsageError(f"two formats at once: {ctx.meta[_CHOSEN]} and {name}", ctx)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
line_numbers_option = click.option("--line-numbers", is_flag=True, help="Number lines as in the file.")
full_path_option = click.option("--full-path", is_flag=True, help="Print paths on disk.")
max_lines_option = click.option(
    "-l", "--max-lines", type=whole(1), metavar="N", help="Print at most N lines of a document."
)


def collection_option(help: str) -> Callable[[Decorated], Decorated]:
    """`-c C`, as often as wanted."""
    return click.option(
        "-c",
        "--collection",
        "collections",
        multiple=True,
        metavar="C",
        shell_complete=candidates.collections,
        help=help,
    )


def filter_options(command: Decorated) -> Decorated:
    """`--author`, `--after` and `--before`."""
    decorators = [
        click.option(
            "--author",
            metavar="NAME",
            shell_complete=candidates.authors,
            help="Only documents of this author.",
        ),
        click.option("--after", type=date, metavar="DATE", help="Only documents from this date on: 2024-06."),
        click.option("--before", type=date, metavar="DATE", help="Only documents from before this date."),
    ]
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def words(parts: tuple[str, ...]) -> str:
    """What the arguments say together; `-` reads it from stdin."""
    if parts == ("-",):
        return _read_stdin()
    return " ".join(parts)


def _read_stdin() -> str:
    from qmd.engine.requests import MAX_QUERY

    data = sys.stdin.buffer.read(4 * MAX_QUERY + 1024)
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if len(text) > MAX_QUERY:
        fail(f"the query on stdin is longer than {MAX_QUERY} characters")
    return text
