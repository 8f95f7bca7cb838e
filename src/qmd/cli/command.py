"""A command: its function and its row, which is its name, its options and its hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from qmd.cli.commands import LOADABLE, WITHIN, Table, names
from qmd.cli.parameters import GLOBAL, HELP, Parameter
from qmd.plugins import resolve

Function = Callable[..., None]


class Command:
    """A command. The first argument of its function is the session; its docstring is the help.

    Args:
        function: The function that does it; or only the help, if another function does it.
        name: Its name; by default that of the function.
        runs: The function that does it, as `module:function`. The module is imported when the command runs,
            so it may import more than a help needs.
        if_unknown: A hint for an unknown option.
        if_missing: A hint for a missing argument.
        between: Whether options may stand between words and after them.
        agents: Whether agents may run it. It then reads, and changes and starts nothing.
    """

    def __init__(
        self,
        function: Function,
        name: str | None = None,
        *,
        runs: str = "",
        if_unknown: str | None = None,
        if_missing: str | None = None,
        between: bool = True,
        agents: bool = False,
    ) -> None:
        self._function = function
        self.runs = runs
        self.name = name or function.__name__
        self.help = function.__doc__ or ""
        self.parameters: list[Parameter] = vars(function).get("parameters", [])
        self.if_unknown = if_unknown
        self.if_missing = if_missing
        self.between = between
        self.agents = agents

    @property
    def function(self) -> Function:
        """The function that does it, imported if it is elsewhere."""
        found: Function = resolve(self.runs) if self.runs else self._function
        return found

    def run(self, session: Any, /, **values: Any) -> None:
        """Run the command with the values of its options and arguments."""
        self.function(session, **values)

    @property
    def shared(self) -> list[Parameter]:
        """The options that all commands have, without those of which this one has its own."""
        own = {name for each in self.parameters for name in each.names}
        return [each for each in (*GLOBAL, HELP) if own.isdisjoint(each.names)]


class Group(Command):
    """A command with commands below it; its own options stand before theirs.

    Args:
        function: The function that acts if it stands alone.
        name: Its name.
        aliases: Other names of its commands, each with the words that it stands for.
        table: The commands of the program itself, by section of the help, each with its description.
        otherwise: The command that reads the words if the first is the name of none.
        acts_alone: Whether it does something without a command; otherwise it shows its help. Its function is
            called with the name of the command in `subcommand`, if there is one, before that command is read.
        runs: The function that does it alone, as for a command. It gets no `subcommand`.
        agents: Whether agents may run it alone. It says nothing about the commands below it.
    """

    def __init__(
        self,
        function: Function,
        name: str | None = None,
        *,
        aliases: Mapping[str, str] | None = None,
        table: Table | None = None,
        otherwise: Command | None = None,
        acts_alone: bool = False,
        runs: str = "",
        agents: bool = False,
    ) -> None:
        super().__init__(function, name, runs=runs, between=False, agents=agents)
        self.commands: dict[str, Command] = {}
        self.aliases = aliases or {}
        self._table = table or {}
        self.otherwise = otherwise
        self._within = f"{self.name} " if table is None else ""
        self.acts_alone = acts_alone

    def command(self, name: str | None = None, **attributes: Any) -> Callable[[Function], Command]:
        """Add a command that is made of a function."""

        def add(function: Function) -> Command:
            made = Command(function, name, **attributes)
            self.add(made)
            return made

        return add

    def add(self, command: Command) -> None:
        """Add a command."""
        self.commands[command.name] = command

    def names(self) -> list[str]:
        """Return the names of the commands that the help lists."""
        start = self._within
        within = [name.removeprefix(start) for name in WITHIN if start and name.startswith(start)]
        return [*dict.fromkeys((*names(self._table), *self.commands, *within))]

    def divided(self, words: Sequence[str]) -> tuple[str, list[str]]:
        """Return the name of the command with which words begin, and the words for it."""
        first, *left = words
        name, *more = self.aliases[first].split() if first in self.aliases else [first]
        left = [*more, *left]
        if self._table and left and f"{name} {left[0]}" in WITHIN:
            name, *left = f"{name} {left[0]}", *left[1:]
        return name, left

    def find(self, name: str) -> Any:
        """Return the command with a name, as `divided` returns it; None if there is none.

        Raises:
            PluginError: If another package or a missing feature has the command, and it cannot be loaded.
        """
        found = self.commands.get(name)
        return LOADABLE.load(f"{self._within}{name}") if found is None else found

    def sections(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the commands as the help shows them: a title, and names with descriptions."""
        for title, rows in self._table.items():
            yield title, [(name, text) for name, _, text in rows]
        if not self._table:
            yield "Commands", [(name, summary(self.find(name))) for name in self.names()]


def command(name: str | None = None, **attributes: Any) -> Callable[[Function], Command]:
    """Make a command of a function whose first argument is the session. See `Command`."""
    return lambda function: Command(function, name, **attributes)


def group(name: str | None = None, **attributes: Any) -> Callable[[Function], Group]:
    """Make a group of commands of a function. See `Group`."""
    return lambda function: Group(function, name, **attributes)


def summary(command: Command) -> str:
    """Return the first sentence of a command's help."""
    words = command.help.partition("\n\n")[0].split()
    end = next((at for at, word in enumerate(words, 1) if word.endswith(".")), len(words))
    return " ".join(words[:end])
