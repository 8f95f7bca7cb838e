"""Windows, by Python's own library. `posix` has the same functions, and describes them."""

from __future__ import annotations

import os
import sys
from typing import Any

from qmd.errors import QmdError

#: A descriptor is not inherited, and reads and writes bytes. Links cannot be refused on opening.
NO_LINK = getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
#: The locked byte lies behind any content, because a locked byte cannot be read by others.
_LOCKED_AT = 1 << 30


def try_lock(file: int, *, shared: bool = False) -> bool:
    # Locks are never shared: who asks for one closes the file at once.
    import msvcrt

    os.lseek(file, _LOCKED_AT, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    return True


def publish(file: int, temporary: str, path: str, data: bytes) -> int:
    # A file that is open cannot be renamed, so the one that stays is written after it was locked.
    os.close(file)
    os.unlink(temporary)
    file = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600)
    if not try_lock(file):
        os.close(file)
        raise BlockingIOError(f"{path} is held by another process")
    os.ftruncate(file, 0)
    write_start(file, data)
    return file


def read_start(file: int, size: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, size)


def write_start(file: int, data: bytes) -> None:
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, data)


def set_mode(file: int, mode: int) -> None:
    """Do nothing: files have the permissions of their folder."""


def user_id() -> int:
    return 0


def lower_priority(nice: int) -> None:
    if sys.platform == "win32":
        import ctypes

        below_normal = 0x4000
        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), below_normal)


def kill(pid: int) -> None:
    import signal

    os.kill(pid, signal.SIGTERM)  # which is TerminateProcess


def resume(pid: int) -> None:
    """Do nothing: processes are not stopped."""


def share_with_child(file: int) -> dict[str, Any]:
    """Raise `QmdError`: a lock belongs to one process, so a server cannot take it over."""
    raise QmdError(
        "servers in the background are not possible on Windows", "run the command without --daemon"
    )


def limit_reading(memory: int) -> None:
    """Do nothing: Windows has no such limits. The parent ends a process that takes too long."""


def limit_time(seconds: int) -> None:
    """Do nothing, like `limit_reading`."""


def raise_file_limit(wanted: int) -> int:
    return wanted  # sockets have no common limit with files


def memory_limit() -> int | None:
    """Return None: Windows has no such limit for one process."""
    return None


def trim_memory() -> None:
    """Do nothing: only glibc keeps memory that was freed."""
