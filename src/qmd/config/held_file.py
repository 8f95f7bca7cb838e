"""Files that a process holds as long as it does something, such as serving, and that tell others about it.

The lock of such a file ends with its process, so a file that nobody holds is stale. `atomic.locked` is for
changes, which take a moment. The paths of these files stay as they are, because processes of other versions
look there.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from qmd import system
from qmd.config.atomic import create_beside
from qmd.errors import StoreError
from qmd.text.digest import sha256

_MAX_BYTES = 1_000_000


def watcher_file(index: str) -> str:
    """Return the path of the file that the watcher of an index holds."""
    return os.path.realpath(index) + ".watch.lock"


def server_file(cache_dir: str, index: str) -> str:
    """Return the path of the file that the server of an index holds, with its address.

    From before it has an address, a server also holds the file with `.lock` after this path.
    """
    digest = sha256(os.fsencode(os.path.realpath(index)))
    return os.path.join(cache_dir, "servers", f"{digest[:16]}.json")


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


def read_held(path: str, *, own: bool = False) -> bytes | None:
    """Return the content of a file; None if no process holds it. With `own`, it must be one of this user."""
    try:
        file = os.open(path, os.O_RDONLY | system.NO_LINK)
    except OSError:
        return None
    try:
        state = os.fstat(file)
        if not stat.S_ISREG(state.st_mode) or (own and state.st_uid != system.user_id()):
            return None
        return None if system.try_lock(file, shared=True) else system.read_start(file, _MAX_BYTES)
    except OSError:
        return None
    finally:
        os.close(file)
