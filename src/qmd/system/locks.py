"""Locks of files that processes wait for."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from qmd.system import NO_LINK, try_lock

#: Seconds between two attempts.
_POLL = 0.05


@contextmanager
def locked_file(path: str, timeout: float) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is missing, against other processes and threads.

    Raises `TimeoutError` if it is not free within `timeout` seconds, or another `OSError`.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o644)
    try:
        end = time.monotonic() + timeout
        while not try_lock(descriptor):
            if time.monotonic() >= end:
                raise TimeoutError(f"{path} is locked")
            time.sleep(_POLL)
        yield
    finally:
        os.close(descriptor)
