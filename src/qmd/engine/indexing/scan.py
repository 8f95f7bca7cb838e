"""Incremental scans, which bring the store up to date with the files on disk."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from qmd.engine.indexing.alike import LEAST, find_alike
from qmd.engine.indexing.comparison import Work, check_removal, compare
from qmd.engine.indexing.recognized import prepare, recognized, wait, without_fresh
from qmd.engine.indexing.record import ScanRecord, UnreadFile
from qmd.engine.indexing.unread import (
    MOST,
    describe_invalid,
    describe_kept,
    describe_remote,
    describe_waiting,
    failed,
    most_frequent,
    state_of,
)
from qmd.errors import QmdError
from qmd.sources.formats import registry
from qmd.sources.formats.base import EMPTY, SCAN, Unreadable, fault
from qmd.sources.formats.registry import Readers
from qmd.sources.git_dates import GitDates
from qmd.sources.read import Outcome
from qmd.sources.reading import read_all
from qmd.sources.root import Root
from qmd.sources.walk import FileListing, list_files, walk
from qmd.store.base import Store
from qmd.store.values import Applied, DocumentChange
from qmd.text import authorship
from qmd.text.dates import of_mtime, stated
from qmd.text.values import CHANGED, DATE_ORIGIN, LANGUAGE
from qmd.text.wording import plural
from qmd.types import Collection, SourceFile, States
from qmd.types.cancelling import Cancelled, stop_if_cancelled

#: The version of the rules by which documents get their dates. With another one, names are looked at again.
DATES = 1
#: The most folders that are remembered, so that a search can ask whether they have changed.
_MOST_FOLDERS = 1_000
#: The most former paths of documents that are remembered.
_MOST_RENAMED = 300
#: The largest number of files in a transaction.
BATCH_FILES = 400
#: Between two reports of the progress, which can also stop the scan.
_PROGRESS_SECONDS = 0.5
#: The largest text in a transaction, in characters, so that batches of large files are smaller.
BATCH_CHARACTERS = 8_000_000

#: Called with (collection, files scanned, files in total).
OnProgress = Callable[[str, int, int], None]
#: A file and the changes of its documents.
_Changed = tuple[SourceFile, Sequence[DocumentChange]]
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
    seconds: float = 0.0  #: The time it took, with the steps before it
    #: Tracebacks of faults of readers, by path
    traces: dict[str, str] = field(default_factory=dict)

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
    anew: bool = False,
    within: Sequence[str] = (),
    record: bool = True,
    on_change: OnChange | None = None,
    processes: int | None = None,
) -> ScanReport:
    """Bring one collection up to date. `owner` is the configuration file that names it.

    With `within`, only the files at these paths and in these folders are compared. Links, and folders that
    become or cease to be an author's, still cause a scan of everything. With `anew`, files that could not be
    read are read again. Without `record`, a scan that finds no change writes nothing, not even its time. Many
    files are read in as many as `processes`, by default one for each processor.

    Raises `SourceError` if the folder is missing or cannot be listed. Unless `allow_empty`, also if it has no
    documents any more, or was replaced by another folder without most of them; then nothing is removed.
    """
    began, moment = time.monotonic(), time.time_ns()
    # Read before the files are listed, so that those that another process indexes meanwhile are not removed.
    known = store.documents.manifest(collection.name)
    last = ScanRecord.read(store.collections.last_root(collection.name))
    known_texts = recognized(store, collection)
    last = without_fresh(last, known_texts)
    readers = Readers(collection.formats, collection.encoding, collection.language)
    root = Root(collection)
    git = GitDates(root, last.commits)
    committed = [] if within else git.changed()
    found = list_files(root, collection, known, within, last.ignored, last.began)
    again = frozenset[str]()
    if not within:
        again = _dated_again(store, collection.name, committed, last) | known_texts.fresh
    work = compare(found, known, last, readers, again, anew=anew)
    if work is None:
        return scan(
            store,
            collection,
            on_progress,
            owner=owner,
            allow_empty=allow_empty,
            anew=anew,
            record=record,
            on_change=on_change,
            processes=processes,
        )
    prepare(work, collection, known_texts)
    now = ScanRecord.of(collection, owner)
    if not allow_empty:
        check_removal(collection, work, found, known, is_other=now.replaces(last))
    git.prepare(work.read)
    report = ScanReport(collection.name, problems=work.problems, waiting=work.waiting)
    batch = _Batch(store, collection, report, known, work, last.unread, git, on_change)
    progress = _Progress(on_progress, collection.name, work.same + len(work.read))
    outcomes = read_all(work.read, readers, root, terms=True, processes=processes)
    for done, outcome in enumerate(outcomes, work.same + 1):
        batch.take(outcome)
        # All documents of a file are in one transaction: its fingerprint says that all are there.
        full = batch.full
        if full:
            batch.apply(wait=on_change is not None)
        progress.tell(done, at_once=full)
    # Remove last, so that a renamed file's text and vectors are still there when its new name is added.
    former = _texts_of(store, collection.name, work.gone)
    batch.apply([*batch.removed, *work.gone])
    progress.tell(progress.total, at_once=True)
    report.unchanged += work.same
    report.notices += [*git.problems, *_left_out(found, work, last)]
    for path, lines in batch.invalid.items():
        work.unread.setdefault(path, UnreadFile(lines=lines))
    now = replace(
        _recorded(now, last, found, work), renamed=_renamed(store, collection.name, former, last.renamed)
    )
    if not within:
        now = replace(
            now,
            commits=git.heads,
            dates=DATES,
            folders=_folders(known, work),
            began=moment,
            remote=len(found.remote),
        )
        if report.added + report.removed >= LEAST:
            now = replace(now, alike=find_alike(store, collection.name))
        record = record or bool(found.touched)  # so that they are read once
    if record or report.added or report.updated or report.removed or last != replace(now, began=last.began):
        store.collections.finish_scan(collection.name, now.stored())
    report.notices += batch.notices()
    report.seconds = time.monotonic() - began
    return report


class _Progress:
    """Calls back at most every half second, unless at once."""

    def __init__(self, call: OnProgress | None, collection: str, total: int) -> None:
        self._call, self._collection, self.total = call, collection, total
        self._due = time.monotonic() + _PROGRESS_SECONDS

    def tell(self, done: int, *, at_once: bool) -> None:
        if self._call is not None and (at_once or time.monotonic() >= self._due):
            self._call(self._collection, done, self.total)
            self._due = time.monotonic() + _PROGRESS_SECONDS


def _left_out(found: FileListing, work: Work, last: ScanRecord) -> Iterator[str]:
    """Yield notices of files that are not on this machine, and of documents that stay as they were."""
    if found.remote and len(found.remote) != last.remote:
        yield describe_remote(found.remote)
    kept = {path: row.since for path, row in work.unread.items() if row.since}
    if kept and not found.within:
        yield describe_kept(kept)


def _recorded(now: ScanRecord, last: ScanRecord, found: FileListing, work: Work) -> ScanRecord:
    """Return a record with what was found, and with that of the last scan for what was not looked at."""
    remembered = dict(sorted(work.unread.items())[:MOST])
    return replace(
        last,
        owner=now.owner,
        path=now.path,
        device=now.device,
        real=now.real,
        former={},
        formats={each: name for each, name in work.formats.items() if name != registry.FIRST_IDENTITY},
        unread=remembered,
        cut=len(work.unread) - len(remembered) + (last.cut if found.within else 0),
        waiting=work.waiting,
        unknown=last.unknown if found.within else most_frequent(found.unknown),
        ignored={**(last.ignored if found.within else {}), **found.ignored},
    )


def _texts_of(store: Store, collection: str, paths: Sequence[str]) -> dict[str, str]:
    """Return the hashes of documents that are removed, unless they are many."""
    found = {path: store.documents.find(collection, path) for path in paths[:_MOST_RENAMED]}
    return {path: document.hash for path, document in found.items() if document is not None}


def _renamed(
    store: Store, collection: str, former: Mapping[str, str], known: Mapping[str, str]
) -> dict[str, str]:
    """Return where documents are that had other paths, by these: at the last scan, and before it."""
    now = dict(known)
    for path, digest in former.items():
        same = [each.path for each in store.documents.by_hash(digest) if each.collection == collection]
        if same and path not in same:
            now = {old: same[0] if new == path else new for old, new in now.items()} | {path: same[0]}
    return dict([*now.items()][-_MOST_RENAMED:])


def _folders(known: States, work: Work) -> tuple[str, ...]:
    """Return the folders with documents, as many as are remembered."""
    files = {*known, *(file.path for file in work.read)}
    return tuple(sorted({path.rpartition("/")[0] for path in files})[:_MOST_FOLDERS])


def _dated_again(
    store: Store, collection: str, committed: list[str] | None, last: ScanRecord
) -> frozenset[str]:
    """Return the paths of files whose date may be another one than at the last scan.

    `committed` has the files in the commits since; None if that is not known.
    """
    paths = committed or []
    if committed is None or (last.path and last.dates != DATES):
        documents = store.documents.listing(collection)
        undated = [each.path for each in documents if not stated(each.date, each.modified_ns)]
        from qmd.text.dates.names import in_path  # most scans read no file

        paths = undated if committed is None else [*committed, *filter(in_path, undated)]
    files = [unicodedata.normalize("NFC", path.replace(os.sep, "/")) for path in paths]
    return frozenset((*files, *map(registry.file_of, files)))


def _changes(outcome: Outcome, authors: frozenset[str], git: GitDates) -> Iterator[DocumentChange]:
    """Yield the documents of a file that have text."""
    file, fingerprint = outcome.file, outcome.fingerprint
    assert fingerprint is not None
    committed = git.of(file)
    for key, source, made in outcome.documents:
        if made is not None:
            author = authorship.author_of(file.path, source.author, authors)
            date, origin = authorship.date_of(file.path, source.date, fingerprint.mtime_ns, committed)
            fields = {**source.fields, DATE_ORIGIN: (origin,)}
            if made.language is not None:
                fields[LANGUAGE] = (made.language,)
            if committed is not None:
                fields.setdefault(CHANGED, (of_mtime(committed * 1_000_000_000),))
            source = replace(source, fields=fields)
            path = f"{file.path}#{key}" if key else file.path
            yield DocumentChange(path, fingerprint, source, author, date, made)


class _Batch:
    """The changes of a scan that are not stored yet."""

    def __init__(
        self,
        store: Store,
        collection: Collection,
        report: ScanReport,
        indexed: States,
        work: Work,
        before: Mapping[str, UnreadFile],
        git: GitDates,
        on_change: OnChange | None,
    ) -> None:
        self._store = store
        self._collection = collection
        self._report = report
        self._indexed = indexed
        self._work = work
        #: What the last scan could not read.
        self._before = before
        self._git = git
        self._on_change = on_change
        #: The documents of each file, of which all are stored or none.
        self._files: list[_Changed] = []
        #: Those of the last batch that may not be committed yet, with its numbers.
        self._ending: tuple[list[_Changed], Applied] | None = None
        self._documents = self._characters = 0
        #: Documents that their files do not contain any more.
        self.removed: list[str] = []
        #: Documents whose files have NUL bytes.
        self.with_nul: list[str] = []
        #: Documents whose encoding is doubtful, with that encoding.
        self.guessed: list[str] = []
        #: The lines with invalid bytes of files, by path, and of those whose text is new.
        self.invalid: dict[str, tuple[int, ...]] = {}
        self.newly_invalid: dict[str, tuple[int, ...]] = {}

    def take(self, outcome: Outcome) -> None:
        """Add the documents of a file that was read, or its failure."""
        file, work = outcome.file, self._work
        if outcome.error is not None:
            self._fail(file, outcome.failure, outcome.error.message)
            return
        try:
            changes = [*_changes(outcome, work.authors, self._git)]
        except Exception as error:  # noqa: BLE001 - whatever it is, it costs this file alone
            self._fail(file, fault(error))
            return
        parts = {f"{file.path}#{key}": failure for key, failure in outcome.without}
        for part, failure in parts.items():
            self._report.problems.append((part, f"cannot read {part}: {failure}"))
            work.unread[part] = failed(self._before.get(part), failure, stays=part in self._indexed)
        self._add(file, changes, [each for each in work.documents.get(file.path, ()) if each not in parts])

    def _fail(self, file: SourceFile, failure: Unreadable | None, message: str = "") -> None:
        """Report a file that cannot be read. Its documents stay as they are, unless it has no text now."""
        path, work, stays = file.path, self._work, self._work.stays(file.path)
        message = message or f"cannot read {path}: {failure}"
        if self._collection.ocr and failure is not None and failure.reason == SCAN:
            wait(work, path)
        else:
            self._report.problems.append((path, message))
        if failure is not None and failure.trace:
            self._report.traces[path] = failure.trace
        if failure is not None and failure.reason in EMPTY and stays:
            self.removed += work.documents[path]
            stays = False
        error = failure or message.removeprefix(f"cannot read {path}: ")
        state = state_of(file, work.formats[registry.suffix(path)])
        work.unread[path] = failed(self._before.get(path), error, state, stays=stays)

    def _add(self, file: SourceFile, items: Sequence[DocumentChange], before: Sequence[str]) -> None:
        """Add the documents of a file; `before` are the paths of those in the index."""
        kept = {item.path for item in items}
        self._files.append((file, items))
        self._documents += len(items)
        self._characters += sum(len(item.source.text) for item in items)
        self.removed += [path for path in before if path not in kept]
        for item in items:
            decoding = item.source.decoding
            if decoding.lines:
                self.invalid[file.path] = decoding.lines
            # A file may be read again without a change: it was written just before the last scan.
            if (decoding.zeros or decoding.doubtful or decoding.lines) and not self._is_stored(item):
                self.with_nul += [item.path] if decoding.zeros else []
                self.guessed += [f"{item.path} ({decoding.charset})"] if decoding.doubtful else []
                self.newly_invalid |= {file.path: decoding.lines} if decoding.lines else {}

    def notices(self) -> list[str]:
        """Return what was changed in the texts of files, without those that had the same text before."""
        found = [describe_invalid(self.newly_invalid)] if self.newly_invalid else []
        if self.with_nul:
            files = plural(len(self.with_nul), "file")
            found.insert(0, f"{files} with NUL bytes, indexed as spaces: {self.with_nul[0]}")
        if self.guessed:
            files = plural(len(self.guessed), "file")
            found.append(
                f"{files} whose encoding is a guess: {self.guessed[0]}. If letters are wrong, set the "
                "collection's 'encoding'"
            )
        return found

    @property
    def full(self) -> bool:
        """True if the changes have to be stored."""
        return self._documents >= BATCH_FILES or self._characters >= BATCH_CHARACTERS

    def apply(self, removed: Sequence[str] = (), *, wait: bool = True) -> None:
        """Store the changes and remove documents, in one transaction. The next call waits for its end.

        If that fails because of a file, the files are stored one at a time, so that it costs that file alone.
        """
        files, self._files, self._documents, self._characters = self._files, [], 0, 0
        ending, self._ending = self._ending, None
        if not (files or ending or removed):
            return
        try:
            applied = self._apply([item for _, items in files for item in items], removed, wait=wait)
            self._ending = None if wait else (files, applied)
        except QmdError:
            raise  # of the store, such as a full disk
        except Exception:  # noqa: BLE001 - it is met again with the file that causes it
            for file, items in (*self._lost(ending), *files):
                try:
                    self._apply(items, ())
                except QmdError:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever it is, it costs this file alone
                    self._fail(file, fault(error))
            self._apply((), removed)

    def _lost(self, ending: tuple[list[_Changed], Applied] | None) -> list[_Changed]:
        """Return the changes of the last batch if it was not committed, and take its numbers back."""
        files, applied = ending or ([], Applied(0, 0, 0))
        item = next((item for _, items in files for item in items), None)
        if item is None or self._is_stored(item):
            return []
        self._count(applied, sum(len(items) for _, items in files), -1)
        return files

    def _is_stored(self, item: DocumentChange) -> bool:
        document = self._store.documents.find(self._report.collection, item.path)
        return document is not None and document.hash == item.source.hash

    def _count(self, applied: Applied, documents: int, sign: int = 1) -> None:
        report = self._report
        report.added += sign * applied.added
        report.updated += sign * applied.updated
        report.removed += sign * applied.removed
        report.unchanged += sign * (documents - applied.added - applied.updated)

    def _apply(
        self, changed: Sequence[DocumentChange], removed: Sequence[str], *, wait: bool = True
    ) -> Applied:
        store, name = self._store, self._report.collection
        kinds: list[tuple[str, ChangeKind]] = []
        if self._on_change is not None:
            kinds = [*_kinds(store, name, changed, self._indexed), *((path, "removed") for path in removed)]
        applied = store.documents.apply(name, changed, removed, wait=wait)
        self._count(applied, len(changed))
        if self._on_change is not None:
            for path, kind in kinds:
                self._on_change(name, path, kind)
        return applied


def _kinds(
    store: Store, collection: str, changed: Sequence[DocumentChange], indexed: States
) -> Iterator[tuple[str, ChangeKind]]:
    """Yield the paths of files that are new or have another text or title than in the index."""
    for item in changed:
        if item.path not in indexed:
            yield item.path, "new"
            continue
        before = store.documents.find(collection, item.path)
        if before is None or (before.hash, before.title) != (item.source.hash, item.source.title):
            yield item.path, "updated"
