"""Incremental scans, which bring the store up to date with the files on disk."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from qmd.engine.indexing.record import ScanRecord
from qmd.engine.indexing.unread import Unread, describe_waiting
from qmd.errors import QmdError, SourceError
from qmd.sources.formats import registry
from qmd.sources.formats.registry import Readers
from qmd.sources.read import Outcome
from qmd.sources.reading import read_all, waits_for
from qmd.sources.root import Root
from qmd.sources.walk import walk, walk_within
from qmd.store.base import Store
from qmd.store.values import DocumentChange
from qmd.text import authorship
from qmd.text.wording import plural
from qmd.types import Collection, Fingerprint, SourceFile
from qmd.types.cancelling import Cancelled, stop_if_cancelled

#: The largest number of files in a transaction.
BATCH_FILES = 400
#: Between two reports of the progress, which can also stop the scan.
_PROGRESS_SECONDS = 0.5
#: The largest text in a transaction, in characters, so that batches of large files are smaller.
BATCH_CHARACTERS = 8_000_000

#: Called with (collection, files scanned, files in total).
OnProgress = Callable[[str, int, int], None]
ChangeKind = Literal["new", "updated", "removed"]
#: Called with collection, path and kind after a change of a document has been stored.
OnChange = Callable[[str, str, ChangeKind], None]


class ScanReport(Struct):
    """The result of scanning one collection."""

    collection: str
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    #: (path, reason) of files and folders that could not be read.
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: Messages of git, of the update command, and about files that were indexed with changes.
    notices: list[str] = field(default_factory=list)
    error: QmdError | None = None  #: The error that stopped the scan or a step before it
    #: Numbers of files that wait for an extra, by extra and suffix.
    waiting: dict[str, dict[str, int]] = field(default_factory=dict)

    def waits(self) -> list[str]:
        """Return how many files of which kind wait for an extra, in one line for each extra."""
        return [describe_waiting(extra, counts) for extra, counts in self.waiting.items()]


def stop_if(cancelled: Cancelled | None) -> OnProgress:
    """Return a progress callback that stops a cancelled scan between files; finished batches are kept."""

    def on_progress(collection: str, done: int, total: int) -> None:
        stop_if_cancelled(cancelled)

    return on_progress


def check(collection: Collection) -> None:
    """Check that a collection can be scanned. Raises `SourceError` if its folder cannot be listed."""
    walk(collection)


def scan(
    store: Store,
    collection: Collection,
    on_progress: OnProgress | None = None,
    *,
    owner: str = "",
    allow_empty: bool = False,
    within: Sequence[str] = (),
    record: bool = True,
    on_change: OnChange | None = None,
) -> ScanReport:
    """Bring one collection up to date. `owner` is the configuration file that names it.

    With `within`, only the files at these paths and in these folders are compared. Links, and folders that
    become or cease to be an author's, still cause a scan of everything. Without `record`, a scan that finds
    no change writes nothing, not even its time.

    Raises `SourceError` if the folder is missing or cannot be listed. Unless `allow_empty`, also if it has no
    documents any more, or was replaced by another folder without most of them; then nothing is removed.
    """
    report = ScanReport(collection.name)
    # Read before the walk, so that files that another process indexes meanwhile are not removed.
    indexed = store.documents.manifest(collection.name)
    unseen = dict(indexed)
    unlisted: list[str] = []

    def note(path: str, reason: str) -> None:
        report.problems.append((path, reason))
        unlisted.append(path)

    # The walk reads no file, and gives the total for the progress.
    unknown: Counter[str] = Counter()
    root = Root(collection)
    folder = ScanRecord.of(collection, owner)
    last = ScanRecord.read(store.collections.last_root(collection.name))
    found = walk_within(collection, within, note, root) if within else None
    files = list(walk(collection, note, unknown, root)) if found is None else found
    readers = Readers(collection.formats, collection.encoding)
    documents_of = _by_file(indexed, files)
    # Files that are not looked at count as unchanged.
    scanned = frozenset(within)
    outside = [] if found is None else [file for file in documents_of if not _covers(scanned, file)]
    for path in chain.from_iterable(documents_of[file] for file in outside):
        del unseen[path]
    paths = chain((file.path for file in files), outside)
    formats, outdated = _formats(paths, readers, last.formats)
    present = {file.path for file in files if file.fingerprint.size}.union(outside)
    lost = [file for file in documents_of if file not in present and not _is_unlisted(file, unlisted)]
    if lost and not allow_empty:
        count = sum(len(documents_of[file]) for file in lost)
        _check_removal(collection, count, len(indexed), not present, folder.replaces(last))
    authors = authorship.authors_of(chain((file.path for file in files), outside))
    # If a folder became or ceased to be an author's folder, its unchanged files have another author.
    reassigned = authors.symmetric_difference(authorship.authors_of(indexed))
    if found is not None and (reassigned or outdated):
        return scan(store, collection, on_progress, owner=owner, record=record, on_change=on_change)
    unread = Unread(last.unread, readers, within if found is not None else None)
    unread.unknown |= unknown
    for path, reason in report.problems:
        unread.add(path, reason)
    comparison = _Comparison(report, unread, indexed, documents_of, unseen, reassigned, outdated)
    batch = _Batch(store, report, indexed, on_change)
    due = time.monotonic() + _PROGRESS_SECONDS
    for outcome in read_all(comparison.to_read(files, readers), readers, root):
        file = outcome.file
        if outcome.error is not None:
            comparison.fail(file, outcome.error.message, outcome.reason)
            continue
        batch.add([*_changes(outcome, authors)], documents_of.get(file.path, ()))
        # All documents of a file are in one transaction: its fingerprint says that all are there.
        full = batch.full
        if full:
            batch.apply(wait=on_change is not None)
        if on_progress is not None and (full or time.monotonic() >= due):
            on_progress(collection.name, comparison.seen, len(files))
            due = time.monotonic() + _PROGRESS_SECONDS
    # Remove last, so that a renamed file's text and vectors are still there when its new name is added.
    deleted = [path for path in unseen if not _is_unlisted(registry.file_of(path), unlisted)]
    batch.apply([*batch.removed, *comparison.stale, *deleted])
    if on_progress is not None:
        on_progress(collection.name, len(files), len(files))
    now = replace(folder, formats=formats, unread=unread.packed())
    if record or report.added or report.updated or report.removed or last != now:
        store.collections.finish_scan(collection.name, now.stored())
    report.waiting = unread.waiting
    if batch.with_nul:
        count, example = len(batch.with_nul), batch.with_nul[0]
        report.notices.append(f"{plural(count, 'file')} with NUL bytes, indexed as spaces: {example}")
    if batch.guessed:
        count, example = len(batch.guessed), batch.guessed[0]
        report.notices.append(
            f"{plural(count, 'file')} whose encoding is a guess: {example}. If letters are wrong, set the "
            "collection's 'encoding'"
        )
    return report


def _by_file(indexed: Mapping[str, Fingerprint], files: Sequence[SourceFile]) -> dict[str, tuple[str, ...]]:
    """Return the paths of the indexed documents by the path of their file."""
    found: dict[str, tuple[str, ...]] = {path: (path,) for path in indexed if "#" not in path}
    if len(found) < len(indexed):
        listed = {file.path for file in files}
        contained: dict[str, list[str]] = {}
        for path in indexed:
            base, sign, _ = path.rpartition("#")
            if sign:
                is_inside = path not in listed and (base in listed or registry.file_of(path) == base)
                contained.setdefault(base if is_inside else path, []).append(path)
        found |= {file: (*found.get(file, ()), *paths) for file, paths in contained.items()}
    return found


def _formats(
    paths: Iterable[str], readers: Readers, last: Mapping[str, str]
) -> tuple[dict[str, str], set[str]]:
    """Return the formats by suffix, and the suffixes whose files had another format, version or encoding.

    Suffixes with the first version of Markdown are left out. A format counts as unchanged as long as it
    cannot read: if its package is broken, or files wait for an extra.
    """
    first = registry.FIRST_IDENTITY
    found, outdated = {}, set()
    for suffix in {registry.suffix(path) for path in paths}:
        before = last.get(suffix, first)
        file = f"x.{suffix}"
        now = before if waits_for(readers, file) else readers.identity(file) or before
        if now != before:
            outdated.add(suffix)
        if now != first:
            found[suffix] = now
    return found, outdated


def _check_removal(collection: Collection, lost: int, total: int, empty: bool, replaced: bool) -> None:
    """Raise `SourceError` if it may be a mistake that `lost` of `total` documents are gone."""
    if empty:
        reason = "contains no documents any more"
    elif replaced and lost * 2 > total:
        reason = f"is another folder than before, without {lost:,} of {total:,} documents"
    else:
        return
    raise SourceError(
        f"collection '{collection.name}': {collection.path} {reason}; nothing was removed",
        "check that its drive is mounted; if the documents are really deleted: qmd update --allow-empty",
    )


class _Comparison(Struct):
    """The files of a collection, compared with its documents in the index.

    Attributes:
        report: Counts unchanged documents, and gets the files that cannot be read.
        unread: Remembers these files.
        indexed: The fingerprint of each document by path.
        documents_of: The paths of the documents of each file.
        unseen: Documents whose file has not been seen.
        folders: Folders of authors with files that are read although they are unchanged.
        suffixes: Suffixes of such files.
        seen: The number of files that were compared.
        stale: Documents of changed files that cannot be read: their text is not that of the file any more.
    """

    report: ScanReport
    unread: Unread
    indexed: Mapping[str, Fingerprint]
    documents_of: Mapping[str, Sequence[str]]
    unseen: dict[str, Fingerprint]
    folders: frozenset[str]
    suffixes: set[str]
    seen: int = 0
    stale: list[str] = field(default_factory=list)

    def fail(self, file: SourceFile, message: str, reason: str) -> None:
        """Report a file that cannot be read. With a `reason`, reading it unchanged would fail again."""
        self.report.problems.append((file.path, message))
        words = reason or message.removeprefix(f"cannot read {file.path}: ")
        self.unread.add(file.path, words, file if reason else None)
        self._leave(file)

    def _leave(self, file: SourceFile) -> None:
        """Remove the documents of an unread file, unless they are read from its present state."""
        if not self._is_unchanged(file):
            self.stale += self.documents_of.get(file.path, ())

    def _is_unchanged(self, file: SourceFile) -> bool:
        documents = self.documents_of.get(file.path, ())
        return bool(documents) and all(map(file.fingerprint.__eq__, map(self.indexed.__getitem__, documents)))

    def to_read(self, files: Sequence[SourceFile], readers: Readers) -> Iterator[SourceFile]:
        """Yield the files that must be read."""
        for file in files:
            self.seen += 1
            documents = self.documents_of.get(file.path, ())
            for path in documents:
                self.unseen.pop(path, None)
            # Most files are unchanged, so this test decides how long a scan takes.
            if (
                self._is_unchanged(file)
                and not (self.folders and file.path.partition("/")[0] in self.folders)
                and not (self.suffixes and registry.suffix(file.path) in self.suffixes)
            ):
                self.report.unchanged += len(documents)
            elif extra := waits_for(readers, file.path):
                self.unread.wait(extra, registry.suffix(file.path))
                self._leave(file)
            elif reason := self.unread.again(file):
                self.fail(file, f"cannot read {file.path}: {reason}", reason)
            else:
                yield file


def _changes(outcome: Outcome, authors: frozenset[str]) -> Iterator[DocumentChange]:
    """Yield the documents of a file that have text."""
    file, fingerprint = outcome.file, outcome.fingerprint
    assert fingerprint is not None
    for key, source in outcome.documents:
        if source.text.strip():
            author = authorship.author_of(file.path, source.author, authors)
            date = authorship.date_of(file.path, source.date, fingerprint.mtime_ns)
            path = f"{file.path}#{key}" if key else file.path
            yield DocumentChange(path, fingerprint, source, author, date)


class _Batch:
    """The changes of a scan that are not stored yet."""

    def __init__(
        self,
        store: Store,
        report: ScanReport,
        indexed: Mapping[str, Fingerprint],
        on_change: OnChange | None,
    ) -> None:
        self._store = store
        self._report = report
        self._indexed = indexed
        self._on_change = on_change
        self._changed: list[DocumentChange] = []
        self._characters = 0
        #: Documents that their files do not contain any more.
        self.removed: list[str] = []
        #: Documents whose files have NUL bytes.
        self.with_nul: list[str] = []
        #: Documents whose encoding is doubtful, with that encoding.
        self.guessed: list[str] = []

    def add(self, items: Sequence[DocumentChange], before: Sequence[str]) -> None:
        """Add the documents of a file; `before` are the paths of those in the index."""
        kept = {item.path for item in items}
        self._changed += items
        self._characters += sum(len(item.source.text) for item in items)
        self.removed += [path for path in before if path not in kept]
        for item in items:
            decoding = item.source.decoding
            self.with_nul += [item.path] if decoding.zeros else []
            self.guessed += [f"{item.path} ({decoding.charset})"] if decoding.doubtful else []

    @property
    def full(self) -> bool:
        """True if the changes have to be stored."""
        return len(self._changed) >= BATCH_FILES or self._characters >= BATCH_CHARACTERS

    def apply(self, removed: Sequence[str] = (), *, wait: bool = True) -> None:
        """Store the changes and remove documents, in one transaction. The next call waits for its end."""
        changed, self._changed, self._characters = self._changed, [], 0
        if not changed and not removed:
            return
        store, report, name = self._store, self._report, self._report.collection
        kinds: list[tuple[str, ChangeKind]] = []
        if self._on_change is not None:
            kinds = [*_kinds(store, name, changed, self._indexed), *((path, "removed") for path in removed)]
        applied = store.documents.apply(name, changed, removed, wait=wait)
        report.added += applied.added
        report.updated += applied.updated
        report.removed += applied.removed
        report.unchanged += len(changed) - applied.added - applied.updated
        if self._on_change is not None:
            for path, kind in kinds:
                self._on_change(name, path, kind)


def _kinds(
    store: Store, collection: str, changed: Sequence[DocumentChange], indexed: Mapping[str, Fingerprint]
) -> Iterator[tuple[str, ChangeKind]]:
    """Yield the paths of files that are new or have another text or title than in the index."""
    for item in changed:
        if item.path not in indexed:
            yield item.path, "new"
            continue
        before = store.documents.find(collection, item.path)
        if before is None or (before.hash, before.title) != (item.source.hash, item.source.title):
            yield item.path, "updated"


def _covers(paths: frozenset[str], path: str) -> bool:
    """Return whether a path is one of `paths`, or in a folder with one of these paths."""
    at = len(path)
    while at > 0:
        if path[:at] in paths:
            return True
        at = path.rfind("/", 0, at)
    return False


def _is_unlisted(path: str, unlisted: Sequence[str]) -> bool:
    """Return whether the walk could not read the file or one of its folders."""
    return any(path == other or (other.endswith("/") and path.startswith(other)) for other in unlisted)
