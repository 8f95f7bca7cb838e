"""Where a running server is: a file that its user's other commands find it by.

It says the address, and a secret that lets the user's own commands in. The server holds a lock on it for as
long as it lives. The lock goes with the process, so a file that is left behind is never believed, and the
secret is sent to nobody who got the port since.
"""

# On the way of every search: what a server alone needs is imported on use.

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from qmd.errors import BusyError, StoreError

_FOLDER = "servers"


@dataclass(frozen=True, slots=True)
class Advertisement:
    """A server: its process, its address (`http://host:port`), and the secret of its user."""

    pid: int
    url: str
    secret: str


@contextmanager
def alone(cache_dir: str, index: str, *, replace: bool = False) -> Iterator[None]:
    """Be the only server of the index file `index` for as long as this lasts.

    Args:
        cache_dir: The cache directory.
        index: The path of the index.
        replace: Whether to end a server that is running.

    Raises:
        BusyError: If another server is running.
        StoreError: If the lock file cannot be written.
    """
    from qmd.server.daemon import end_holder, lock

    path = f"{_path(cache_dir, index)}.lock"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    try:
        if not lock(file):
            other = read(cache_dir, index)
            if other is None:
                raise BusyError("another server of this index is being started, or is ending", "try again")
            if not replace:
                raise BusyError(
                    f"a server of this index runs already: process {other.pid} at {other.url}",
                    "use that one, or end it by adding --replace",
                )
            end_holder(other.pid, file)
        yield
    finally:
        os.close(file)


@contextmanager
def lit(cache_dir: str, index: str, url: str) -> Iterator[Advertisement]:
    """Let the server of the index file `index` be found at `url` for as long as this lasts.

    To be called while `alone`. Raises `StoreError` if the file cannot be written.
    """
    import secrets

    beacon = Advertisement(os.getpid(), url, secrets.token_urlsafe(32))
    path = _path(cache_dir, index)
    try:
        file = _light(path, beacon)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    try:
        yield beacon
    finally:
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), os.stat(path)):
                os.unlink(path)
        os.close(file)


def read(cache_dir: str, index: str) -> Advertisement | None:
    """The server of the index file `index`, where one runs."""
    try:
        file = os.open(_path(cache_dir, index), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return Advertisement(**json.loads(os.pread(file, 10_000, 0)))
    finally:
        os.close(file)
    return None


def _light(path: str, beacon: Advertisement) -> int:
    """Write the file, locked from before it can be found; returns its descriptor."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.write(file, json.dumps(asdict(beacon)).encode())
        os.replace(temporary, path)
    except BaseException:
        os.close(file)
        raise
    return file


def _path(cache_dir: str, index: str) -> str:
    digest = hashlib.sha256(os.fsencode(os.path.realpath(index))).hexdigest()
    return os.path.join(cache_dir, _FOLDER, f"{digest[:16]}.json")
