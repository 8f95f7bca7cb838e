"""Milvus Lite inside this program: one server a folder, shared by all who opened it, here or elsewhere.

Only one process can have the folder. It says in a file there at which port of this machine it serves, and
holds a lock on that file for as long as it does; other processes ask it. When it ends, one of them takes its
place.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from qmd.errors import BusyError, ForeignIndexError, StoreError

#: Who has the folder is most likely about to end, or to say where it serves: it is waited for, in seconds.
_PATIENCE = 3.0
_PORT = "qmd.port"


@dataclass(slots=True)
class _Running:
    server: Any
    database: Any
    port: int
    #: Descriptor of the file that says the port.
    told: int = -1
    users: int = 0


_lock = threading.Lock()
_running: dict[str, _Running] = {}


def exists(file: str) -> bool:
    """Whether there is a database at this place. Raises `ForeignIndexError` for something else."""
    if os.path.isfile(file):
        raise ForeignIndexError(
            f"{file} is a file of another program, and is left alone",
            "name another place: Milvus Lite keeps a database in a folder of its own",
        )
    return os.path.isdir(os.path.join(file, "collections"))


def start(file: str) -> tuple[int, bool]:
    """Open a database, made where there is none: (port on 127.0.0.1, whether this process serves it).

    Where it does, `stop` it once. Raises `BusyError` where a program has it that does not share it.
    """
    from milvus_lite.adapter.grpc.server import start_server_in_thread
    from milvus_lite.exceptions import DataDirLockedError

    place = os.path.realpath(file)
    exists(place)
    due = time.monotonic() + _PATIENCE
    with _lock:
        while (running := _running.get(place)) is None:
            try:
                os.makedirs(place, mode=0o700, exist_ok=True)
                running = _Running(*start_server_in_thread(place, host="127.0.0.1", port=0))
                try:
                    running.told = _tell(place, running.port)
                except OSError:
                    _end(running)
                    raise
                _running[place] = running
            except DataDirLockedError as error:
                port = served_at(place)
                if port is not None:
                    return port, False
                if time.monotonic() >= due:
                    raise BusyError(
                        f"{file} is in use by another program, and Milvus Lite serves one at a time",
                        "wait for it to end, or serve the file: "
                        f"milvus-lite server --host 127.0.0.1 --data-dir {file}, and use milvus://127.0.0.1:19530",
                    ) from error
                time.sleep(0.05)
            except OSError as error:
                raise StoreError(
                    f"cannot use {file}: {error.strerror or error}",
                    "check the folder's permissions and space",
                ) from error
        running.users += 1
        return running.port, True


def served_at(file: str) -> int | None:
    """The port at which another process serves a database; None where none does."""
    try:
        told = os.open(os.path.join(os.path.realpath(file), _PORT), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(told, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(told, 16, 0)
        return int(text) if text.isdigit() else None
    finally:
        os.close(told)
    return None


def _tell(place: str, port: int) -> int:
    """Say where a database is served, until the descriptor is closed."""
    path = os.path.join(place, _PORT)
    # Locked and written before it can be found: a file from before may name a port of another program.
    temporary = f"{path}.{os.getpid()}"
    told = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    fcntl.flock(told, fcntl.LOCK_EX)
    os.write(told, str(port).encode())
    os.replace(temporary, path)
    return told


@atexit.register
def _stop_all() -> None:
    """Close what was left open, so that what was written is sorted and the process ends."""
    for place in list(_running):
        _running[place].users = 1
        stop(place)


def stop(file: str) -> None:
    """Let go of a database; the last one to do so closes it."""
    place = os.path.realpath(file)
    with _lock:
        running = _running[place]
        running.users -= 1
        if not running.users:
            del _running[place]
            with suppress(OSError):
                os.unlink(os.path.join(place, _PORT))
            os.close(running.told)
            _end(running)


def _end(running: _Running) -> None:
    running.server.stop(grace=1).wait()
    running.database.close()


def size(file: str) -> int:
    """Bytes on disk."""
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(file)
        for name in names
        if os.path.exists(os.path.join(folder, name))
    )
