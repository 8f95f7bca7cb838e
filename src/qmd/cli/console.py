"""The surroundings of a run of the program: its streams, environment and folder, and its output format."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO


#: The variable that says the same as `--agent`.
AGENT = "QMD_AGENT"


class Console:
    """The streams and the environment of this process.

    A server runs commands of other processes, and has a subclass with theirs.
    """

    def __init__(self) -> None:
        #: The output format that the command line names, if it names one.
        self.format: str | None = None
        self._input: bytes | None = None

    @property
    def stdin(self) -> IO[str]:
        return sys.stdin

    @property
    def stdout(self) -> IO[str]:
        return sys.stdout

    @property
    def stderr(self) -> IO[str]:
        return sys.stderr

    @property
    def environ(self) -> Mapping[str, str]:
        return os.environ

    def folder(self) -> str:
        """Return the working folder."""
        return os.getcwd()

    def width(self) -> int:
        """Return the columns of the terminal, or 80, as `shutil` does, which takes milliseconds to import."""
        columns = os.environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns):
            return int(columns)
        try:
            return os.get_terminal_size(sys.stdout.fileno()).columns or 80
        except (AttributeError, ValueError, OSError):  # there is no terminal
            return 80

    def height(self) -> int:
        """Return the lines of the terminal of stdout; 0 without one."""
        lines = self.environ.get("LINES", "")
        if lines.isdecimal():
            return int(lines)
        try:
            return os.get_terminal_size(self.stdout.fileno()).lines
        except (AttributeError, ValueError, OSError):  # there is no terminal
            return 0

    def read(self, limit: int = -1) -> bytes:
        """Return stdin, up to `limit` bytes; a second call returns the same."""
        if self._input is None:
            self._input = sys.stdin.buffer.read(limit)
        return self._input


def is_for_agent(environ: Mapping[str, str]) -> bool:
    """Return whether the environment says that an agent reads the output."""
    return environ.get(AGENT, "").strip() not in ("", "0")


_CURRENT: ContextVar[Console] = ContextVar("console")


def current() -> Console:
    """Return the console of this run."""
    console = _CURRENT.get(None)
    if console is None:
        console = Console()
        _CURRENT.set(console)
    return console


def use(console: Console) -> None:
    """Make a console that of the run in this thread."""
    _CURRENT.set(console)
