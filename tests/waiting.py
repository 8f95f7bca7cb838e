"""Waiting for other processes and threads."""

from __future__ import annotations

import time
from collections.abc import Callable

#: If an answer takes longer than this, the test has failed, in seconds.
PATIENCE = 120
_PAUSE = 0.01


def until(condition: Callable[[], object], alive: Callable[[], object] = lambda: True) -> None:
    """Wait until a condition holds, if it can only be checked now and then.

    Args:
        condition: Called every hundredth of a second.
        alive: Whether it can still become true. The test fails as soon as it cannot.
    """
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert alive(), "it ended before the condition held"
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(_PAUSE)
