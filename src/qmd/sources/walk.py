"""List the files of a collection."""
# Strings instead of pathlib, because path objects are too slow for tens of thousands of files per second.

from __future__ import annotations

import os
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from stat import S_ISDIR, S_ISREG

from qmd.errors import SourceError
from qmd.sources.formats.registry import suffix
from qmd.sources.problems import OnProblem, in_words, printable
from qmd.sources.read import absolute_path
from qmd.sources.rules import Rules, is_inside
from qmd.types import Collection, Fingerprint, SourceFile


def walk(
    collection: Collection, on_problem: OnProblem | None = None, unknown: Counter[str] | None = None
) -> Iterator[SourceFile]:
    """List every file of a collection once, with folders in the order of their names.

    Links inside the collection are followed. The target of a link is listed with its real path if that path
    belongs to the collection, otherwise with the path of the link. `absolute` is always the real path.

    `on_problem` is called for files and folders that cannot be accessed. The path of a folder ends in `/`,
    that of the collection itself is `/`. The files in such a folder are unknown, not deleted.

    `unknown` counts the files that no format reads, by suffix.

    Raises `UsageError` if the pattern or a glob is invalid. Raises `SourceError` at the call, if the
    collection's folder is missing, no folder or cannot be listed, and at the end of the iteration, if it was
    removed or replaced meanwhile.
    """
    walker = _Walker(collection, on_problem)
    walker.unknown = unknown
    walker.check_root()
    return walker.files()


def walk_within(
    collection: Collection, paths: Iterable[str], on_problem: OnProblem | None = None
) -> list[SourceFile] | None:
    """Return the files of a collection that are at `paths` or in these folders, as `walk` lists them.

    The paths are relative to the collection, in NFC, and need not exist. None if there are links on the way
    or among the files, because what a link stands for depends on the whole collection. Raises as `walk`.
    """
    walker = _Walker(collection, on_problem)
    return walker.files_within(paths)


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a collection that can hold documents, and the links in them.

    Attributes:
        prefixes: The prefix of the paths of a folder's files (`""` or `folder/`), by the folder's real path.
        links: The paths of links, relative to the collection.
    """

    prefixes: dict[str, str]
    links: frozenset[str]


def folders(collection: Collection, under: str = "") -> Folders:
    """List the folders that `walk` would list, or only `under`, a relative path, and the folders in it.

    No file is accessed. Raises `SourceError` if the collection's folder cannot be listed.
    """
    return _Walker(collection, None, folders_only=True).folders(under)


def device_of(folder: str) -> int | None:
    """Return the device of a folder, which changes when a drive is mounted or removed there."""
    try:
        return os.stat(folder).st_dev
    except OSError:
        return None


class _Walker:
    def __init__(
        self, collection: Collection, on_problem: OnProblem | None, *, folders_only: bool = False
    ) -> None:
        self.collection = collection
        self.folders_only = folders_only
        self.prefixes: dict[str, str] = {}  # the prefix of every real folder listed
        self.rules = Rules(collection)
        self.root = os.path.abspath(collection.path)
        self.prefix = self.root.rstrip(os.sep) + os.sep
        self.real_root = self.root
        self.on_problem = on_problem
        self.unknown: Counter[str] | None = None
        self.visited: set[tuple[int, int]] = set()  # device and inode of every real folder listed
        self.listed: set[str] = set()  # absolute paths of every real file listed
        self.links: list[tuple[str, str, str]] = []  # absolute path, relative path, name

    def check_root(self) -> tuple[int, int]:
        """Return the device and inode of the collection's folder, or raise SourceError."""
        try:
            status = os.stat(self.root)
            if S_ISDIR(status.st_mode):
                os.scandir(self.root).close()
                return status.st_dev, status.st_ino
            reason = "is not a folder"
        except FileNotFoundError:
            reason = "does not exist"
        except (OSError, ValueError) as error:
            reason = f"cannot be listed: {in_words(error)}"
        raise SourceError(
            f"collection '{self.collection.name}': {self.collection.path} {reason}",
            "Nothing was changed. Restore the folder, or correct the collection's path.",
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
            raise self._replaced()

    def files_within(self, paths: Iterable[str]) -> list[SourceFile] | None:
        root = self.check_root()
        self.real_root = os.path.realpath(self.root)
        names: defaultdict[str, set[str]] = defaultdict(set)
        for path in paths:
            parent, _, name = path.rpartition("/")
            names[parent].add(name)
        files: list[SourceFile] = []
        for parent in sorted(names):
            if self._excluded(parent):
                continue
            top = absolute_path(self.root, parent) if parent else self.root
            inside = top[len(self.prefix) :]
            if os.path.realpath(top) != os.path.join(self.real_root, inside).rstrip(os.sep):
                return None
            files += self._tree(top, f"{parent}/" if parent else "", names[parent])
        if self.check_root() != root:
            raise self._replaced()
        return None if self.links else files

    def folders(self, under: str) -> Folders:
        self.check_root()
        self.root = self.real_root = os.path.realpath(self.root)
        self.prefix = self.root.rstrip(os.sep) + os.sep
        if not self._excluded(under):
            top = absolute_path(self.real_root, under) if under else self.real_root
            for _ in self._tree(top, f"{under}/" if under else ""):
                pass
        done = 0
        while done < len(self.links):
            absolute, path, name = self.links[done]
            done += 1
            for _ in self._link(absolute, path, name):
                pass
        return Folders(self.prefixes, frozenset(path for _, path, _ in self.links))

    def _excluded(self, folder: str) -> bool:
        """Return whether a rule excludes a folder of the collection or one above it."""
        path = ""
        for name in folder.split("/") if folder else ():
            path += name
            if self.rules.folder_excluded(name, path):
                return True
            path += "/"
        return False

    def _replaced(self) -> SourceError:
        return SourceError(
            f"collection '{self.collection.name}': {self.collection.path} was replaced during the scan",
            "Nothing was changed. Run the command again.",
        )

    def _tree(self, top: str, prefix: str, only: Names[str] | None = None) -> Iterator[SourceFile]:
        """List the files in the real folder `top`. Their relative paths start with `prefix`.

        Of the entries of `top` itself, list `only` those with these names.
        """
        rules, links, listed = self.rules, self.links, self.listed
        folders_only = self.folders_only
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
                            self._report(
                                prefix + entry.name, "another file has the same name in composed form (NFC)"
                            )
                            continue
                        names.add(name)
                if only is not None and folder is top and name not in only:
                    continue
                path = prefix + name
                try:
                    if entry.is_symlink():
                        if name[0] != ".":
                            links.append((entry.path, path, name))
                    elif entry.is_dir(follow_symlinks=False):
                        if not rules.folder_excluded(name, path) and self._is_valid(path, "/"):
                            folders.append((entry.path, path + "/"))
                    elif folders_only:
                        continue
                    elif rules.file_excluded(name, path):
                        if self.unknown is not None and rules.unknown(name, path):
                            self.unknown[suffix(name)] += 1
                    elif entry.path not in listed and self._is_valid(path):
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
        """Return the sorted entries of a folder; [] if it was listed before or cannot be listed."""
        try:
            status = os.stat(folder)
            identity = (status.st_dev, status.st_ino)
            if identity in self.visited:
                return []
            self.visited.add(identity)
            self.prefixes[folder] = prefix
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []  # deleted since its parent was listed
        except OSError as error:
            self._report(prefix or "/", in_words(error))
            return []

    def _link(self, absolute: str, path: str, name: str) -> Iterator[SourceFile]:
        """List the target of a link, unless it is outside the collection or was listed before."""
        try:
            real = os.path.realpath(absolute, strict=True)
            if not is_inside(real, self.real_root):
                return
            status = os.stat(real)
        except OSError as error:
            if not self.rules.file_excluded(name, path):
                self._report(path, f"the link cannot be followed: {in_words(error)}")
            return
        target = self.prefix + real[len(self.real_root) :].lstrip(os.sep)
        if S_ISDIR(status.st_mode):
            if not self.rules.folder_excluded(name, path) and self._is_valid(path, "/"):
                yield from self._tree(target, path + "/")
        elif (
            not self.folders_only
            and S_ISREG(status.st_mode)
            and target not in self.listed
            and not self.rules.file_excluded(name, path)
            and self._is_valid(path)
        ):
            self.listed.add(target)
            yield SourceFile(path, target, Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino))

    def _is_valid(self, path: str, ending: str = "") -> bool:
        """Return whether a name is valid UTF-8, and report it if it is not."""
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
