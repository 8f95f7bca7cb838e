"""The data folder: what in it may be seen (A4)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from qmd.config.validate import nfc
from qmd.engine.archive.posts import SUFFIX
from qmd.errors import NotFoundError, SourceError
from qmd.sources.problems import OnProblem, in_words, printable
from qmd.sources.rules import is_inside


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder. `path` is relative to the archive and in NFC, `absolute` real, without links."""

    path: str
    absolute: str
    is_folder: bool
    is_link: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Folder:
    """Finds files by looking them up in listings, name by name.

    A listing holds nothing hidden and nothing that leads outside, so whatever is asked for can neither:
    `..`, an absolute path or a folder's separator in a name is in no listing.
    """

    def __init__(self, path: str, on_problem: OnProblem) -> None:
        self.path = path
        self._absolute = os.path.abspath(path)
        self._on_problem = on_problem

    def children(self, folder: Entry) -> list[Entry]:
        """What a folder holds that may be seen, by name. What cannot be listed is a problem, and empty.

        Raises `SourceError` where it is the archive's own folder that cannot be.
        """
        try:
            with os.scandir(folder.absolute) as entries:
                found = [child for entry in entries if (child := self._visible(folder, entry))]
        except FileNotFoundError:  # it has gone since it was listed
            return []
        except OSError as error:
            if not folder.path:
                raise SourceError(f"the archive's folder cannot be listed: {in_words(error)}") from error
            self._on_problem(f"{folder.path}/", in_words(error))
            return []
        return sorted(found, key=lambda child: (child.path, child.absolute))

    def authors(self) -> list[Entry]:
        """The folders at the top. Raises `NotFoundError` where the archive is no folder."""
        if not os.path.isdir(self._absolute):
            raise NotFoundError(f"数据目录不存在：{self.path}")
        return [child for child in self.children(self._top) if child.is_folder]

    def find(self, path: str) -> Entry | None:
        """The post's file at a path, however its characters are composed."""
        here: Entry | None = self._top
        for name in path.split("/"):
            if here is None or not here.is_folder:
                return None
            here = find_name(self.children(here), name)
        return here if here is not None and _is_post(here) else None

    def files(self, top: Entry) -> Iterator[Entry]:
        """Every post's file in the folders below `top`, each real folder's once, by the way without links."""
        ways, linked = deque([top]), deque[Entry]()
        seen: set[str] = set()
        while ways or linked:
            folder = ways.popleft() if ways else linked.popleft()
            if folder.absolute in seen:
                continue
            seen.add(folder.absolute)
            for child in self.children(folder):
                if child.is_folder:
                    (linked if child.is_link else ways).append(child)
                elif folder is not top and _is_post(child):
                    yield child

    @property
    def _root(self) -> str:
        # Found anew each time: the folder may be made, or a link to it changed, while a server runs.
        return os.path.realpath(self._absolute)

    @property
    def _top(self) -> Entry:
        return Entry("", self._root, is_folder=True)

    def _visible(self, folder: Entry, entry: os.DirEntry[str]) -> Entry | None:
        name = entry.name
        if name.startswith("."):
            return None
        path = nfc(f"{folder.path}/{name}" if folder.path else name)
        if not _is_text(name):
            self._on_problem(printable(path), "its name is not valid UTF-8")
            return None
        if not entry.is_symlink():
            is_folder = entry.is_dir(follow_symlinks=False)
            return Entry(path, entry.path, is_folder) if is_folder or entry.is_file() else None
        target = os.path.realpath(entry.path)
        if not self._may_be_seen(target):
            return None
        is_folder = os.path.isdir(target)
        return Entry(path, target, is_folder, is_link=True) if is_folder or os.path.isfile(target) else None

    def _may_be_seen(self, target: str) -> bool:
        """Whether a real path is inside, and hidden by none of its names."""
        root = self._root
        if target == root or not is_inside(target, root):
            return False
        return not any(name.startswith(".") for name in os.path.relpath(target, root).split(os.sep))


def find_name(entries: list[Entry], name: str) -> Entry | None:
    """The entry of a name, however its characters are composed."""
    wanted = nfc(name)
    return next((entry for entry in entries if entry.name == wanted), None)


def _is_post(entry: Entry) -> bool:
    return not entry.is_folder and entry.path.endswith(SUFFIX)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8 are lone surrogates here
        return False
    return True
