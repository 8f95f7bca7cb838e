"""The help of commands, as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qmd._version import __version__
from qmd.cli.command import Group
from qmd.cli.commands import MORE
from qmd.cli.console import current
from qmd.cli.parameters import HELP
from qmd.cli.terminal import say
from qmd.text.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qmd.cli.command import Command
    from qmd.cli.parameters import Parameter

#: The columns that a help takes, and those of the names of its options.
_LEAST, _MOST, _NAMES = 50, 98, 30
#: The columns by which text under a title is indented.
_INDENT = "  "
#: The sections of the options of a command that has more than a `_FEW`.
SECTIONS = ("What", "Filters", "Time", "Ranking", "Output")
_FEW = 14
#: The end of the main clause of an option's help.
_END = lazy(r"[:;] |  \[|\. | \(may ")


def show_help(command: Command, path: str, asked: Parameter = HELP, *, everything: bool = False) -> None:
    """Show the help of a command, or the version if an option asks for it."""
    say("\n".join(lines(command, path, everything=everything)) if asked is HELP else f"qmd {__version__}")


def usage(command: Command, path: str) -> str:
    """Return how a command is called."""
    arguments = [each.metavar or "" for each in command.parameters if not each.names]
    below = ["COMMAND ..."] if isinstance(command, Group) else []
    return " ".join([path, "[OPTIONS]", *arguments, *below])


def paragraphs(command: Command) -> Iterator[tuple[str, bool]]:
    """Yield the paragraphs of a command's help, each with whether its lines stay as they are."""
    first, *lines = command.help.strip().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    for text in "\n".join([first, *(line[margin:] for line in lines)]).split("\n\n"):
        yield text, text.startswith(("Example:", "Examples:", "qmd "))


def record(option: Parameter) -> tuple[str, str]:
    """Return the names of an option with its value, and its help."""
    names = ", ".join(option.names) + "".join(f" / {name}" for name in option.off)
    value = "" if option.flag else f" {option.metavar}"
    return names + value, option.help + ("  [required]" if option.required else "")


def lines(command: Command, path: str, *, everything: bool = False) -> Iterator[str]:
    """Yield the lines of the help; unless `everything` is wanted, what is rarely needed is only named."""
    width = max(min(current().width() - 2, _MOST), _LEAST)
    yield from _usage_lines(command, path, width)
    for text, stays in paragraphs(command):
        yield ""
        yield from (_INDENT + line for line in (text.split("\n") if stays else _wrapped(text, width - 2)))
    if isinstance(command, Group):
        yield from _commands(command, width, everything=everything)
    sections_of_options = [*_option_sections(command, everything=everything)]
    brief = len(sections_of_options) > 1 and not everything
    for title, options in sections_of_options:
        if brief and title != SECTIONS[0]:
            yield from _named(title, [each.shown for each in options], width)
        else:
            rows = [record(each) for each in options]
            yield from _section(
                title, [(name, _brief(text) if brief else text) for name, text in rows], width
            )
    if everything:
        yield from _section("Global options", [record(each) for each in command.shared], width)
    else:
        yield from _named("Global options", [each.shown for each in command.shared], width)
        yield f"{_INDENT}'{path} --help --all' says more."


def _commands(group: Group, width: int, *, everything: bool) -> Iterator[str]:
    """Yield the commands of a group below their titles."""
    sections = [*group.sections()]
    widest = max(len(name) for _, rows in sections for name, _ in rows)
    for title, rows in sections:
        if title == MORE and not everything:
            yield from _named(title, [name for name, _ in rows], width)
        else:
            yield from _section(title, [(name.ljust(widest), text) for name, text in rows], width)


def _option_sections(command: Command, *, everything: bool) -> Iterator[tuple[str, list[Parameter]]]:
    """Yield the options of a command below their titles; a few options stand below one."""
    options = [each for each in command.parameters if each.names]
    if not everything:  # the first option for formats names the others
        formats = [each for each in options if each.goes == "format"]
        options = [each for each in options if each not in formats[1:]]
    if len(options) <= _FEW:
        if options:
            yield "Options", options
        return
    for title in dict.fromkeys((*SECTIONS, *(each.section for each in options))):
        if rows := [each for each in options if each.section == title]:
            yield title or "Options", rows


def _brief(text: str) -> str:
    """Return the main clause of the help of an option."""
    clause = _END.split(text, maxsplit=1)[0]
    return f"{clause.removesuffix('.')}."


def _named(title: str, names: Sequence[str], width: int) -> Iterator[str]:
    """Yield a title and names beside each other."""
    yield ""
    yield f"{title}:"
    yield from (_INDENT + line for line in _wrapped(", ".join(names), width - 2))


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
    """Return the lines of a text. Words stay whole, so that an option can be copied; `textwrap` is slow."""
    lines = [""]
    for word in text.replace("\n", " ").split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return [line.rstrip() for line in lines if line]
