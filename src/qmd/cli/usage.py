"""How a run ends early: a misuse of a command's arguments, or an exit code. Nothing here needs click."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class MisuseError(Exception):
    """The arguments of a command are wrong. click shows the message with the usage; the exit code is 2."""


class Exit(Exception):  # noqa: N818 - not an error
    """Ends the run with an exit code, after everything has been said."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a message that says what happens to the unfinished work."""


def fail(message: str) -> NoReturn:
    """Raise a usage error, which exits with code 2."""
    raise MisuseError(message)
