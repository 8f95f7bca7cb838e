"""Milvus Lite inside this program: one server a file, shared by all who opened it here."""

from __future__ import annotations

import atexit
import os
import threading
import time
from dataclasses import dataclass
from typing import Any

from qmd.errors import BusyError, ForeignIndexError, StoreError

#: Another command that has the file is most likely about to end: it is waited for so long, in seconds.
_PATIENCE = 3.0


@dataclass(slots=True)
class _Running:
    server: Any
    database: Any
    port: int
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


def start(file: str) -> str:
    """Open a database, made where there is none; returns the address to connect to. `stop` it once.

    Raises `BusyError` where another process has it.
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
                _running[place] = _Running(*start_server_in_thread(place, host="127.0.0.1", port=0))
            except DataDirLockedError as error:
                if time.monotonic() >= due:
                    raise BusyError(
                        f"{file} is in use by another process, and Milvus Lite serves one at a time",
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
        return f"http://127.0.0.1:{running.port}"


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
