"""The folder of a collection, held open."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from stat import S_ISLNK

from qmd.errors import SourceError
from qmd.sources.paths import in_words, is_inside
from qmd.types import Collection

#: Whether the system opens files relative to a descriptor. Windows does not.
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
#: Of Windows: links, and the mount points of other folders.
_REPARSE_POINT = 0x400
#: Longer paths could not be opened by other programs, such as an editor.
_MAX_PATH = 4095


class Root:
    """The folder of a collection, in which files and folders are opened without following a link.

    If a folder in it is exchanged for a link, its files cannot be opened, so a scan never leaves the
    collection. The path of the root itself may have links. It is closed with its last user.

    Attributes:
        prefix: The absolute path of the folder, with a slash at its end.
        real: The path of the folder without links.
        identity: Its device and inode.

    Raises `SourceError` if the folder is missing, no folder or cannot be listed.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        path = os.path.abspath(collection.path)
        self.prefix = path.rstrip(os.sep) + os.sep
        try:
            if _BY_DESCRIPTOR:
                self._folder = _Descriptor(os.open(path, _FOLDER))
                #: The folder that was used last, because most files are next to the one before.
                self._last = ("", self._folder)
                status = os.fstat(self._folder.descriptor)
            else:
                os.scandir(path).close()
                status = os.stat(path)
            self.identity = (status.st_dev, status.st_ino)
            self.real = os.path.realpath(path)
            return
        except FileNotFoundError:
            reason = "does not exist"
        except NotADirectoryError:
            reason = "is not a folder"
        except (OSError, ValueError) as error:
            reason = f"cannot be listed: {in_words(error)}"
        raise SourceError(
            f"collection '{collection.name}': {collection.path} {reason}",
            "nothing was changed; restore the folder, or correct the collection's path",
        )

    def check(self) -> None:
        """Raise `SourceError` if the folder was removed or replaced since it was opened."""
        if Root(self._collection).identity != self.identity:
            raise SourceError(
                f"collection '{self._collection.name}': {self._collection.path} was replaced during the scan",
                "nothing was changed; run the command again",
            )

    def follow(self, path: str) -> str | None:
        """Return the path below the folder that an absolute path with links leads to; None if it leads out.

        Raises `OSError` if it leads nowhere.
        """
        real = os.path.realpath(path, strict=True)
        inside = is_inside(real, self.real)
        return self.prefix + real[len(self.real) :].lstrip(os.sep) if inside else None

    def open(self, absolute: str, flags: int) -> int:
        """Return a descriptor of a file or folder. Raises `OSError`, also if there is a link on the way."""
        if not _BY_DESCRIPTOR:
            return self._open_by_path(absolute, flags)
        parent, name = self._parent(absolute)
        return os.open(name, flags | _NO_LINK, dir_fd=parent.descriptor)

    def stat(self, absolute: str) -> os.stat_result:
        """Return the state of a file or folder, or of the link that has taken its place."""
        if not _BY_DESCRIPTOR:
            return os.stat(absolute, follow_symlinks=False)
        parent, name = self._parent(absolute)
        return os.stat(name, dir_fd=parent.descriptor, follow_symlinks=False)

    def _open_by_path(self, absolute: str, flags: int) -> int:
        """Open a file on a system that cannot open names one at a time; refuse links, and exchanged files.

        A folder on the way that is exchanged for a link and back between the checks is not noticed.
        """
        path = self.prefix
        for part in absolute[len(self.prefix) :].split(os.sep):
            path = os.path.join(path, part)
            status = os.lstat(path)
            if S_ISLNK(status.st_mode) or getattr(status, "st_file_attributes", 0) & _REPARSE_POINT:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        file = os.open(absolute, flags)
        if os.path.samestat(os.fstat(file), status):
            return file
        os.close(file)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), absolute)

    @contextmanager
    def entries(self, absolute: str) -> Iterator[tuple[tuple[int, int], list[os.DirEntry[str]]]]:
        """Return the device and inode of a folder, and its entries, which can be examined in the `with`.

        Their paths are names. Raises `OSError`, also if a link has taken the place of the folder.
        """
        folder = _Descriptor(self.open(absolute, _FOLDER)) if _BY_DESCRIPTOR else None
        place = absolute if folder is None else folder.descriptor
        status = os.stat(place)
        with os.scandir(place) as entries:
            listed = [*entries]
        yield (status.st_dev, status.st_ino), listed

    def _parent(self, absolute: str) -> tuple[_Descriptor, str]:
        """Return the folder that a path is in, and the last part of the path."""
        if len(absolute) > _MAX_PATH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        path, _, name = absolute[len(self.prefix) :].rpartition(os.sep)
        last, folder = self._last
        if path != last:
            folder = self._folder
            for part in path.split(os.sep) if path else ():
                folder = _Descriptor(os.open(part, _FOLDER | _NO_LINK, dir_fd=folder.descriptor))
            self._last = (path, folder)
        return folder, name or os.curdir


class _Descriptor:
    """A descriptor of a folder, which is closed with its last user."""

    __slots__ = ("descriptor",)

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        os.close(self.descriptor)
