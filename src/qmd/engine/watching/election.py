"""Election of one watcher among all processes that use an index, and the state that it publishes.

The watcher holds a file beside the index. When its process ends, another one takes over. The file has the
state of the watcher, for `qmd status` and the answers of other processes.
"""

from __future__ import annotations

# msgspec's own JSON refuses names of files that are not UTF-8, which a message may have.
import json
import os
from collections.abc import Container, Mapping

from msgspec import Struct, ValidationError, convert, field, to_builtins
from msgspec.structs import replace

from qmd.config.held_file import hold, read_held, watcher_file
from qmd.config.holders import FORMAT
from qmd.store.sqlite.schema import VERSION
from qmd.system import write_start


class WatchedCollection(Struct, frozen=True):
    """The way in which the changes of a collection are noticed.

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
        """True if at least one collection is polled."""
        return any(collection.mode == "polling" for collection in self.collections.values())

    def only(self, names: Container[str]) -> WatchState:
        """Return the part for a reader who sees only these collections."""
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
    """The watcher of an index is the process that holds a file beside it.

    `index` is the path of the index file.
    """

    def __init__(self, index: str) -> None:
        self._path = watcher_file(index)
        self._file: int | None = None

    def stand(self) -> bool:
        """Try to become the watcher; return whether this process is it.

        Raises `StoreError` if the file cannot be written.
        """
        if self._file is None:
            self._file = hold(self._path)
        return self._file is not None

    def publish(self, state: WatchState) -> None:
        """Let other processes know the state. This process must be the watcher."""
        assert self._file is not None
        data = json.dumps(to_builtins(state) | {FORMAT: VERSION}).encode()
        try:
            write_start(self._file, data)
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
    """Return the state of the process that watches the folders of an index; None if there is none.

    Also None if the state is just being written, or if another version has written it.
    """
    data = read_held(watcher_file(index))
    try:
        return None if data is None else convert(json.loads(data), WatchState)
    except (ValueError, ValidationError):
        return None
