"""Waiting for other processes and threads."""

from __future__ import annotations

import time
from collections.abc import Callable

#: A test that waits longer than this for an answer has failed, in seconds.
PATIENCE = 120
_PAUSE = 0.01


def until(condition: Callable[[], object], alive: Callable[[], object] = lambda: True) -> None:
    """Wait until a condition holds, if nothing can be waited for but a look now and then.

    Args:
        condition: Asked every hundredth of a second.
        alive: Whether it can still come true. The test fails as soon as it cannot.
    """
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert alive(), "it ended before the condition held"
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(_PAUSE)
