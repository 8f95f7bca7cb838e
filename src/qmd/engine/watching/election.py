"""Election of one watcher among all processes that use an index, and the state that it publishes.

The watcher holds a lock on a file beside the index. The lock ends with the process, so another one takes
over. The file has the state of the watcher, for `qmd status` and the answers of other processes.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Container, Mapping

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from qmd.errors import StoreError


class WatchedCollection(Struct, frozen=True):
    """How the changes of a collection are noticed.

    Attributes:
        mode: `events` of the system, `polling`, or `missing` if its folder does not exist.
        folders: The number of folders that are watched.
        reason: Why it is polled or missing; "" for events.
        checked: The time of the last poll, ISO 8601 in UTC; "" for events.
    """

    mode: str
    folders: int = 0
    reason: str = ""
    checked: str = ""


class WatchState(Struct, frozen=True):
    """The state of a watcher.

    Attributes:
        pid: Its process.
        command: The command of the process, such as `qmd server`.
        started: When it began, ISO 8601 in UTC.
        current: Whether the index has all changes that were noticed.
        embedding: `idle`, `waiting`, `running`, `off`, or the reason why it failed.
        collections: The watched collections by name.
    """

    pid: int
    command: str
    started: str
    current: bool = False
    embedding: str = "idle"
    collections: Mapping[str, WatchedCollection] = field(default_factory=dict)

    @property
    def folders(self) -> int:
        """The number of watched folders."""
        return sum(collection.folders for collection in self.collections.values())

    @property
    def polled(self) -> bool:
        """Whether at least one collection is polled."""
        return any(collection.mode == "polling" for collection in self.collections.values())

    def only(self, names: Container[str]) -> WatchState:
        """Return what a reader may know who sees only these collections."""
        visible = {name: value for name, value in self.collections.items() if name in names}
        return replace(self, embedding="", collections=visible)

    def indexed_at(self, collection: str, now: str) -> str:
        """Return the latest time whose state of a collection is certainly in the index; "" if unknown.

        That is `now`, if the system reports changes and all of them are in the index.
        """
        watched = self.collections.get(collection)
        if watched is None or watched.mode == "missing":
            return ""
        return watched.checked if watched.mode == "polling" else now if self.current else ""


class Election:
    """The lock of the watcher of an index.

    `index` is the path of the index file, whose folder must exist.
    """

    def __init__(self, index: str) -> None:
        self._path = lock_path(index)
        self._file: int | None = None

    def stand(self) -> bool:
        """Try to become the watcher; return whether this process is it.

        Raises `StoreError` if the file cannot be written.
        """
        if self._file is not None:
            return True
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreError(f"cannot write {self._path}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._file = file
        return True

    def publish(self, state: WatchState) -> None:
        """Let other processes know the state. This process must be the watcher."""
        assert self._file is not None
        data = json.dumps(to_builtins(state)).encode()
        try:
            os.pwrite(self._file, data, 0)
            os.ftruncate(self._file, len(data))
        except OSError:
            # The disk is full. Others see an older state, or none.
            os.ftruncate(self._file, 0)

    def resign(self) -> None:
        """Let another process watch."""
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None


def find_watcher(index: str) -> WatchState | None:
    """Return the state of the process that watches the folders of an index; None if there is none."""
    try:
        file = os.open(lock_path(index), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _parse(os.pread(file, 1_000_000, 0))
    finally:
        os.close(file)
    return None


def lock_path(index: str) -> str:
    """Return the path of the lock file of an index."""
    return os.path.realpath(index) + ".watch.lock"


def _parse(data: bytes) -> WatchState | None:
    """Return the published state; None if it is being written, or was written by another version."""
    try:
        fields = json.loads(data)
        collections = {
            name: WatchedCollection(**collection) for name, collection in fields.pop("collections").items()
        }
        return WatchState(**fields, collections=collections)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
