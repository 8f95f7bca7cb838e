"""Changing a file that other processes read and change: a lock beside it, and replacement in one step."""

# os.path throughout, see `paths`.

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from qmd.errors import BusyError, ConfigError

LOCK_TIMEOUT_S = 30.0


@contextmanager
def locked(path: str, timeout: float = LOCK_TIMEOUT_S) -> Iterator[str]:
    """Hold the lock of the file at `path`, and yield the file to write: where `path` is a link, its target.

    The folder is made if it is missing. `timeout` is in seconds. Raises `BusyError` when another process
    holds the lock for longer, `ConfigError` when the folder cannot be written.
    """
    # Imported on use: reading commands take no lock.
    from filelock import FileLock, Timeout

    # Two links to one file must meet at one lock.
    target = os.path.realpath(path)
    lock = FileLock(target + ".lock")
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        lock.acquire(timeout=timeout)
    except Timeout as error:
        raise BusyError(
            f"{path} is being changed by another process.", "Try again when the other command has ended."
        ) from error
    except (OSError, NotImplementedError) as error:
        raise _cannot_write(path, error) from error
    try:
        yield target
    finally:
        lock.release()


def replace_file(path: str, data: bytes, *, private: bool = False) -> None:
    """Put `data` in the place of the file at `path`: a reader sees the old bytes or the new, never a part.

    The permissions stay as they are; `private`: only the user may read it. Raises `ConfigError`, with the old
    file intact, when it cannot be done.
    """
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        try:
            _write(temporary, data, 0o600 if private else _mode_of(path))
            os.replace(temporary, path)
        except BaseException:
            if os.path.lexists(temporary):
                os.unlink(temporary)
            raise
        _sync_folder(os.path.dirname(path))
    except OSError as error:
        raise _cannot_write(path, error) from error


def abandoned(path: str, before: float) -> list[str]:
    """What a `replace_file` that was killed before a time (seconds of the epoch) left beside `path`."""
    folder, name = os.path.split(os.path.realpath(path))
    if not os.path.isdir(folder):
        return []
    temporary = re.compile(re.escape(name) + r"\.[0-9]+\.tmp")
    found = [os.path.join(folder, each) for each in sorted(os.listdir(folder)) if temporary.fullmatch(each)]
    return [each for each in found if os.stat(each).st_mtime < before]


def _write(path: str, data: bytes, mode: int | None) -> None:
    # 0o666 lets the umask decide about a new file, as for any file the user makes.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666 if mode is None else 0o600)
    with open(descriptor, "wb") as file:
        if mode is not None:
            os.chmod(path, mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _mode_of(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return None


def _sync_folder(path: str) -> None:
    # The change is made by now; a file system that cannot sync a folder is no failure.
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _cannot_write(path: str, error: Exception) -> ConfigError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ConfigError(f"{path}: cannot be written: {reason}.", "The file is as it was; nothing was changed.")
