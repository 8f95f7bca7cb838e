"""Listing the archive's folder without hidden files and without files outside it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from qmd.config.validate import nfc
from qmd.errors import NotFoundError, SourceError
from qmd.features.archive.posts import SUFFIX
from qmd.sources.paths import OnProblem, in_words, is_inside, printable


class PostFile(Struct, frozen=True):
    """A file or a folder. `path` is relative to the archive, in NFC; `absolute` has its links resolved."""

    path: str
    absolute: str
    is_folder: bool
    is_link: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Folder:
    """The archive's folder. Files are found by looking up each name of a path in a folder listing.

    A listing contains no hidden entry and no link that leads outside. Therefore no path can reach such a
    file: `..`, an absolute path, or a separator in a name is in no listing.
    """

    def __init__(self, path: str, on_problem: OnProblem) -> None:
        self.path = path
        self._absolute = os.path.abspath(path)
        self._on_problem = on_problem

    def children(self, folder: PostFile) -> list[PostFile]:
        """Return the visible entries of a folder, sorted by name.

        A subfolder that cannot be listed is reported to `on_problem` and counts as empty. Raises
        `SourceError` if the archive's own folder cannot be listed.
        """
        try:
            with os.scandir(folder.absolute) as entries:
                children = [child for entry in entries if (child := self._visible(folder, entry))]
        except FileNotFoundError:  # removed after it was listed
            return []
        except OSError as error:
            if not folder.path:
                raise SourceError(f"the archive's folder cannot be listed: {in_words(error)}") from error
            self._on_problem(f"{folder.path}/", in_words(error))
            return []
        return sorted(children, key=lambda child: (child.path, child.absolute))

    def authors(self) -> list[PostFile]:
        """Return the top-level folders. Raises `NotFoundError` if the archive is not a folder."""
        if not os.path.isdir(self._absolute):
            raise NotFoundError(f"数据目录不存在：{self.path}")
        return [child for child in self.children(self._top) if child.is_folder]

    def find(self, path: str) -> PostFile | None:
        """Return the post's file at a path in any Unicode normalisation, or None."""
        entry: PostFile | None = self._top
        for name in path.split("/"):
            if entry is None or not entry.is_folder:
                return None
            entry = find_name(self.children(entry), name)
        return entry if entry is not None and _is_post(entry) else None

    def files(self, top: PostFile) -> Iterator[PostFile]:
        """Yield every post's file below `top`.

        Each real folder is visited once, under its path without links if it has one.
        """
        direct, linked = deque([top]), deque[PostFile]()
        seen: set[str] = set()
        while direct or linked:
            folder = direct.popleft() if direct else linked.popleft()
            if folder.absolute in seen:
                continue
            seen.add(folder.absolute)
            for child in self.children(folder):
                if child.is_folder:
                    (linked if child.is_link else direct).append(child)
                elif folder is not top and _is_post(child):
                    yield child

    @property
    def _root(self) -> str:
        # Resolved on every call, because the folder or a link to it may change while a server runs.
        return os.path.realpath(self._absolute)

    @property
    def _top(self) -> PostFile:
        return PostFile("", self._root, is_folder=True)

    def _visible(self, folder: PostFile, entry: os.DirEntry[str]) -> PostFile | None:
        name = entry.name
        if name.startswith("."):
            return None
        path = nfc(f"{folder.path}/{name}" if folder.path else name)
        if not _is_text(name):
            self._on_problem(printable(path), "its name is not valid UTF-8")
            return None
        if not entry.is_symlink():
            is_folder = entry.is_dir(follow_symlinks=False)
            return PostFile(path, entry.path, is_folder) if is_folder or entry.is_file() else None
        target = os.path.realpath(entry.path)
        if not self._is_visible_target(target):
            return None
        is_folder = os.path.isdir(target)
        return (
            PostFile(path, target, is_folder, is_link=True) if is_folder or os.path.isfile(target) else None
        )

    def _is_visible_target(self, target: str) -> bool:
        """Return whether a real path is inside the archive and no part of it is hidden."""
        root = self._root
        if target == root or not is_inside(target, root):
            return False
        return not any(name.startswith(".") for name in os.path.relpath(target, root).split(os.sep))


def find_name(entries: list[PostFile], name: str) -> PostFile | None:
    """Return the entry with a name in any Unicode normalisation, or None."""
    normalised = nfc(name)
    return next((entry for entry in entries if entry.name == normalised), None)


def _is_post(entry: PostFile) -> bool:
    return not entry.is_folder and entry.path.endswith(SUFFIX)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # the file system's invalid UTF-8 appears as lone surrogates
        return False
    return True
