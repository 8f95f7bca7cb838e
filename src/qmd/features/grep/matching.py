"""The lines of texts that match a pattern, found within a time limit."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from qmd import processes
from qmd.errors import QmdError, TimedOutError, UsageError
from qmd.system import limit_reading, limit_time
from qmd.text.wording import visible
from qmd.types.cancelling import Cancelled, stop_if_cancelled

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: A text with one of these is no pattern without them.
_SPECIAL = frozenset("\\.^$*+?{}[]|()")
#: What sees where a text begins or ends, or what is beside a match, or gives nothing back that it took: with
#: it, a text may not match although one of its lines alone does.
_LINE_ALONE = re.compile(r"\\[AZ]|\(\?[<=!>]|[*+?}]\+")
#: The most memory of the process that tries a pattern, in bytes of address space.
_MEMORY = 1 << 30
#: The seconds between two looks at whether anybody waits for the answer.
_LOOK = 0.1


class Line(NamedTuple):
    """A line that matches: its number, from 1, its text, and the span of the first match in it."""

    number: int
    text: str
    start: int
    end: int


class Matcher:
    """Finds lines in texts, to be used in a `with`.

    No pattern of Python's is known to be fast, and none can be stopped in its own process. So another process
    tries it, which is killed at the limit. A text without special characters is found here, in linear time.

    Args:
        pattern: A regular expression of Python's, which matches inside of lines.
        fixed: Whether it is a text, not an expression.
        ignore_case: Whether upper and lower case are the same.
        seconds: How long all texts together may take.
        most: The most lines of a text.
    """

    def __init__(self, pattern: str, *, fixed: bool, ignore_case: bool, seconds: float, most: int) -> None:
        self._flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
        self._pattern, self._most, self._left = pattern, most, seconds
        self._child: processes.ChildCall | None = None
        self._here: re.Pattern[str] | None = None
        if fixed or _SPECIAL.isdisjoint(pattern):
            self._here = re.compile(re.escape(pattern), self._flags)

    def __enter__(self) -> Self:
        if self._here is None:
            if sys.platform == "win32":
                raise UsageError("patterns cannot be tried on Windows", "look for a text: --fixed-strings")
            limits = self._most, ceil(self._left) + 1
            self._child = processes.call(answer, self._pattern, int(self._flags), *limits)
            try:
                if told := self._received(None):
                    raise UsageError(f"wrong pattern '{visible(self._pattern)}': {told}", "for a text: -F")
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._child is not None:
            self._child.messages.close()
            self._child.process.kill()
            self._child.process.wait()

    def find(self, texts: Sequence[str], cancelled: Cancelled | None = None) -> list[list[Line]]:
        """Return the lines of each text that match. Raises `TimedOutError`, and `CancelledError`."""
        if self._child is None:
            assert self._here is not None
            return [[*lines(self._here, text, self._most)] for text in texts]
        self._child.messages.send(texts)
        found: list[list[Line]] = self._received(cancelled)
        return found

    def _received(self, cancelled: Cancelled | None) -> Any:
        """Return the next answer of the child."""
        assert self._child is not None
        began = time.monotonic()
        while not self._child.messages.poll(min(_LOOK, max(self._left, 0))):
            stop_if_cancelled(cancelled)
            now = time.monotonic()
            began, self._left = now, self._left - (now - began)
            if self._left <= 0:
                raise TimedOutError(
                    f"the pattern '{visible(self._pattern)}' takes too long",
                    "write it without repetitions inside of repetitions, or raise --timeout",
                )
        self._left -= time.monotonic() - began
        try:
            return self._child.messages.recv()
        except EOFError as error:
            raise QmdError(f"the pattern '{visible(self._pattern)}' needs too much memory") from error


def answer(pattern: str, flags: int, most: int, seconds: int, messages: Connection) -> None:
    """Send what is wrong with a pattern, "" if nothing is; then answer lists of texts by their lines.

    It ends by itself at its limits of time and memory, if the process that asked was killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the process that asks
    limit_reading(_MEMORY)
    limit_time(seconds)
    try:
        compiled = re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        messages.send(str(error) or type(error).__name__)
        return
    messages.send("")
    while True:
        try:
            texts = messages.recv()
        except EOFError:  # there are no more
            return
        messages.send([[*lines(compiled, text, most)] for text in texts])


def lines(pattern: re.Pattern[str], text: str, most: int) -> Iterator[Line]:
    """Yield up to `most` lines in which a pattern matches. It sees nothing beyond a line."""
    each = bool(_LINE_ALONE.search(pattern.pattern))
    at, number, counted = 0, 1, 0
    while most and at <= len(text):
        if each:
            start = at
        elif found := pattern.search(text, at):
            start = text.rfind("\n", 0, found.start()) + 1
        else:
            return
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        if match := pattern.search(line):
            number += text.count("\n", counted, start)
            counted = start
            yield Line(number, line, *match.span())
            most -= 1
        at = end + 1
