"""The times of the last commits of files, so that a clone does not make everything of today.

Only the history counts, and only for files that are as in the last commit: one with other bytes was changed
since. git is asked once for each clone and scan, for some seconds, and no more of its output is read than is
needed; files that are not in that part of the history have no time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from qmd.errors import SourceError
from qmd.sources.clone import Clone, work_tree
from qmd.sources.git_history import blobs, changed_since, head, last_changes
from qmd.sources.paths import is_inside
from qmd.sources.read import read_raw
from qmd.sources.root import Root
from qmd.types import SourceFile

#: The most clones in a collection that are asked, the most files that are named to git, and the seconds that
#: git may take for one scan.
_MAX_CLONES, _MAX_NAMED, _MAX_SECONDS = 200, 100, 30
_Answer = TypeVar("_Answer")


class GitDates:
    """The clones that a collection is in, or that are in it.

    Attributes:
        heads: The last commit of each clone that was asked, by its top folder; "" if it has none.
        problems: Why a clone was not read, a line each.

    Args:
        root: The folder of the collection.
        known: `heads` at the last scan.
    """

    def __init__(self, root: Root, known: Mapping[str, str]) -> None:
        self._root = root
        self._known = known
        self._clones: dict[str, Clone | None] = {}
        self._tops: dict[str, str | None] = {}
        self._blobs: dict[str, Mapping[str, str]] = {}
        self._seconds: dict[str, Mapping[str, int]] = {}
        self._end = time.monotonic() + _MAX_SECONDS
        self.heads: dict[str, str] = {}
        self.problems: list[str] = []

    def changed(self) -> list[str] | None:
        """Return the paths in the collection that commits have changed since the last scan; None for any."""
        paths: list[str] = []
        for top in dict.fromkeys(filter(None, (self._top(self._root.real), *self._known))):
            clone, before = self._clone(top), self._known.get(top)
            if clone is None or before == self.heads[top]:
                continue
            if before is None:
                return None
            names = self._try(partial(changed_since, clone, before, self._left()), None)
            if names is None:
                return None
            paths += [path for name in names if (path := self._inside(os.path.join(top, name)))]
        return paths

    def prepare(self, files: Iterable[SourceFile]) -> None:
        """Ask git for the times of files."""
        by_top: dict[str, list[str]] = {}
        for file in files:
            real = self._real(file)
            if top := self._top(os.path.dirname(real)):
                by_top.setdefault(top, []).append(os.path.relpath(real, top))
        for top, names in by_top.items():
            clone = self._clone(top)
            if clone is None or not self.heads[top]:
                continue
            if len(names) > _MAX_NAMED:
                inside = is_inside(self._root.real, top) and self._root.real != top
                names = [os.path.relpath(self._root.real, top)] if inside else []
            self._blobs[top] = self._try(partial(blobs, clone, names, self._left()), {})
            if self._blobs[top]:
                self._seconds[top] = self._try(partial(last_changes, clone, names, self._left()), {})

    def of(self, file: SourceFile) -> int | None:
        """Return the seconds since the epoch of the last commit of a file that is as in that commit."""
        if not self._seconds:
            return None
        real = self._real(file)
        top = self._top(os.path.dirname(real))
        if top is None or top not in self._seconds:
            return None
        name = os.path.relpath(real, top)
        seconds, blob = self._seconds[top].get(name), self._blobs[top].get(name)
        return seconds if seconds is not None and blob and self._is(file, blob) else None

    def _is(self, file: SourceFile, blob: str) -> bool:
        """Return whether a file has the bytes of a blob. git may keep other line ends than the file has."""
        try:
            data = read_raw(file, root=self._root)[0].data
        except SourceError:
            return False
        import hashlib  # most scans are of no clone, and start without OpenSSL

        algorithm = "sha1" if len(blob) == 40 else "sha256"
        for content in dict.fromkeys((data, data.replace(b"\r\n", b"\n"))):
            found = hashlib.new(algorithm, b"blob %d\0" % len(content), usedforsecurity=False)
            found.update(content)
            if found.hexdigest() == blob:
                return True
        return False

    def _real(self, file: SourceFile) -> str:
        return os.path.join(self._root.real, file.absolute[len(self._root.prefix) :])

    def _inside(self, path: str) -> str | None:
        return os.path.relpath(path, self._root.real) if is_inside(path, self._root.real) else None

    def _top(self, folder: str) -> str | None:
        """Return the top folder of the clone that a folder without links is in."""
        if folder not in self._tops:
            if os.path.lexists(os.path.join(folder, ".git")) or folder in (
                self._root.real,
                os.path.dirname(folder),
            ):
                self._tops[folder] = work_tree(folder)
            else:
                self._tops[folder] = self._top(os.path.dirname(folder))
        return self._tops[folder]

    def _clone(self, top: str) -> Clone | None:
        """Return a clone and note its last commit; None if it cannot be read."""
        if top not in self._clones:
            self._clones[top] = None
            if len(self._clones) <= _MAX_CLONES and os.path.isdir(top):
                clone = self._try(partial(Clone, top), None)
                found = None if clone is None else self._try(partial(head, clone, self._left()), None)
                if found is not None:
                    self._clones[top], self.heads[top] = clone, found
        return self._clones[top]

    def _left(self) -> float:
        return max(0.1, self._end - time.monotonic())

    def _try(self, ask: Callable[[], _Answer], otherwise: _Answer) -> _Answer:
        """Return what git answers. If it fails, note why."""
        try:
            return ask()
        except SourceError as error:
            self.problems.append(f"dates of commits are not read: {error.message}")
            return otherwise
