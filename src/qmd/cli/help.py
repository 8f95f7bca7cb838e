"""The help of commands, as text for people."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from qmd._version import __version__
from qmd.cli.command import Group
from qmd.cli.console import current
from qmd.cli.parameters import HELP
from qmd.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qmd.cli.command import Command
    from qmd.cli.parameters import Parameter

#: The columns that a help takes, and those of the names of its options.
_LEAST, _MOST, _NAMES = 50, 98, 30
#: The columns by which text under a title is indented.
_INDENT = "  "


def show_help(command: Command, path: str, asked: Parameter = HELP) -> None:
    """Show the help of a command, or the version if an option asks for it."""
    say("\n".join(lines(command, path)) if asked is HELP else f"qmd {__version__}")


def usage(command: Command, path: str) -> str:
    """Return how a command is called."""
    arguments = [each.metavar or "" for each in command.parameters if not each.names]
    below = ["COMMAND ..."] if isinstance(command, Group) else []
    return " ".join([path, "[OPTIONS]", *arguments, *below])


def paragraphs(command: Command) -> Iterator[tuple[str, bool]]:
    """Yield the paragraphs of a command's help, each with whether its lines stay as they are."""
    from inspect import cleandoc

    for text in cleandoc(command.help).split("\n\n"):
        yield text, text.startswith(("Example:", "Examples:", "qmd "))


def record(option: Parameter) -> tuple[str, str]:
    """Return the names of an option with its value, and its help."""
    names = ", ".join(option.names) + "".join(f" / {name}" for name in option.off)
    value = "" if option.flag else f" {option.metavar}"
    return names + value, option.help + ("  [required]" if option.required else "")


def lines(command: Command, path: str) -> Iterator[str]:
    """Yield the lines of the help."""
    width = max(min(current().width() - 2, _MOST), _LEAST)
    yield from _usage_lines(command, path, width)
    for text, stays in paragraphs(command):
        yield ""
        yield from (_INDENT + line for line in (text.split("\n") if stays else _wrapped(text, width - 2)))
    if isinstance(command, Group):
        sections = [*command.sections()]
        widest = max(len(name) for _, rows in sections for name, _ in rows)
        for title, rows in sections:
            yield from _section(title, [(name.ljust(widest), text) for name, text in rows], width)
    own = [record(each) for each in command.parameters if each.names]
    for title, rows in (("Options", own), ("Global options", [record(each) for each in command.shared])):
        if rows:
            yield from _section(title, rows, width)


def _usage_lines(command: Command, path: str, width: int) -> Iterator[str]:
    """Yield the usage; if the path leaves too little space beside it, the words stand below it."""
    start, words = f"Usage: {path} ", usage(command, path).removeprefix(f"{path} ")
    if width < len(start) + 20:
        yield start
        start = " " * 11
        yield from (start + line for line in _wrapped(words, width - len(start)))
        return
    first, *others = _wrapped(words, width - len(start))
    yield start + first
    yield from (" " * len(start) + line for line in others)


def _section(title: str, rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Yield a title and rows in two columns."""
    yield ""
    yield f"{title}:"
    column = min(max(len(name) for name, _ in rows), _NAMES) + 2
    for name, text in rows:
        first, *others = _wrapped(text, max(width - column - 2, 10)) or [""]
        if len(name) > column - 2:
            yield _INDENT + name
            name = ""
        yield (
            f"{_INDENT}{name:<{column}}{first}".rstrip() if not first else f"{_INDENT}{name:<{column}}{first}"
        )
        yield from (f"{_INDENT}{'':<{column}}{line}" for line in others)


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(" ".join(text.split("\n")), width, replace_whitespace=False)
