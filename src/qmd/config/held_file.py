"""Files that a process holds as long as it does something, such as serving, and that tell others about it.

The lock of such a file ends with its process, so a file that nobody holds is stale. `atomic.locked` is for
changes, which take a moment.
"""

from __future__ import annotations

import os
from contextlib import suppress

from qmd import system
from qmd.config.atomic import create_beside
from qmd.errors import StoreError

_MAX_BYTES = 1_000_000


def open_private(path: str, purpose: str = "write") -> int:
    """Open a file that only the user can read, to hold it; return its descriptor.

    The file and its folder are made if they do not exist. Raises `StoreError`: "cannot {purpose} {path}".
    """
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | system.NO_LINK, 0o600)
    except OSError as error:
        raise StoreError(
            f"cannot {purpose} {path}: {error.strerror}", "check the folder's permissions and free space"
        ) from error


def try_to_hold(file: int) -> bool:
    """Hold an open file; return False if another process holds it."""
    return system.try_lock(file)


def hold(path: str) -> int | None:
    """Open a private file and hold it; return its descriptor, None if another process holds it.

    Raises `StoreError` if the file cannot be written.
    """
    file = open_private(path)
    if try_to_hold(file):
        return file
    os.close(file)
    return None


def publish(path: str, data: bytes) -> int:
    """Write a private file and hold it before it gets its name; return its descriptor. Raises `OSError`.

    So nobody takes what an earlier process has written for the data of this one.
    """
    file, temporary = create_beside(path)
    try:
        return system.publish(file, temporary, path, data)
    except BaseException:
        with suppress(OSError):  # it may be closed, or gone
            os.close(file)
            os.unlink(temporary)
        raise


def read_held(path: str) -> bytes | None:
    """Return the content of a file; None if no process holds it."""
    try:
        file = os.open(path, os.O_RDONLY | system.NO_LINK)
    except OSError:
        return None
    try:
        return None if system.try_lock(file, shared=True) else system.read_start(file, _MAX_BYTES)
    finally:
        os.close(file)
