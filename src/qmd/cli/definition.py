"""A command as data: its function, its parameters and its hints. click's command is made on use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from qmd.cli.command import Command
    from qmd.cli.parameters import Parameter


class Definition:
    """A command. The first argument of its function is the session.

    `if_unknown` is a hint to show if an option is unknown, `if_missing` if an argument is missing.
    """

    def __init__(
        self, function: Callable[..., None], name: str, if_unknown: str | None, if_missing: str | None
    ) -> None:
        self.function = function
        self.name = name
        self.if_unknown = if_unknown
        self.if_missing = if_missing
        self.parameters: list[Parameter] = vars(function)["__click_params__"][::-1]

    @cached_property
    def click(self) -> Command:
        """The command of click, with the same parameters."""
        from qmd.cli.command import command

        return command(self.name, if_unknown=self.if_unknown, if_missing=self.if_missing)(self.function)


def define(
    name: str, *, if_unknown: str | None = None, if_missing: str | None = None
) -> Callable[[Callable[..., None]], Definition]:
    """Make a command from a function whose first argument is the session."""
    return lambda function: Definition(function, name, if_unknown, if_missing)
