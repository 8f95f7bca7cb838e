"""A pager for output that is longer than the terminal, as git has one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import TextIO

from qmd.cli.client import named
from qmd.cli.console import current, is_for_agent
from qmd.cli.terminal import finish, takes_escapes, width_of, write
from qmd.text.regex import lazy

#: The commands that print results and documents. They ask nothing once they have begun to print.
_COMMANDS = frozenset(
    {
        *("search", "vsearch", "query", "vector-search", "deep-search", "similar", "grep", "pack", "why"),
        *("get", "multi-get", "ls", "outline", "links", "fields", "tags", "history", "lint", "saved"),
    }
)
_WITHOUT = frozenset({"--no-pager", "--agent"})
#: What less does unless `LESS` says otherwise: end if all fits, show colours, leave the text there.
_LESS = {"LESS": "FRX"}
#: In a locale without a charset, less would show bytes.
_UTF8 = {"LESSCHARSET": "utf-8"}
#: Colours, and addresses of links.
_STYLES = lazy(r"\x1b(?:\[[0-9;]*m|\]8;;[^\x1b]*\x1b\\)")


class _Held(StringIO):
    """Keeps what is written to a terminal."""

    def __init__(self, terminal: TextIO) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._terminal.fileno()


class _Beside(_Held):
    """Writes to a terminal until something is held, and then below that, so that the order stays."""

    def __init__(self, terminal: TextIO, held: _Held) -> None:
        super().__init__(terminal)
        self._held = held

    def write(self, text: str, /) -> int:
        return (self._held if self._held.tell() else self._terminal).write(text)

    def flush(self) -> None:
        self._terminal.flush()


@contextmanager
def paged(words: Sequence[str]) -> Iterator[None]:
    """Show what a command prints in a pager if it is longer than the terminal."""
    pager = _pager(words)
    if not pager:
        yield
        return
    stdout, stderr = sys.stdout, sys.stderr
    sys.stdout = held = _Held(stdout)
    if stderr.isatty():
        sys.stderr = _Beside(stderr, held)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = stdout, stderr
        text = held.getvalue()
        if not (_is_longer(text) and _show(pager, text)):
            write(text)
            finish()


def _pager(words: Sequence[str]) -> str:
    """Return the pager of a command as the user has written it; "" if there is none for it."""
    environ = os.environ
    if (
        named(words)[1] not in _COMMANDS
        or not _WITHOUT.isdisjoint(words[: words.index("--")] if "--" in words else words)
        or is_for_agent(environ)
        or not (takes_escapes(sys.stdout) and sys.stdin.isatty())
    ):
        return ""
    pager = next((environ[name] for name in ("QMD_PAGER", "PAGER") if name in environ), "less").strip()
    return "" if pager == "cat" else pager


def _is_longer(text: str) -> bool:
    """Return whether a text and the prompt below it need more lines than the terminal has."""
    console = current()
    width, height = console.width(), console.height()
    lines = text.split("\n")[: height + 1]
    return 0 < height < sum(max(1, -(-width_of(_STYLES.sub("", line)) // width)) for line in lines)


def _show(pager: str, text: str) -> bool:
    """Show a text in a pager; return whether there is such a program."""
    from qmd.processes import page

    encoding = sys.stdout.encoding
    charset = _UTF8 if encoding.lower() == "utf-8" else {}
    return page(pager, text.encode(encoding, "backslashreplace"), {**_LESS, **charset, **os.environ})
