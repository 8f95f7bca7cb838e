"""The early ends of a run: a misuse of a command's words, or an exit code."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import NoReturn


class MisuseError(Exception):
    """The words of a command are wrong; the exit code is 2.

    Args:
        message: The fault, in one line.
        path: The command whose help says what is right, "" if none does; by default the one that was called.
        cause: The kind of the fault, for hints: an unknown `option` or `command`, a `missing` argument, the
            wrong `value` of an option, or a `surplus` of words.
        words: Those that are wrong: the name of the option; the command and what follows it; the name of one
            letter and the value.
        names: Those that the command may have.
    """

    exit_code = 2

    def __init__(
        self,
        message: str,
        path: str | None = None,
        *,
        cause: str = "",
        words: Sequence[str] = (),
        names: Collection[str] = (),
    ) -> None:
        super().__init__(message)
        self.path = path
        self.cause = cause
        self.words = words
        self.names = names


class NotInServerError(Exception):
    """A server cannot do the work of the command: its own process must."""


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
