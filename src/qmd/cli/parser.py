"""The small parser: reads the words of often used commands, because loading click takes longer than a search.

It reads what it understands exactly; everything else, also help and errors, is left to click.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from qmd.cli.parameters import Parameter


class UnclearError(Exception):
    """The words are for click."""


def read(
    parameters: Iterable[Parameter], words: Sequence[str], *, before_command: bool = False
) -> tuple[list[tuple[Parameter, Any]], list[str]]:
    """Return the options in words, with their values, and the other words.

    With `before_command`, the first other word ends the options. Raises `UnclearError`, and `MisuseError` for
    a wrong value.
    """
    options = {name: (each, True) for each in parameters for name in each.names}
    options |= {name: (each, False) for each in parameters for name in each.off}
    found: list[tuple[Parameter, Any]] = []
    others: list[str] = []
    left = list(reversed(words))
    while left:
        word = left.pop()
        if word == "--":
            others += reversed(left)
            break
        if word[:1] != "-" or word == "-":
            others.append(word)
            if before_command:
                others += reversed(left)
                break
            continue
        name, equals, value = word.partition("=")
        if not word.startswith("--") and len(word) > 2:  # the value follows the letter: -n5
            name, equals, value = word[:2], "=", word[2:]
        option, on = options.get(name, (None, True))
        if option is None or (option.flag and equals):
            raise UnclearError(word)
        if option.flag:
            found.append((option, on))
            continue
        if not equals:
            if not left:
                raise UnclearError(word)
            value = left.pop()
        found.append((option, _converted(option.kind, value)))
    return found, others


def _converted(kind: Any, value: str) -> Any:
    """Return the value of an option, or of each word."""
    if isinstance(kind, tuple):
        if value not in kind:
            raise UnclearError(value)
        return value
    return value if kind is None else kind(value)


def arguments_of(
    parameters: Iterable[Parameter], found: Iterable[tuple[Parameter, Any]], others: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments of a command's function. Raises `UnclearError` for too few or too many words."""
    values: dict[str, Any] = {}
    for each in parameters:
        if not each.names:
            if each.required and not others:
                raise UnclearError
            taken = len(others) if each.multiple else 1
            values[each.to] = tuple(others) if each.multiple else next(iter(others), None)
            others = others[taken:]
        elif each.goes == "argument":
            values[each.to] = () if each.multiple else each.default
    if others:
        raise UnclearError
    for option, value in found:
        if option.goes == "argument":
            values[option.to] = (*values[option.to], value) if option.multiple else value
    return values
