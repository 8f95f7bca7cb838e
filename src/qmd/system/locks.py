"""Locks of files that processes wait for."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from qmd.system import NO_LINK, try_lock

#: Seconds between the first two attempts, and the most between two.
_FIRST_WAIT, _LONGEST_WAIT = 0.001, 0.05


@contextmanager
def locked_file(path: str, timeout: float = math.inf) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is missing, against other processes and threads.

    Raises `TimeoutError` if it is not free within `timeout` seconds, or another `OSError`.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o644)
    try:
        wait_for_lock(descriptor, timeout)
        yield
    finally:
        os.close(descriptor)


def wait_for_lock(file: int, timeout: float = math.inf) -> None:
    """Lock an open file until it is closed. Raises `TimeoutError` if it is not free within some seconds."""
    end, pause = time.monotonic() + timeout, _FIRST_WAIT
    while not try_lock(file):
        if time.monotonic() >= end:
            raise TimeoutError("the file is locked by another process")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_WAIT)
