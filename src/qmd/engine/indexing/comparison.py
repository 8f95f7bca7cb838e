"""The files of a collection, compared with the documents in the index."""

from __future__ import annotations

import os
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from qmd.engine.indexing.record import ScanRecord
from qmd.engine.indexing.unread import Unread
from qmd.errors import SourceError
from qmd.sources.formats import registry
from qmd.sources.formats.base import EMPTY, Unreadable
from qmd.sources.formats.registry import Readers
from qmd.sources.git_dates import GitDates
from qmd.sources.reading import waits_for
from qmd.sources.root import Root
from qmd.sources.walk import walk, walk_within
from qmd.store.base import Store
from qmd.text import authorship
from qmd.text.dated_paths import in_path
from qmd.text.dates import stated
from qmd.types import Collection, SourceFile, States

#: The version of the rules by which documents get their dates. With another one, names are looked at again.
DATES = 1
#: The most folders that are remembered, so that a search can ask whether they have changed.
_MOST_FOLDERS = 1_000
#: The state of a file that is read again.
_NEVER = (-1, -1, -1)


class Comparison:
    """The files of a collection, compared with its documents in the index.

    Most files are unchanged. The walk takes them out and makes no object of them, so a scan that finds no
    change takes little more time than listing the folders and asking for the state of each file.

    Attributes:
        root: The folder of the collection.
        readers: The readers of its files.
        last: The record of the last scan.
        indexed: The state of the file of each document by path.
        unchanged: The number of documents that the walk has found unchanged.
        files: The other files.
        documents_of: The paths of the documents of each of these files, and of files that are gone.
        authors: The folders of authors.
        problems: (path, reason) of files and folders that cannot be read.
        seen: The number of files that were compared.
        total: The number of all files that are compared.
        stale: Documents of files that were read and have no text any more.

    Args:
        owner: The configuration file that names the collection.
        anew: Read files again that could not be read.
        within: Paths of files and folders. Only these are compared, unless that could change the result.

    Raises `SourceError` if the folder is missing or cannot be listed.
    """

    def __init__(
        self,
        store: Store,
        collection: Collection,
        owner: str,
        within: Sequence[str],
        *,
        anew: bool = False,
    ) -> None:
        self._collection = collection
        self._began = time.time_ns()
        # Read before the walk, so that files that another process indexes meanwhile are not removed.
        self.indexed = store.documents.manifest(collection.name)
        self.root = Root(collection)
        self._folder = ScanRecord.of(collection, owner)
        self.last = ScanRecord.read(store.collections.last_root(collection.name))
        self.language = collection.language
        self.readers = Readers(collection.formats, collection.encoding, collection.language)
        suffixes = _suffixes(self.indexed)
        _, self._outdated = self._formats(suffixes | self.last.formats.keys())
        self._outside: list[str] = []
        self._git = GitDates(self.root, self.last.commits)
        is_partial = bool(within) and not self._outdated and self._list_within(within)
        self._whole = not is_partial
        if not is_partial:
            self._date_again(store)
            self._list()
        self._git.prepare(self.files)
        self._present_formats, _ = self._formats(suffixes | _suffixes(file.path for file in self.files))
        self.unread = Unread(self.last.unread, self.readers, within if is_partial else None, anew=anew)
        self.unread.unknown |= self._unknown
        for path, reason in self.problems:
            self.unread.add(path, reason)
        self.seen = self.unchanged
        self.total = self.unchanged + len(self.files)
        self.stale: list[str] = []

    def _begin(self) -> None:
        self.problems: list[tuple[str, str]] = []
        #: Numbers of files that no format reads, by suffix.
        self._unknown: Counter[str] = Counter()
        #: The documents whose files have not been seen.
        self._unseen = dict(self.indexed)

    def _note(self, path: str, reason: str) -> None:
        self.problems.append((path, reason))

    def _compare(self, files: list[SourceFile]) -> None:
        self.files = files
        self.unchanged = len(self.indexed) - len(self._unseen)
        self.documents_of = _by_file(self._unseen, files)

    def _date_again(self, store: Store) -> None:
        """Let files be read again whose date may be another one than at the last scan."""
        paths: Iterable[str] | None = self._git.changed()
        if paths is None or (self.last.path and self.last.dates != DATES):
            documents = store.documents.listing(self._collection.name)
            undated = [each.path for each in documents if not stated(each.date, each.modified_ns)]
            named = filter(in_path, undated) if self.last.dates != DATES else ()
            paths = undated if paths is None else [*paths, *named]
        if paths:
            files = {unicodedata.normalize("NFC", path.replace(os.sep, "/")) for path in paths}
            again = [path for path in self.indexed if path in files or registry.file_of(path) in files]
            self.indexed |= dict.fromkeys(again, _NEVER)

    def committed(self, file: SourceFile) -> int | None:
        """Return the time of the last commit of a file that is as in it, in seconds since the epoch."""
        return self._git.of(file)

    @property
    def git_problems(self) -> list[str]:
        """Why dates of commits are missing."""
        return self._git.problems

    def _list(self) -> None:
        """Look at all files."""
        self._begin()
        states = None if self._outdated else self._unseen
        self._compare([*walk(self._collection, self._note, self._unknown, self.root, states)])
        self._find_authors()
        if self._reassigned and self.unchanged:
            self._unseen = dict(self.indexed)
            self._compare([*walk(self._collection, root=self.root)])
        self._unlisted = [path for path, _ in self.problems]

    def _list_within(self, within: Sequence[str]) -> bool:
        """Look at some files; false if all must be looked at."""
        self._begin()
        files = walk_within(self._collection, within, self._note, self.root, self._unseen)
        if files is None:
            return False
        self._compare(files)
        paths = frozenset(within)
        self._outside = [file for file in self.documents_of if not _covers(paths, file)]
        for file in self._outside:
            for path in self.documents_of[file]:
                del self._unseen[path]
        self._unlisted = [path for path, _ in self.problems]
        self._find_authors()
        return not self._reassigned

    def _find_authors(self) -> None:
        """Find the authors, and the folders whose unchanged files have another author than before."""
        self.authors = self._reassigned = frozenset[str]()
        if self.files or self._unseen:
            staying = authorship.authors_of(self.indexed.keys() - self._unseen.keys())
            self.authors = staying | authorship.authors_of(file.path for file in self.files)
            self._reassigned = self.authors ^ (staying | authorship.authors_of(self._unseen))

    def _formats(self, suffixes: Iterable[str]) -> tuple[dict[str, str], set[str]]:
        """Return the formats by suffix, and the suffixes whose files had another format, version or encoding.

        Suffixes with the first version of Markdown are left out. A format counts as unchanged as long as it
        cannot read: if its package is broken, or files wait for an extra.
        """
        first, readers = registry.FIRST_IDENTITY, self.readers
        found, outdated = {}, set()
        for suffix in suffixes:
            before = self.last.formats.get(suffix, first)
            file = f"x.{suffix}"
            now = before if waits_for(readers, file) else readers.identity(file) or before
            if now != before:
                outdated.add(suffix)
            if now != first:
                found[suffix] = now
        return found, outdated

    def check_removal(self) -> None:
        """Raise `SourceError` if it may be a mistake that documents are gone."""
        present = {file.path for file in self.files if file.fingerprint.size}.union(self._outside)
        gone = (file for file in self.documents_of if file not in present and not self._is_unlisted(file))
        lost, total = sum(len(self.documents_of[file]) for file in gone), len(self.indexed)
        collection = self._collection
        if lost and not present and not self.unchanged:
            reason = "contains no documents any more"
        elif lost * 2 > total and self._folder.replaces(self.last):
            reason = f"is another folder than before, without {lost:,} of {total:,} documents"
        else:
            return
        raise SourceError(
            f"collection '{collection.name}': {collection.path} {reason}; nothing was removed",
            "check that its drive is mounted; if the documents are deleted: 'qmd update --allow-empty'",
        )

    def to_read(self) -> Iterator[SourceFile]:
        """Yield the files that must be read."""
        folders, suffixes = self._reassigned, self._outdated
        for file in self.files:
            self.seen += 1
            documents = self.documents_of.get(file.path, ())
            for path in documents:
                self._unseen.pop(path, None)
            if (
                self._is_unchanged(file)
                and registry.suffix(file.path) not in suffixes
                and file.path.partition("/")[0] not in folders
            ):
                self.unchanged += len(documents)
            elif extra := waits_for(self.readers, file.path):
                self.unread.wait(extra, registry.suffix(file.path))
                self._leave(file)
            elif failure := self.unread.again(file):
                self.fail(file, f"cannot read {file.path}: {failure}", failure)
            else:
                self.unread.invalid.pop(file.path, None)
                yield file

    def fail(self, file: SourceFile, message: str, failure: Unreadable | None) -> None:
        """Note a file that cannot be read. With a `failure`, reading it unchanged would fail again."""
        self.problems.append((file.path, message))
        self.unread.add(file.path, failure or message.removeprefix(f"cannot read {file.path}: "), file)
        if failure is not None and failure.reason in EMPTY:
            self.stale += () if self._is_unchanged(file) else self.documents_of.get(file.path, ())
        else:
            self._leave(file)

    def fail_part(self, file: SourceFile, key: str, failure: Unreadable) -> str:
        """Note a document of a container that cannot be read, and return its path."""
        path = f"{file.path}#{key}"
        self.problems.append((path, f"cannot read {path}: {failure}"))
        self.unread.add(path, failure)
        if path in self.indexed:
            self.unread.keep(path)
        return path

    def _leave(self, file: SourceFile) -> None:
        """Keep the documents of an unread file. If they are of an earlier state of it, they are marked."""
        if self.documents_of.get(file.path) and not self._is_unchanged(file):
            self.unread.keep(file.path)

    def _is_unchanged(self, file: SourceFile) -> bool:
        documents = self.documents_of.get(file.path, ())
        return bool(documents) and all(self.indexed[path] == file.fingerprint for path in documents)

    def deleted(self) -> list[str]:
        """Return the documents whose files are gone, after `to_read` has yielded all files."""
        gone = [path for path in self._unseen if not self._is_unlisted(registry.file_of(path))]
        for path in gone:
            self.unread.forget(registry.file_of(path))
            self.unread.forget(path)
        return gone

    def _is_unlisted(self, path: str) -> bool:
        """Return whether the walk could not access the file or one of its folders."""
        return any(
            path == other or (other.endswith("/") and path.startswith(other)) for other in self._unlisted
        )

    def record(self) -> ScanRecord:
        """Return the record for the next scan."""
        return replace(
            self._folder,
            formats=self._present_formats,
            unread=self.unread.packed(),
            commits=self._git.heads if self._whole else self.last.commits,
            dates=DATES if self._whole else self.last.dates,
            folders=self._folders() if self._whole else self.last.folders,
            began=self._began if self._whole else self.last.began,
        )

    def _folders(self) -> tuple[str, ...]:
        files = {*self.indexed, *(file.path for file in self.files)}
        return tuple(sorted({path.rpartition("/")[0] for path in files})[:_MOST_FOLDERS])


def _by_file(documents: States, files: Sequence[SourceFile]) -> dict[str, tuple[str, ...]]:
    """Return the paths of documents by the path of their file."""
    found: dict[str, tuple[str, ...]] = {path: (path,) for path in documents if "#" not in path}
    if len(found) < len(documents):
        listed = {file.path for file in files}
        contained: dict[str, list[str]] = {}
        for path in documents:
            base, sign, _ = path.rpartition("#")
            if sign:
                is_inside = path not in listed and (base in listed or registry.file_of(path) == base)
                contained.setdefault(base if is_inside else path, []).append(path)
        found |= {file: (*found.get(file, ()), *paths) for file, paths in contained.items()}
    return found


def _suffixes(paths: Iterable[str]) -> set[str]:
    """Return the suffixes of files."""
    endings = {path[path.rfind(".") :] for path in paths}  # few, even of many files
    return {registry.suffix("x" + ending) for ending in endings}


def _covers(paths: frozenset[str], path: str) -> bool:
    """Return whether a path is one of `paths`, or in a folder with one of these paths."""
    at = len(path)
    while at > 0:
        if path[:at] in paths:
            return True
        at = path.rfind("/", 0, at)
    return False
