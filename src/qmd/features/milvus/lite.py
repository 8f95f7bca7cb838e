"""Milvus Lite in this process: one server for each folder, shared by all stores and processes that open it.

Only one process can open the folder. It serves the database at a local port, writes the port into a file in
the folder, and keeps a lock on the file as long as it serves. Other processes connect to that port. When the
process ends, one of the others takes over.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from contextlib import suppress
from typing import Any

from msgspec import Struct

from qmd.config.held_file import publish, read_held
from qmd.errors import BusyError, ForeignIndexError, StoreError

#: How long to wait for a process that is about to end or to write its port, in seconds.
_WAIT = 3.0
_PORT = "qmd.port"


class _RunningServer(Struct):
    server: Any
    database: Any
    port: int
    #: Descriptor of the locked file with the port.
    port_file: int = -1
    users: int = 0


_lock = threading.Lock()
_servers: dict[str, _RunningServer] = {}


def exists(file: str) -> bool:
    """Return whether there is a database at this path.

    Raises:
        ForeignIndexError: If the path is a file.
    """
    if os.path.isfile(file):
        raise ForeignIndexError(
            f"{file} is a file of another program and was not changed",
            "name another path: Milvus Lite keeps its database in a folder",
        )
    return os.path.isdir(os.path.join(file, "collections"))


def start(file: str) -> tuple[int, bool]:
    """Open a database and create it if it does not exist.

    Returns:
        The port on 127.0.0.1, and whether this process serves the database. If it does, call `stop` once.

    Raises:
        BusyError: If another program uses the database without sharing it.
        StoreError: If the folder cannot be written.
    """
    from milvus_lite.adapter.grpc.server import start_server_in_thread
    from milvus_lite.exceptions import DataDirLockedError

    place = os.path.realpath(file)
    exists(place)
    due = time.monotonic() + _WAIT
    with _lock:
        while (running := _servers.get(place)) is None:
            try:
                os.makedirs(place, mode=0o700, exist_ok=True)
                running = _RunningServer(*start_server_in_thread(place, host="127.0.0.1", port=0))
                try:
                    running.port_file = publish(os.path.join(place, _PORT), str(running.port).encode())
                except OSError:
                    _end(running)
                    raise
                _servers[place] = running
            except DataDirLockedError as error:
                port = served_at(place)
                if port is not None:
                    return port, False
                if time.monotonic() >= due:
                    raise BusyError(
                        f"{file} is in use by another program, and Milvus Lite allows only one",
                        "wait for it to end, or serve the file: "
                        f"milvus-lite server --host 127.0.0.1 --data-dir {file}, and use milvus://127.0.0.1:19530",
                    ) from error
                time.sleep(0.05)
            except OSError as error:
                raise StoreError(
                    f"cannot use {file}: {error.strerror or error}",
                    "check the permissions and the free space of the folder",
                ) from error
        running.users += 1
        return running.port, True


def served_at(file: str) -> int | None:
    """Return the port at which another process serves a database, or None if none does."""
    port = read_held(os.path.join(os.path.realpath(file), _PORT))
    return int(port) if port and port.isdigit() else None


@atexit.register
def _stop_all() -> None:
    """Close all databases, so that new rows are sorted and the process can end."""
    for place in list(_servers):
        _servers[place].users = 1
        stop(place)


def stop(file: str) -> None:
    """Close a database if no other store of this process uses it."""
    place = os.path.realpath(file)
    with _lock:
        running = _servers[place]
        running.users -= 1
        if not running.users:
            del _servers[place]
            with suppress(OSError):
                os.unlink(os.path.join(place, _PORT))
            os.close(running.port_file)
            _end(running)


def _end(running: _RunningServer) -> None:
    running.server.stop(grace=1).wait()
    running.database.close()


def remove_index_files(file: str, name: str) -> None:
    """Remove the search indexes of a Milvus collection, which Milvus Lite builds again when it loads it.

    Milvus Lite writes these files in place, and cannot load a collection that has an incomplete one.
    """
    for folder, _, entries in os.walk(os.path.join(file, "collections", name, "partitions")):
        if os.path.basename(folder) == "indexes":
            for entry in entries:
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, entry))


def size(file: str) -> int:
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(file)
        for name in names
        if os.path.exists(os.path.join(folder, name))
    )
