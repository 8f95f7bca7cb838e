"""The retry loop of downloads and of requests to model servers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypeVar

from qmd.errors import ModelError

#: HTTP statuses that may change soon: timeout, too many requests, errors of the server.
TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
#: Attempts in a row without progress.
_ATTEMPTS = 4
#: Seconds before the second attempt, doubled for each further one; and the longest delay.
_FIRST_DELAY, _MAX_DELAY = 0.5, 30.0

T = TypeVar("T")


class TransientError(Exception):
    """A failure that another attempt may avoid.

    `final` is the error to raise after the last attempt, `delay` the seconds that the server asks to wait.
    """

    def __init__(self, final: ModelError, delay: float | None = None) -> None:
        super().__init__(final.message)
        self.final = final
        self.delay = delay


def retry(attempt: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
    """Call `attempt` until it raises no `TransientError`, at most four times in a row without progress.

    `progress` returns a number that grows if an attempt achieves something, for example bytes downloaded.
    Raises the `final` error of the last attempt.
    """
    failures, delay = 0, _FIRST_DELAY
    while True:
        before = progress()
        try:
            return attempt()
        except TransientError as error:
            failures = 1 if progress() > before else failures + 1
            if failures == _ATTEMPTS:
                raise error.final from error.__cause__
            time.sleep(min(_MAX_DELAY, delay if error.delay is None else error.delay))
            delay *= 2


def without_errno(error: Exception) -> str:
    """Return an error's message without the system's error number."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error))
