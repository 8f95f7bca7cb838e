"""Notices of the operating system about changes in folders, and the file systems that it gives none of."""

from __future__ import annotations

import os
import re
import select
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from watchfiles import Change

#: The longest wait inside the library of `Recursive`, in milliseconds.
_SLICE_MS = 500
_MOUNTS = "/proc/self/mountinfo"
#: File systems whose changes the system does not report, because other machines make them.
_NETWORK = frozenset(
    """
    9p afs beegfs ceph cifs coda davfs drvfs fuse.ceph-fuse fuse.cifs fuse.davfs2 fuse.gcsfuse fuse.glusterfs
    fuse.grpcfuse fuse.gvfsd-fuse fuse.juicefs fuse.mergerfs fuse.osxfs fuse.portal fuse.rclone fuse.s3fs
    fuse.smbnetfs fuse.sshfs fuse.vmhgfs-fuse glusterfs gpfs lustre ncpfs nfs nfs4 orangefs prl_fs smb3 smbfs
    vboxsf virtiofs vmhgfs
    """.split()
)


class Event(Struct, frozen=True):
    """A change of the entry `name` in a folder. It is a hint: only a scan tells what has changed.

    `folder_changed` is whether the entry is, or was, a folder that now has another place. `appeared` is
    whether it is new in this folder. `name` is empty if the watched folder itself was moved or deleted.
    """

    folder: str
    name: str
    folder_changed: bool
    appeared: bool
    growing: bool = False  #: Whether it is a file that a program has written to, and may still have open


class Notifier(Protocol):
    """Watches folders, which are given by their real paths.

    Attributes:
        recursive: Whether a watch also covers the folders inside. Then only the roots need one.
    """

    recursive: bool

    def add(self, folders: Iterable[str], *, place: bool = False) -> None:
        """Watch folders; a folder may be added several times. Those that do not exist are left out.

        With `place`, only tell if a folder itself is moved or deleted; a recursive notifier cannot do that.
        Raises `OSError` if the system watches no more folders.
        """

    def remove(self, folders: Iterable[str]) -> None:
        """Stop watching folders, unless they were added more often than removed."""

    def wait(self, seconds: float) -> list[Event] | None:
        """Wait for changes, and return them; [] if there are none in time. None if changes were lost."""

    def wake(self) -> None:
        """Make a `wait` in another thread return, and all later ones."""

    def close(self) -> None:
        """Stop watching."""


def open_notifier(platform: str = sys.platform) -> Notifier | None:
    """Return a notifier for this system; None if it has none. Raises `OSError` at the system's limit."""
    if platform == "linux":
        return Inotify()
    return Recursive() if platform in ("darwin", "win32") else None


class Inotify:
    """Linux: a watch for each folder, on one descriptor."""

    recursive = False

    def __init__(self) -> None:
        from inotify_simple import INotify, flags

        self._flags = flags
        # MASK_ADD: the root of one collection may lie above that of another.
        self._place = flags.MOVE_SELF | flags.ONLYDIR | flags.EXCL_UNLINK | flags.DONT_FOLLOW | flags.MASK_ADD
        entries = flags.CREATE | flags.CLOSE_WRITE | flags.MOVED_FROM | flags.MOVED_TO | flags.DELETE
        self._content = entries | flags.MODIFY | self._place
        self._inotify = INotify(nonblocking=True)
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}
        self._uses: Counter[str] = Counter()
        self._wakeup, self._waker = os.pipe()

    def add(self, folders: Iterable[str], *, place: bool = False) -> None:
        for folder in folders:
            # Counted even if it is gone by now, because it is removed as often as it was added.
            self._uses[folder] += 1
            try:
                watch = self._inotify.add_watch(folder, self._place if place else self._content)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                continue
            # A folder that was moved keeps its watch, under the new name.
            before = self._folders.get(watch)
            if before is not None and before != folder and self._watches.get(before) == watch:
                del self._watches[before]
            stale = self._watches.get(folder, watch)
            self._folders[watch] = folder
            self._watches[folder] = watch
            if stale != watch:  # another folder had this path before
                self._forget(stale, folder)

    def remove(self, folders: Iterable[str]) -> None:
        for folder in [*folders]:
            self._uses[folder] -= 1
            if self._uses[folder] > 0:
                continue
            del self._uses[folder]
            watch = self._watches.pop(folder, None)
            if watch is not None:
                self._forget(watch, folder)

    def _forget(self, watch: int, folder: str) -> None:
        if self._folders.get(watch) == folder:
            del self._folders[watch]
            with suppress(OSError):  # the folder is gone, and its watch with it
                self._inotify.rm_watch(watch)

    def wait(self, seconds: float) -> list[Event] | None:
        select.select([self._inotify, self._wakeup], [], [], max(0.0, seconds))
        flags = self._flags
        events: dict[Event, None] = {}
        for event in self._inotify.read(timeout=0):
            if event.mask & flags.Q_OVERFLOW:
                return None
            folder = self._folders.get(event.wd)
            if folder is None:
                continue
            gone = bool(event.mask & flags.IGNORED)
            if gone:
                del self._folders[event.wd]
                if self._watches.get(folder) == event.wd:
                    del self._watches[folder]
            appeared = bool(event.mask & (flags.CREATE | flags.MOVED_TO))
            folder_changed = gone or bool(event.mask & (flags.ISDIR | flags.MOVE_SELF))
            growing = bool(event.mask & flags.MODIFY)
            events[Event(folder, event.name, folder_changed, appeared, growing)] = None
        return list(events)

    def wake(self) -> None:
        os.write(self._waker, b".")

    def close(self) -> None:
        self._inotify.close()
        os.close(self._wakeup)
        os.close(self._waker)


class Recursive:
    """macOS and Windows: one watch covers a folder with everything inside."""

    recursive = True

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()
        self._roots: frozenset[str] = frozenset()
        self._changes: Generator[set[tuple[Change, str]]] | None = None
        self._stop = threading.Event()

    def add(self, folders: Iterable[str], *, place: bool = False) -> None:
        if not place:
            self._uses.update(folders)
            self._watch()

    def remove(self, folders: Iterable[str]) -> None:
        self._uses.subtract([*folders])
        self._watch()

    def _watch(self) -> None:
        from watchfiles import watch

        self._uses = +self._uses
        roots = frozenset(filter(os.path.isdir, self._uses))
        if roots == self._roots:
            return
        before, self._changes, self._roots = self._changes, None, roots
        if roots:
            self._changes = watch(
                *sorted(roots),
                watch_filter=None,
                debounce=50,
                step=50,
                rust_timeout=_SLICE_MS,
                yield_on_timeout=True,
                stop_event=self._stop,
                ignore_permission_denied=True,
            )
            # The first step starts the watch, before the old one ends. Its changes need no notice, because
            # folders are scanned after they were added.
            next(self._changes, None)
        if before is not None:
            before.close()

    def wait(self, seconds: float) -> list[Event] | None:
        if self._changes is None or seconds <= 0:
            self._stop.wait(seconds)
            return []
        deadline = time.monotonic() + seconds
        changes: set[tuple[Change, str]] = set()
        while not changes and not self._stop.is_set():
            changes = next(self._changes, set())
            if time.monotonic() >= deadline:
                break
        return [self._event(path, change.name == "added") for change, path in changes]

    @staticmethod
    def _event(path: str, appeared: bool) -> Event:
        folder, name = os.path.split(path)
        # A deleted path may have been a folder.
        return Event(folder, name, not os.path.isfile(path), appeared)

    def wake(self) -> None:
        self._stop.set()

    def close(self) -> None:
        if self._changes is not None:
            self._changes.close()
        self._changes = None


def network_type(folder: str, mounts: str = _MOUNTS) -> str | None:
    """Return the type of the network file system that a folder is on; None if it is local or unknown.

    `mounts` is a file in the format of Linux's `/proc/self/mountinfo`.
    """
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            found = mount_type(os.path.realpath(folder), file.read())
    except OSError:
        return None
    return found if found in _NETWORK else None


def mount_type(path: str, mountinfo: str) -> str:
    """Return the type of the file system at an absolute path, from the text of a `mountinfo`."""
    best, found = -1, ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        # Of mounts at one point, the last one is visible.
        if inside and len(point) >= best:
            best, found = len(point), right.split()[0]
    return found
