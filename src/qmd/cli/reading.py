"""Reads the words of a command by its options and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.cli.help import show_help
from qmd.cli.options import choose_format
from qmd.cli.parameters import ALL
from qmd.cli.usage import Exit, MisuseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from qmd.cli.command import Command
    from qmd.cli.parameters import Parameter
    from qmd.cli.session import Session

#: Options in the order of the words, each with its text, or whether a flag is on.
Found = list[tuple["Parameter", Any]]


def read(
    command: Command, path: str, words: Sequence[str], session: Session
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments of a command's function, and the words that are left for a command of a group.

    Values of global options go into the session. If the help is asked for, it is shown.

    Raises:
        MisuseError: If the words are wrong.
        Exit: If the help was shown.
    """
    session.path, session.words, session.command = path, tuple(words), command
    known = [ALL, *command.shared, *command.parameters]  # those of the command itself hold
    found, others, error = split(known, words, between=command.between)
    if error is not None:
        raise error
    everything = any("--all" in option.names for option, _ in found)
    for option, _ in found:
        if option.goes == "answer":
            show_help(command, path, option, everything=everything)
            raise Exit(0)
    if any(option is ALL for option, _ in found):
        raise MisuseError("no such option '--all'", cause="option", words=("--all",))
    given_options = dict.fromkeys(option for option, _ in found)
    values = {each.to: each.default for each in command.parameters if each.goes == "argument"}
    for option in given_options:
        value = _given(option, [value for each, value in found if each is option])
        if option.goes == "session":
            session.take(option.to, value)
        elif option.goes == "format":
            choose_format(option.to, value)
        else:
            values[option.to] = value
    others = _arguments(command, others, values)
    if session.for_agent and (refused := next((each for each in given_options if not each.agents), None)):
        raise MisuseError(f"{refused.shown} is for people: ask the user", path="")
    for each in command.parameters:
        if each.required and each.names and each not in given_options:
            raise MisuseError(f"missing {each.shown}", cause="missing")
    return values, others


def _given(option: Parameter, given: list[Any]) -> Any:
    """Return the value of an option that is given once or several times."""
    if not option.flag:
        given = [_value(option, text) for text in (given if option.multiple else given[-1:])]
    return tuple(given) if option.multiple else given[-1]


def _arguments(command: Command, words: list[str], values: dict[str, Any]) -> list[str]:
    """Add the arguments of a command to its values, and return the words that are left.

    Raises:
        MisuseError: If one is missing.
    """
    for each in command.parameters:
        if not each.names:
            taken = words if each.multiple else words[:1]
            words = words[len(taken) :]
            if taken:
                read_words = tuple(_value(each, text) for text in taken)
                values[each.to] = read_words if each.multiple else read_words[0]
            elif each.required:
                raise MisuseError(f"missing {each.shown}", cause="missing")
    return words


def split(
    parameters: Iterable[Parameter], words: Sequence[str], *, between: bool = True
) -> tuple[Found, list[str], MisuseError | None]:
    """Return the options in words, the other words, and the error at which the reading stopped.

    `--` ends the options; the first other word does if they may not stand `between` words.
    """
    options = {name: (each, True) for each in parameters for name in each.names}
    options |= {name: (each, False) for each in parameters for name in each.off}
    found: Found = []
    others: list[str] = []
    left = [*reversed(words)]
    try:
        while left:
            word = left.pop()
            if word == "--":
                break
            if word[:1] == "-" and word != "-":
                found += _options(word, options, left)
                continue
            others.append(word)
            if not between:
                break
    except MisuseError as error:
        return found, others, error
    return found, [*others, *reversed(left)], None


def _options(
    word: str, options: dict[str, tuple[Parameter, bool]], left: list[str]
) -> Iterator[tuple[Parameter, Any]]:
    """Yield the option of a word, or several of one letter. A value may be taken from what is `left`."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        option, on = _option(name, options)
        if option.flag and equals:
            raise MisuseError(f"option '{name}' does not take a value.", path="")
        yield option, on if option.flag else value if equals else _next(name, left)
        return
    for at, letter in enumerate(word[1:], 2):
        option, on = _option(f"-{letter}", options)
        if not option.flag:  # the value follows the letter: -n5
            yield option, word[at:] or _next(f"-{letter}", left)
            return
        yield option, on


def _option(name: str, options: dict[str, tuple[Parameter, bool]]) -> tuple[Parameter, bool]:
    if name not in options:
        raise MisuseError(f"no such option '{name}'", cause="option", words=(name,))
    return options[name]


def _next(name: str, left: list[str]) -> str:
    if not left:
        raise MisuseError(f"option '{name}' requires an argument.", path="")
    return left.pop()


def _value(parameter: Parameter, text: str) -> Any:
    try:
        return parameter.value(text)
    except MisuseError as error:
        reason = str(error)
        told = f"{parameter.shown}{' ' if reason.startswith('must ') else ': '}{reason}"
        letter = next((name for name in parameter.names if len(name) == 2), "")
        raise MisuseError(told, cause="value", words=(letter, text)) from None
