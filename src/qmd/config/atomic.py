"""Atomic replacement and locking of files that several processes read and write."""

# os.path instead of pathlib, see `paths`.

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from qmd.errors import BusyError, ConfigError
from qmd.system import set_mode

LOCK_TIMEOUT_S = 30.0
#: A temporary file is in use for seconds; older ones belong to killed processes.
ABANDONED_AFTER_S = 3600.0
#: The threads that hold reentrant locks, with the files.
_held = set[tuple[int, str]]()


@contextmanager
def locked(path: str, timeout: float = LOCK_TIMEOUT_S, *, reentrant: bool = False) -> Iterator[str]:
    """Hold the lock `<file>.lock` and yield the path to write. A thread may take a `reentrant` lock again.

    If the file is a link, its target is locked and yielded. A missing folder is created. Raises `BusyError`
    if another process holds the lock for longer than `timeout` seconds, and `ConfigError` if the folder
    cannot be written.
    """
    # Imported on use, because commands that only read take no lock.
    from threading import get_ident

    from qmd.system.locks import locked_file

    # Two links to one file must use the same lock.
    target = os.path.realpath(path)
    holder = get_ident(), target
    if reentrant and holder in _held:
        yield target
        return
    with ExitStack() as stack:
        try:
            os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
            stack.enter_context(locked_file(target + ".lock", timeout))
        except TimeoutError as error:
            raise BusyError(
                f"{path} is being changed by another process.",
                "try again after the other command has finished",
            ) from error
        except OSError as error:
            raise cannot_write(path, error) from error
        if reentrant:
            _held.add(holder)
            stack.callback(_held.discard, holder)
        yield target


def replace_file(path: str, data: bytes, *, private: bool = False) -> None:
    """Replace the file at `path` atomically: a reader sees the old bytes or the new bytes, never a part.

    If `private` is set, only the user may read the file; otherwise the permissions stay. Raises `ConfigError`
    if the file cannot be replaced; the old file stays.
    """
    try:
        mode = 0o600 if private else None
        with suppress(FileNotFoundError):
            mode = mode or stat.S_IMODE(os.stat(path).st_mode)
        # 0o666 lets the umask set the permissions of a new file.
        descriptor, temporary = create_beside(path, 0o666 if mode is None else 0o600)
        try:
            with open(descriptor, "wb") as file:
                if mode is not None:
                    set_mode(descriptor, mode)
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        sync_to_disk(os.path.dirname(path))
    except OSError as error:
        raise cannot_write(path, error) from error


def create_beside(path: str, mode: int = 0o600) -> tuple[int, str]:
    """Create an empty file beside `path`, which is to replace it; return its descriptor and its path.

    Nobody can know the name before: a link of that name, in someone else's folder, would lead elsewhere.
    """
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    return os.open(temporary, flags, mode), temporary


def abandoned(path: str, before: float) -> list[str]:
    """Return the files of `create_beside` that killed processes left, if they are older than `before`.

    A name with a time in it stands for those of all times.
    """
    folder, name = os.path.split(os.path.realpath(path))
    if not os.path.isdir(folder):
        return []
    pattern = re.sub(r"[0-9]{8}\\-[0-9]{6}", "[0-9]{8}-[0-9]{6}", re.escape(name))
    temporary = re.compile(pattern + r"\.([0-9]+|[0-9a-f]{16})\.tmp")  # once by process id
    names = sorted(filter(temporary.fullmatch, os.listdir(folder)))
    paths = [os.path.join(folder, name) for name in names]
    return [path for path in paths if os.stat(path).st_mtime < before]


def sync_to_disk(path: str) -> None:
    """Flush a file, or the names in a folder, to the disk, if the file system can."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def cannot_write(path: str, error: Exception) -> ConfigError:
    """Return the error for a file that cannot be replaced."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ConfigError(f"{path}: cannot be written: {reason}.", "the file was not changed")
