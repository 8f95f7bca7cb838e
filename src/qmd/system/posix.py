"""Linux and macOS. `windows` has the same functions."""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress
from typing import Any

assert sys.platform != "win32"  # so mypy does not check this module for Windows

#: Flags of `os.open` for files that are not followed through a link, nor inherited; a pipe is not waited for.
NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def try_lock(file: int, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it.

    A shared lock only conflicts with one that is not.
    """
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def publish(file: int, temporary: str, path: str, data: bytes) -> int:
    """Lock the new file `temporary`, write it, and let it replace `path`; return the locked descriptor."""
    fcntl.flock(file, fcntl.LOCK_EX)
    os.write(file, data)
    os.replace(temporary, path)
    return file


def read_start(file: int, size: int) -> bytes:
    """Return up to `size` bytes from the start of a file."""
    return os.pread(file, size, 0)


def write_start(file: int, data: bytes) -> None:
    """Write bytes at the start of a file."""
    os.pwrite(file, data, 0)


def set_mode(file: int, mode: int) -> None:
    """Set the permissions of an open file."""
    os.fchmod(file, mode)


def user_id() -> int:
    """Return the number of the user."""
    return os.getuid()


def lower_priority(nice: int) -> None:
    """Let other processes go first."""
    os.nice(nice)


def kill(pid: int) -> None:
    """End a process that does not end itself. Raises `ProcessLookupError` if there is none."""
    import signal

    os.kill(pid, signal.SIGKILL)


def resume(pid: int) -> None:
    """Let a process go on that was stopped, as by Ctrl-Z. Raises `ProcessLookupError` if there is none."""
    import signal

    os.kill(pid, signal.SIGCONT)


def share_with_child(file: int) -> dict[str, Any]:
    """Return the options of `Popen` for a process that outlives this one and keeps the lock of `file`."""
    return {"pass_fds": [file], "start_new_session": True}


def limit_reading(memory: int) -> None:
    """Limit the memory of this process, and forbid it to write files and core dumps."""
    import resource

    limits = {"AS": memory, "FSIZE": 0, "CORE": 0}
    if sys.platform != "linux":  # which counts all threads of the user
        limits["NPROC"] = 0
    for kind, value in limits.items():
        with suppress(ValueError, OSError):  # macOS has not all limits
            resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (value, value))


def limit_time(seconds: int) -> None:
    """End this process if it takes so much more processor time, also if its parent has died meanwhile."""
    import resource

    with suppress(ValueError, OSError):
        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, hard))


def raise_file_limit(wanted: int) -> int:
    """Raise the limit of open files of this process towards `wanted`; return the new limit."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    limit = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft < limit:
        with suppress(OSError, ValueError):  # macOS may refuse a value below its hard limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            soft = limit
    return soft


def memory_limit() -> int | None:
    """Return the most bytes of memory that this process may have; None without a limit."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def trim_memory() -> None:
    """Return freed memory to the system, because glibc otherwise keeps most of it."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
