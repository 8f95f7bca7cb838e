"""List the files of a collection."""
# Strings instead of pathlib, because path objects are too slow for tens of thousands of files per second.

from __future__ import annotations

import errno
import os
import unicodedata
from collections import Counter, defaultdict, deque
from collections.abc import Collection as Names, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from operator import attrgetter
from stat import S_ISDIR, S_ISREG

from msgspec import Struct
from msgspec.structs import replace

from qmd.errors import SourceError
from qmd.sources.formats.base import fault
from qmd.sources.formats.registry import beside, file_of, suffix
from qmd.sources.git_history import LateError
from qmd.sources.paths import OnProblem, absolute_path, in_words, printable
from qmd.sources.read import together
from qmd.sources.root import Root
from qmd.sources.rules import Ignored, Rules
from qmd.types import Collection, Fingerprint, SourceFile, States

#: The clock of a file system may be so many nanoseconds behind.
_CLOCK = 20_000_000
_NEVER = 1 << 63
#: The errors for a folder that was deleted, or exchanged for a link, since its parent was listed.
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
#: A file without data on macOS (`SF_DATALESS`).
_DATALESS = 0x40000000
#: A file that Windows fetches when it is opened or read, or that is offline.
_RECALLED = 0x400000 | 0x40000 | 0x1000
#: A smaller file may be kept without blocks of its own.
_LEAST = 4096


class FileListing(Struct, frozen=True):
    """The files of a collection, compared with their last states.

    Attributes:
        files: Those that are new or have another state, with folders in the order of their names.
        unseen: The last states of files that were not found with them.
        paths: The paths of all files that were found, by their real paths.
        problems: (path, reason) of files and folders that cannot be accessed. The path of a folder ends in
            `/`, that of the collection itself is `/`. The files in such a folder are unknown, not deleted.
        unknown: The numbers of files that no format reads, by suffix, if all files were looked at.
        within: The files and folders that were looked at; empty if all were.
        ignored: What git ignores, by the folders of the clones that were looked at.
        touched: The paths of files that something has happened to since the last scan, also of those with the
            same state: an edit may keep the size and the time.
        remote: The paths of files that are in the cloud only. They are not among `files`, and what is known
            of them stays.
    """

    files: list[SourceFile]
    unseen: States
    paths: dict[str, str]
    problems: list[tuple[str, str]]
    unknown: Counter[str]
    within: frozenset[str]
    ignored: Ignored
    touched: frozenset[str] = frozenset()
    remote: tuple[str, ...] = ()

    def same(self, known: States) -> Iterator[SourceFile]:
        """Yield the files that were found with their last states, `known`."""
        for absolute, path in self.paths.items():
            if path in known and path not in self.unseen:
                yield SourceFile(path, absolute, Fingerprint(*known[path]))


def list_files(
    root: Root,
    collection: Collection,
    known: States,
    within: Iterable[str] = (),
    last: Ignored | None = None,
    since: int = 0,
) -> FileListing:
    """List the files of a collection, and compare them with their last states; see `walk`.

    `last` is what git ignored at the last scan, which counts for clones of which git does not answer. `since`
    is when that scan began, in nanoseconds.

    `within` has paths relative to the collection, in NFC, which need not exist. Only the files there and in
    these folders are looked at, unless there are links on the way or among them: the target of a link depends
    on the whole collection. Raises as `walk`.
    """
    problems: list[tuple[str, str]] = []
    walker = _Walker(collection, lambda path, reason: problems.append((path, reason)), root)
    walker.rules = Rules(collection, last)
    walker.unseen = dict(known)
    walker.since = since - _CLOCK if since else _NEVER
    only = frozenset(within)
    walker.unknown = None if only else Counter()
    files = walker.files_within(only) if only else [*walker.files()]
    if files is None:
        return list_files(root, collection, known, last=last, since=since)
    for path in walker.remote:
        walker.unseen = {each: state for each, state in walker.unseen.items() if file_of(each) != path}
    unknown, ignored = walker.unknown or Counter(), walker.rules.ignored
    return FileListing(
        files,
        walker.unseen,
        walker.listed,
        problems,
        unknown,
        only,
        ignored,
        frozenset(walker.touched),
        (*walker.remote,),
    )


def walk(collection: Collection, on_problem: OnProblem | None = None) -> Iterator[SourceFile]:
    """List every file of a collection once, with folders in the order of their names.

    Links inside the collection are followed. The target of a link is listed with its real path if that path
    belongs to the collection, otherwise with the path of the link. `absolute` is always the real path.

    `on_problem` is called for files and folders that cannot be accessed; see `FileListing`.

    Raises `UsageError` if the pattern or a glob is invalid. Raises `SourceError` at the call, if the
    collection's folder is missing, no folder or cannot be listed, and at the end of the iteration, if it was
    removed or replaced meanwhile.
    """
    return _Walker(collection, on_problem, Root(collection)).files()


class Folders(Struct, frozen=True):
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
    real = replace(collection, path=os.path.realpath(collection.path))
    return _Walker(collection, None, Root(real), folders_only=True).folders(under)


def device_of(folder: str) -> int | None:
    """Return the device of a folder, which changes when a drive is mounted or removed there."""
    try:
        return os.stat(folder).st_dev
    except OSError:
        return None


def state_of(collection: Collection, path: str) -> Fingerprint | None:
    """Return the present state of the file of a document; None if there is none. Raises `OSError`."""
    whole = absolute_path(collection.path, path)
    try:
        if "#" in path and not os.path.lexists(whole):
            whole = absolute_path(collection.path, file_of(path))
        state = Fingerprint.of(os.stat(whole))
        if ending := beside(collection.formats).get(suffix(whole)):
            with suppress(FileNotFoundError):
                state = together(state, Fingerprint.of(os.stat(whole + ending)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return state


class _Walker:
    def __init__(
        self, collection: Collection, on_problem: OnProblem | None, root: Root, *, folders_only: bool = False
    ) -> None:
        self.folders_only = folders_only
        self.prefixes: dict[str, str] = {}  # the prefix of every real folder listed
        self.rules = Rules(collection)
        self.root = root
        self.gitignore = collection.gitignore
        self.beside = beside(collection.formats)
        self.on_problem = on_problem
        self.unknown: Counter[str] | None = None
        self.unseen: States = {}
        self.since = _NEVER
        self.touched: set[str] = set()
        self.remote: list[str] = []
        self.visited: set[tuple[int, int]] = set()  # device and inode of every real folder listed
        self.listed: dict[str, str] = {}  # the path of every real file listed, by its absolute path
        self.links: list[tuple[str, str, str]] = []  # absolute path, relative path, name

    def files(self) -> Iterator[SourceFile]:
        if self._read_gitignore(self.root.prefix, ""):
            yield from self._tree(self.root.prefix, "")
            yield from self._linked()
        self.root.check()

    def files_within(self, paths: Iterable[str]) -> list[SourceFile] | None:
        if not self._read_gitignore(self.root.prefix, ""):
            return []
        names: defaultdict[str, set[str]] = defaultdict(set)
        for path in paths:
            parent, _, name = path.rpartition("/")
            names[parent].add(name)
        files: list[SourceFile] = []
        for parent in sorted(names):
            if self.rules.path_excluded(parent):
                continue
            top = absolute_path(self.root.prefix, parent) if parent else self.root.prefix
            real = os.path.join(self.root.real, top[len(self.root.prefix) :]).rstrip(os.sep)
            if os.path.realpath(top) != real:
                return None
            files += self._tree(top, f"{parent}/" if parent else "", names[parent])
        self.root.check()
        return None if self.links else files

    def folders(self, under: str) -> Folders:
        if self._read_gitignore(self.root.real, "") and not self.rules.path_excluded(under):
            top = absolute_path(self.root.real, under) if under else self.root.real
            deque(self._tree(top, f"{under}/" if under else ""), maxlen=0)
        deque(self._linked(), maxlen=0)
        return Folders(self.prefixes, frozenset(path for _, path, _ in self.links))

    def _tree(self, top: str, prefix: str, only: Names[str] | None = None) -> Iterator[SourceFile]:
        """List the files in the real folder `top`. Their relative paths start with `prefix`.

        Of the entries of `top` itself, list `only` those with these names.
        """
        pending = [(top, prefix)]
        while pending:
            folder, prefix = pending.pop()
            base = folder.rstrip(os.sep) + os.sep
            names = set[str]()
            folders = []
            with self._entries(folder, prefix) as entries:
                for entry in entries if self._is_listed(entries, folder, prefix) else ():
                    name = entry.name
                    if not name.isascii():
                        name = self._composed(name, prefix, entries, names)
                        if not name:
                            continue
                    if only is not None and folder is top and name not in only:
                        continue
                    path = prefix + name
                    try:
                        # Most entries are unchanged files, so these are first and take few calls.
                        if entry.is_file(follow_symlinks=False):
                            if file := self._file(entry, base + entry.name, path, name):
                                yield file
                        elif entry.is_dir(follow_symlinks=False):
                            if not self.rules.folder_excluded(name, path) and self._is_valid(path, "/"):
                                folders.append((base + entry.name, path + "/"))
                        elif entry.is_symlink() and name[0] != ".":
                            self.links.append((base + entry.name, path, name))
                    except FileNotFoundError:
                        continue  # deleted since the folder was listed
                    except OSError as error:
                        self._report(path, in_words(error))
                    except Exception as error:  # noqa: BLE001 - whatever it is, it costs this entry alone
                        self._report(path, str(fault(error)))
            pending += reversed(folders)

    def _is_listed(self, entries: Iterable[os.DirEntry[str]], folder: str, prefix: str) -> bool:
        """Return whether the entries of a folder are listed: not those of a clone if git takes too long."""
        is_clone = prefix and self.gitignore and any(entry.name == ".git" for entry in entries)
        return not is_clone or self._read_gitignore(folder, prefix)

    def _composed(self, name: str, prefix: str, entries: Iterable[os.DirEntry[str]], names: set[str]) -> str:
        """Return a name in composed form; "" if another of the `names` in its folder has this form."""
        composed = unicodedata.normalize("NFC", name)
        if composed != name:
            if not names:
                names.update(other.name for other in entries)
            if composed in names:
                self._report(prefix + name, "another file has the same name in composed form (NFC)")
                return ""
            names.add(composed)
        return composed

    def _file(self, entry: os.DirEntry[str], absolute: str, path: str, name: str) -> SourceFile | None:
        """Return a file that the collection has, unless it is unchanged."""
        if self.folders_only:
            return None
        if self.rules.file_excluded(name, path):
            if self.unknown is not None and self.rules.unknown(name, path):
                self.unknown[suffix(name)] += 1
            return None
        if absolute in self.listed:
            return None
        status = entry.stat(follow_symlinks=False)
        state = Fingerprint.of(status)
        if self.beside:
            state = self._with_second(absolute, state)
        is_same = self.unseen.get(path) == state
        # What an edit cannot keep: the time at which the state of a file has changed. Windows has none.
        if status.st_ctime_ns >= self.since and os.name == "posix":
            self.touched.add(path)
            is_same = False
        if is_same:
            # Of an unchanged file no object is made.
            self.listed[absolute] = path
            del self.unseen[path]
        elif self._is_valid(path) and S_ISREG(status.st_mode):
            if _is_placeholder(status):
                self.remote.append(path)
                return None
            self.listed[absolute] = path
            return SourceFile(path, absolute, state)
        return None

    def _read_gitignore(self, folder: str, prefix: str) -> bool:
        """Leave out what git ignores in the clone that a folder is in.

        Return whether the folder can be listed: not if git takes too long, and what it ignored at the last
        scan is not known either. Its documents then stay.
        """
        if not self.gitignore:
            return True
        clone = prefix.rstrip("/")
        try:
            self.rules.read_gitignore(os.path.realpath(folder), clone)
        except SourceError as error:
            known = clone in self.rules.last
            if isinstance(error, LateError) and not known:
                self._report(prefix or "/", f"the files that git ignores are not known: {error.message}")
                return False
            said = "ignored at the last scan are" if known else "ignores are not"
            self._report(f"{prefix}.gitignore", f"files that git {said} left out: {error.message}")
        return True

    @contextmanager
    def _entries(self, folder: str, prefix: str) -> Iterator[list[os.DirEntry[str]]]:
        """Return the sorted entries of a folder; [] if it was listed before or cannot be listed."""
        listed: list[os.DirEntry[str]] = []
        with ExitStack() as stack:
            try:
                identity, entries = stack.enter_context(self.root.entries(folder))
                if identity not in self.visited:
                    self.visited.add(identity)
                    self.prefixes[folder] = prefix
                    listed = sorted(entries, key=attrgetter("name"))
            except OSError as error:
                if error.errno not in _GONE:
                    self._report(prefix or "/", in_words(error))
            yield listed

    def _linked(self) -> Iterator[SourceFile]:
        """List the targets of the links that were found, and of those that are found in them."""
        done = 0
        while done < len(self.links):
            batch = sorted(self.links[done:], key=lambda link: link[1])
            done = len(self.links)
            for absolute, path, name in batch:
                try:
                    yield from self._link(absolute, path, name)
                except Exception as error:  # noqa: BLE001 - as for other entries
                    self._report(path, str(fault(error)))

    def _link(self, absolute: str, path: str, name: str) -> Iterator[SourceFile]:
        """List the target of a link, unless it is outside the collection or was listed before."""
        try:
            target = self.root.follow(absolute)
            if target is None:
                return
            status = self.root.stat(target)
        except OSError as error:
            if not self.rules.file_excluded(name, path):
                self._report(path, f"the link cannot be followed: {in_words(error)}")
            return
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
            self.listed[target] = path
            state = Fingerprint.of(status)
            yield SourceFile(path, target, self._with_second(target, state))

    def _with_second(self, absolute: str, state: Fingerprint) -> Fingerprint:
        """Return the state of a file with that of the second file that belongs to it, if there is one."""
        if ending := self.beside.get(suffix(absolute)):
            with suppress(OSError):
                status = self.root.stat(absolute + ending)
                return together(state, Fingerprint.of(status))
        return state

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


def _is_placeholder(status: os.stat_result) -> bool:
    """Return whether a file is in the cloud only, so that opening it would fetch it.

    Its flags say so, or it has a size and no blocks.
    """
    if getattr(status, "st_flags", 0) & _DATALESS or getattr(status, "st_file_attributes", 0) & _RECALLED:
        return True
    return status.st_size >= _LEAST and getattr(status, "st_blocks", 1) == 0
