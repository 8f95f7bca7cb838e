"""The files of a collection, found on the disk."""
# Tens of thousands of files a second leave no room for path objects.

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from stat import S_ISDIR, S_ISREG

from qmd.errors import SourceError
from qmd.sources.patterns import Matcher, compile_pattern
from qmd.sources.problems import OnProblem, in_words, printable
from qmd.sources.rules import Rules, is_inside, why_excluded
from qmd.types import Collection, Fingerprint, SourceFile

__all__ = ["Matcher", "OnProblem", "compile_pattern", "device_of", "walk", "why_excluded"]


def walk(collection: Collection, on_problem: OnProblem | None = None) -> Iterator[SourceFile]:
    """Every file that belongs to `collection`: folders in the order of their names, each file once.

    Links that stay inside the root are followed. What they lead to is listed under its real path where that
    path belongs to the collection, else under the link's; `absolute` is the real one either way. `on_problem`
    hears of folders and files that cannot be looked at; a folder's path ends in `/` (the root's is `/`
    alone), and what is below it is unknown, not gone.

    Raises SourceError, at the call, if the root is missing, no folder or not listable, and at the end if it
    went away meanwhile; UsageError for a pattern or a glob that cannot be read.
    """
    walker = _Walker(collection, on_problem)
    walker.check_root()
    return walker.files()


def device_of(folder: str) -> int | None:
    """The device that a folder is on, which changes when a drive is mounted there or taken away."""
    try:
        return os.stat(folder).st_dev
    except OSError:
        return None


class _Walker:
    def __init__(self, collection: Collection, on_problem: OnProblem | None) -> None:
        self.collection = collection
        self.rules = Rules(collection)
        self.root = os.path.abspath(collection.path)
        self.prefix = self.root.rstrip(os.sep) + os.sep
        self.real_root = self.root
        self.on_problem = on_problem
        self.visited: set[tuple[int, int]] = set()  # device and inode of every real folder listed
        self.listed: set[str] = set()  # absolute paths of every real file listed
        self.links: list[tuple[str, str, str]] = []  # absolute path, relative path, name

    def check_root(self) -> tuple[int, int]:
        """The root's device and inode, or SourceError in words."""
        try:
            status = os.stat(self.root)
            if S_ISDIR(status.st_mode):
                os.scandir(self.root).close()
                return status.st_dev, status.st_ino
            reason = "is not a folder"
        except FileNotFoundError:
            reason = "does not exist"
        except (OSError, ValueError) as error:
            reason = f"cannot be listed: {in_words(error) if isinstance(error, OSError) else error}"
        raise SourceError(
            f"collection '{self.collection.name}': {self.collection.path} {reason}",
            "Nothing was changed. Bring the folder back, or correct the collection's path.",
        )

    def files(self) -> Iterator[SourceFile]:
        root = self.check_root()
        self.real_root = os.path.realpath(self.root)
        yield from self._tree(self.root, "")
        done = 0
        while done < len(self.links):
            batch = sorted(self.links[done:], key=lambda link: link[1])
            done = len(self.links)
            for absolute, path, name in batch:
                yield from self._link(absolute, path, name)
        if self.check_root() != root:
            raise SourceError(
                f"collection '{self.collection.name}': {self.collection.path} was replaced during the scan",
                "Nothing was changed. Run it again.",
            )

    def _tree(self, top: str, prefix: str) -> Iterator[SourceFile]:
        """The files of the real folder `top`, whose contents have relative paths that begin with `prefix`."""
        rules, links, listed = self.rules, self.links, self.listed
        pending = [(top, prefix)]
        while pending:
            folder, prefix = pending.pop()
            entries = self._entries(folder, prefix)
            names = None
            folders = []
            for entry in entries:
                name = entry.name
                if not name.isascii():
                    name = unicodedata.normalize("NFC", name)
                    if name != entry.name:
                        names = names or {other.name for other in entries}
                        if name in names:
                            self._report(prefix + entry.name, "the same name is there in composed form")
                            continue
                        names.add(name)
                path = prefix + name
                try:
                    if entry.is_symlink():
                        if name[0] != ".":
                            links.append((entry.path, path, name))
                    elif entry.is_dir(follow_symlinks=False):
                        if not rules.folder_excluded(name, path) and self._is_valid(path, "/"):
                            folders.append((entry.path, path + "/"))
                    elif (
                        not rules.file_excluded(name, path)
                        and entry.path not in listed
                        and self._is_valid(path)
                    ):
                        status = entry.stat(follow_symlinks=False)
                        if S_ISREG(status.st_mode):
                            listed.add(entry.path)
                            fingerprint = Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino)
                            yield SourceFile(path, entry.path, fingerprint)
                except FileNotFoundError:
                    continue  # deleted since the folder was listed
                except OSError as error:
                    self._report(path, in_words(error))
            pending += reversed(folders)

    def _entries(self, folder: str, prefix: str) -> list[os.DirEntry[str]]:
        """The sorted entries of a folder that was not listed before; none where it cannot be listed."""
        try:
            status = os.stat(folder)
            identity = (status.st_dev, status.st_ino)
            if identity in self.visited:
                return []
            self.visited.add(identity)
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []  # deleted meanwhile
        except OSError as error:
            self._report(prefix or "/", in_words(error))
            return []

    def _link(self, absolute: str, path: str, name: str) -> Iterator[SourceFile]:
        """What the link leads to, unless it is outside the root or listed already."""
        try:
            real = os.path.realpath(absolute, strict=True)
            if not is_inside(real, self.real_root):
                return
            status = os.stat(real)
        except OSError as error:
            if not self.rules.file_excluded(name, path):
                self._report(path, f"a link that cannot be followed: {in_words(error)}")
            return
        target = self.prefix + real[len(self.real_root) :].lstrip(os.sep)
        if S_ISDIR(status.st_mode):
            if not self.rules.folder_excluded(name, path) and self._is_valid(path, "/"):
                yield from self._tree(target, path + "/")
        elif (
            S_ISREG(status.st_mode)
            and target not in self.listed
            and not self.rules.file_excluded(name, path)
            and self._is_valid(path)
        ):
            self.listed.add(target)
            yield SourceFile(path, target, Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino))

    def _is_valid(self, path: str, ending: str = "") -> bool:
        """Whether the name is text; names of other bytes have no place in an index."""
        if not path.isascii():
            try:
                path.encode()
            except UnicodeEncodeError:
                self._report(path + ending, "the name is not valid UTF-8")
                return False
        return True

    def _report(self, path: str, reason: str) -> None:
        if self.on_problem is not None:
            self.on_problem(printable(path), reason)
