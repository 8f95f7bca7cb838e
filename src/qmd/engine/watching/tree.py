"""The folders of one collection that are watched, and the changes in it that are not yet in the index."""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from qmd.engine.watching.election import WatchedCollection
from qmd.engine.watching.notify import Event, Notifier, network_type
from qmd.errors import QmdError
from qmd.sources.formats.registry import beside, grows
from qmd.sources.paths import is_inside
from qmd.sources.rules import Rules
from qmd.sources.walk import folders
from qmd.types import Collection


class Debounce:
    """Waits until there was no change for `quiet` seconds, but at most `longest` seconds from the first.

    Times are seconds from any start.
    """

    def __init__(self, quiet: float, longest: float) -> None:
        self.quiet = quiet
        self.longest = longest
        self._first: float | None = None
        self._due = 0.0

    def touch(self, now: float) -> None:
        """Note a change."""
        if self._first is None:
            self._first = now
        self._due = min(now + self.quiet, self._first + self.longest)

    def delay(self, until: float) -> None:
        """Note that work is left, which is not to be done before a time."""
        self._first = until if self._first is None else self._first
        self._due = max(self._due, until)

    def clear(self) -> None:
        """Note that the changes are dealt with."""
        self._first = None

    @property
    def due(self) -> float | None:
        """The time to deal with the changes; None if there are none."""
        return None if self._first is None else self._due


#: Everything in a collection.
EVERYTHING = ""
#: More changed paths than this are a burst. To scan fewer takes less time than to start a process.
_BURST_PATHS = 500
#: With more changed paths than this, the whole collection is scanned.
_MAX_PATHS = 1_000
_LIMITS = {
    errno.ENOSPC: "the system's limit on watches is reached (sysctl fs.inotify.max_user_watches)",
    errno.EMFILE: "the system's limit on watching programs is reached (sysctl fs.inotify.max_user_instances)",
}

#: Device and inode of a folder.
_Identity = tuple[int, int]


class Tree:
    """A watched collection. `notifier` is None if the system reports no changes."""

    def __init__(
        self, collection: Collection, notifier: Notifier | None, reason: str, debounce: Debounce
    ) -> None:
        self.collection = collection
        self.changes = debounce
        self.full_scan_at = 0.0
        #: When the collection may be scanned again.
        self.rested_at = 0.0
        self.checked = ""
        #: Whether there are changes that the index does not have, or may not have.
        self.unsettled = True
        #: Whether many files have changed since the last scan.
        self.burst = False
        #: Whether the watches have to be set again, because links have changed.
        self.outdated = False
        self._notifier = notifier
        self._reason = reason
        self._rules = Rules(collection)
        self._beside = beside(collection.formats)
        #: If files do not grow while they are open, the end of writing is awaited.
        self._grows = grows(collection.formats)
        self._root = ""
        self._identity: _Identity | None = None
        self._prefixes: dict[str, str] = {}
        #: The folders above the root. If one is moved, another folder may have the collection's path.
        self._above: list[str] = []
        self._links: frozenset[str] = frozenset()
        self._paths: set[str] = set()
        self._polled = True

    @property
    def missing(self) -> bool:
        """True if the folder of the collection does not exist."""
        return self._identity is None

    @property
    def polled(self) -> bool:
        """True if changes are found by scans only."""
        return self._polled

    def state(self) -> WatchedCollection:
        """Return the state to publish."""
        if self.missing:
            return WatchedCollection("missing", reason=f"{self.collection.path} does not exist")
        if self._polled:
            return WatchedCollection("polling", reason=self._reason, checked=self.checked)
        return WatchedCollection("events", len(self._prefixes))

    def moved(self) -> bool:
        """Return whether another folder has the collection's path since the watches were set, or none."""
        return _identity_of(self.collection.path) != self._identity

    def watch(self) -> None:
        """Set the watches for the folders as they are now."""
        self.outdated = False
        self._identity = _identity_of(self.collection.path)
        self._polled, self._links = True, frozenset()
        before, self._prefixes, self._above = [*self._prefixes, *self._above], {}, []
        if not self.missing and self._notifier is not None:
            self._root = os.path.realpath(self.collection.path)
            network = network_type(self._root)
            self._reason = f"{network} does not report changes that other machines make" if network else ""
            if network is None:
                self._set_watches(self._notifier)
        if self._notifier is not None:
            self._notifier.remove(before)

    def forget(self) -> None:
        """Remove all watches."""
        if self._notifier is not None:
            self._notifier.remove([*self._prefixes, *self._above])
        self._prefixes, self._above = {}, []

    def note(self, event: Event, now: float) -> None:
        """Note an event. Events of other collections, and of files that do not belong to it, are ignored."""
        if self._polled or (event.growing and not self._grows):
            return
        absolute = os.path.join(event.folder, event.name) if event.name else event.folder
        if event.folder_changed and is_inside(self._root, absolute):
            self.outdated = True
            self.mark(EVERYTHING, now)
            return
        prefix = self._prefix(event.folder)
        if prefix is None or not event.name:  # the parent of a folder inside tells that it was moved
            return
        name = self._first(unicodedata.normalize("NFC", event.name))
        path = prefix + name
        link = path in self._links or (event.appeared and name[0] != "." and os.path.islink(absolute))
        if link or (self._links and event.folder_changed):
            self.outdated = True
            self.mark(EVERYTHING, now)
        elif event.folder_changed:
            if not self._rules.folder_excluded(name, path):
                self._follow(event, absolute, path)
                self.mark(path, now)
        elif not self._rules.file_excluded(name, path):
            self.mark(EVERYTHING if self._links else path, now)

    def mark(self, path: str, now: float, *, scheduled: bool = False) -> None:
        """Note that a file or folder may have changed, or `EVERYTHING`.

        A `scheduled` scan is due although no change was noticed.
        """
        self.unsettled |= not scheduled
        self._paths.add(path)
        self.burst |= len(self._paths) > _BURST_PATHS
        if len(self._paths) > _MAX_PATHS:
            self._paths = {EVERYTHING}
        self.changes.touch(now)
        self.changes.delay(self.rested_at)

    def take(self) -> Sequence[str]:
        """Return the paths to scan, () for everything, and forget them."""
        paths, self._paths, self.burst = self._paths, set(), False
        self.changes.clear()
        return () if EVERYTHING in paths else sorted(paths)

    def keep(self, paths: Sequence[str]) -> None:
        """Scan these paths with the next change as well, because a scan has left them as they were."""
        self._paths.update(paths or [EVERYTHING])

    def put_back(self, paths: Sequence[str], until: float) -> None:
        """Undo `take`, because the scan failed. The paths are not to be scanned again before a time."""
        self.keep(paths)
        self.burst = len(paths) > _BURST_PATHS
        self.unsettled = True
        self.changes.delay(until)

    def _first(self, name: str) -> str:
        """Return the name of the file that is read with the file of this name, which may be itself."""
        for suffix, ending in self._beside.items():
            if name.endswith(f".{suffix}{ending}"):
                return name.removesuffix(ending)
        return name

    def _prefix(self, folder: str) -> str | None:
        """Return the prefix of the paths in a folder; None if it does not belong to the collection."""
        if self._notifier is None or not self._notifier.recursive:
            return self._prefixes.get(folder)
        if not is_inside(folder, self._root):
            return None
        inside = folder[len(self._root) :].strip(os.sep).replace(os.sep, "/")
        inside = unicodedata.normalize("NFC", inside)
        if self._rules.path_excluded(inside):
            return None
        return f"{inside}/" if inside else ""

    def _follow(self, event: Event, absolute: str, path: str) -> None:
        """Set or remove the watches for a folder that has appeared or disappeared."""
        if self._notifier is None or self._notifier.recursive:
            return
        gone = [folder for folder in self._prefixes if is_inside(folder, absolute)]
        for folder in gone:
            del self._prefixes[folder]
        self._notifier.remove(gone)
        if event.appeared:
            self._set_watches(self._notifier, path)

    def _set_watches(self, notifier: Notifier, under: str = "") -> None:
        try:
            if notifier.recursive:
                notifier.add([self._root])
                self._prefixes = {self._root: ""}
                self._links = folders(self.collection).links
            else:
                if not under:
                    self._above = [*map(str, Path(self._root).parents)]
                    notifier.add(self._above, place=True)
                self._add_folders(notifier, under)
            self._polled = False
        except QmdError:  # the collection's folder has just been removed
            self._identity = None
        except OSError as error:
            self._reason = _LIMITS.get(error.errno or 0, f"{error.strerror}")
            self._polled = True
            self.forget()

    def _add_folders(self, notifier: Notifier, under: str) -> None:
        """Watch all folders. They are listed again, because one may appear before its parent is watched."""
        while True:
            found = folders(self.collection, under)
            self._links |= found.links
            new = found.prefixes.keys() - self._prefixes.keys()
            if not new:
                return
            self._prefixes.update((folder, found.prefixes[folder]) for folder in new)
            notifier.add(sorted(new))


def _identity_of(folder: str) -> _Identity | None:
    try:
        status = os.stat(folder)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
