"""`Index.recognize`: read the text in pictures and scanned pages, a page at a time, at idle priority."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct
from msgspec.json import decode

from qmd.config.held_file import hold
from qmd.engine.access.rules import READ, Rule
from qmd.engine.indexing.recognized import EXTRA, kept_at
from qmd.engine.indexing.update import UpdateMethods
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.errors import AlreadyRunningError, SourceError, UsageError
from qmd.features.ocr import kept as keeping, pages
from qmd.sources.children import Child
from qmd.sources.formats import registry
from qmd.sources.formats.base import TOO_SLOW, Unreadable
from qmd.sources.formats.recognized import Seen
from qmd.sources.formats.registry import Reader, Row
from qmd.sources.read import Answer, Purpose, read_raw
from qmd.sources.root import Root
from qmd.sources.walk import list_files
from qmd.store.base import Store
from qmd.text.link_targets import LinkTargets, target_name
from qmd.types import Collection, SourceFile
from qmd.types.cancelling import Cancelled, stop_if_cancelled

#: The address space of the child process, and the processor time for a page and for a list of pages.
_MEMORY, _SECONDS = 3 << 30, 90
_READER = Reader(pages, Row(pages.__name__, isolated=True, seconds=_SECONDS))
#: Seconds after which finished files are indexed, although others wait.
_INDEX_SECONDS = 600.0
#: The reader of a page, with whose results those of another one are not mixed.
_IDENTITY = f"rapidocr {pages.version}"


class OcrProgress(Struct, frozen=True):
    """The progress of `recognize`: pages, and about how many seconds are left (None before the first)."""

    done: int
    total: int
    seconds_left: float | None


class OcrReport(Struct, frozen=True):
    """The result of `recognize`."""

    pages: int  #: Pages that were read
    files: int  #: Files that were indexed again
    seconds: float  #: The time it took
    #: (path, reason) of files and pages that could not be read.
    problems: tuple[tuple[str, str], ...] = ()


class OcrMethods(Part, rule=READ):
    """Recognize texts."""

    _rules: Mapping[str, Rule] = {"recognize": Rule(changes=True, collections="collections")}

    def recognize(
        self,
        collections: Sequence[str] = (),
        *,
        failed: bool = False,
        on_progress: Callable[[OcrProgress], None] | None = None,
        cancelled: Cancelled | None = None,
    ) -> OcrReport:
        """Recognize the text in pictures and scanned pages of collections with `ocr: true`, and index it.

        Each page is kept as soon as it is read, so an interrupted run goes on there.

        Args:
            collections: Names of collections; all with `ocr: true`, if none is named.
            failed: Also read pages again that took too long.
            on_progress: Called after each page.
            cancelled: Called between pages; if it returns true, `CancelledError` is raised.

        Raises:
            UsageError: No collection has `ocr: true`, the extra is not installed, or the index is in Milvus.
            AlreadyRunningError: Another process recognizes texts of this index.
        """
        workspace = self._workspace
        collections_of(workspace.config, collections)
        chosen = [
            each
            for each in workspace.config.collections.values()
            if each.ocr and (not collections or each.name in collections)
        ]
        location = workspace.store.location
        _check(chosen, location)
        with _alone(location), keeping.opened(location) as kept, _idle_child() as child:
            kept.prune([*workspace.configuration.read().collections])
            run = _Recognition(
                kept, child, workspace.store, UpdateMethods(workspace), failed, on_progress, cancelled
            )
            return run.all(chosen)


class _Work(Struct):
    """A file with pages to be read: their keys by number."""

    collection: Collection
    file: SourceFile
    pages: Mapping[int, str]


class _Recognition:
    """A call of `recognize`."""

    def __init__(
        self,
        kept: keeping.Kept,
        child: _IdleChild,
        store: Store,
        updates: UpdateMethods,
        failed: bool,
        on_progress: Callable[[OcrProgress], None] | None,
        cancelled: Cancelled | None,
    ) -> None:
        self._kept = kept
        self._child = child
        self._store = store
        self._updates = updates
        self._failed = failed
        self._on_progress = on_progress
        self._cancelled = cancelled
        self._problems: list[tuple[str, str]] = []
        self._indexed: set[tuple[str, str]] = set()

    def all(self, collections: Sequence[Collection]) -> OcrReport:
        """List what is to be read, read it, and index it now and then."""
        began = time.monotonic()
        work = [each for collection in collections for each in self._listed(collection)]
        total, done, due = sum(len(each.pages) for each in work), 0, began + _INDEX_SECONDS
        started = time.monotonic()
        try:
            for each in work:
                for number, key in each.pages.items():
                    self._tell(done, total, started)
                    self._read(each, number, key)
                    done += 1
                self._kept.freshen(each.collection.name, each.file.path)
                if time.monotonic() >= due:
                    self._index([each.collection])
                    due = time.monotonic() + _INDEX_SECONDS
            self._tell(done, total, started)
        finally:
            self._index(collections)
        return OcrReport(done, len(self._indexed), time.monotonic() - began, (*self._problems,))

    def _tell(self, done: int, total: int, started: float) -> None:
        if self._on_progress is not None:
            left = (time.monotonic() - started) / done * (total - done) if done else None
            self._on_progress(OcrProgress(done, total, left))
        stop_if_cancelled(self._cancelled)

    def _listed(self, collection: Collection) -> Iterator[_Work]:
        """Yield the files of a collection whose pages are not all known."""
        name, known = collection.name, self._kept.files(collection.name)
        try:
            root = Root(collection)
            listed = list_files(root, collection, {}).files
        except SourceError as error:  # its drive may not be mounted
            self._problems.append((name, error.message))
            return
        endings = {*registry.PICTURES, "pdf"}
        files = [file for file in listed if registry.suffix(file.path) in endings]
        self._kept.drop_files(name, (path for path in known.keys() - {file.path for file in files}))
        for file in files:
            stop_if_cancelled(self._cancelled)
            before = known.get(file.path)
            is_known = before is not None and before.fingerprint == file.fingerprint
            keys = dict(before.pages) if before is not None and is_known else {}
            if not is_known or (self._failed and not keys):
                try:
                    hashes = decode(self._child.read(root, file, b""), type=dict[int, str])
                except (SourceError, Unreadable) as error:
                    self._problems.append((file.path, f"cannot read {file.path}: {error}"))
                    hashes = {}
                keys = {number: f"{_IDENTITY} {digest}" for number, digest in hashes.items()}
                self._kept.put_file(name, file, keys)
                if keys:
                    self._kept.freshen(name, file.path)
            left = {number: key for number, key in keys.items() if self._is_missing(key)}
            if left:
                yield _Work(collection, file, left)

    def _is_missing(self, key: str) -> bool:
        seen = self._kept.page(key)
        return seen is None or (self._failed and bool(seen.why))

    def _read(self, work: _Work, number: int, key: str) -> None:
        path = work.file.path
        try:
            seen = Seen(self._child.read(Root(work.collection), work.file, b"%d" % number))
        except SourceError as error:  # the file is gone, or was exchanged
            self._problems.append((path, error.message))
            return
        except Unreadable as error:
            seen = Seen(why=str(error))
            self._problems.append((path, f"{path}: page {number}: {error}"))
        self._kept.put_page(key, seen)

    def _index(self, collections: Sequence[Collection]) -> None:
        """Let scans read the files whose pages are known now, and the notes that show them."""
        for collection in collections:
            if self._scanned(collection.name):
                self._kept.put_notes(collection.name, self._shown(collection.name))
                self._scanned(collection.name)

    def _scanned(self, name: str) -> bool:
        fresh = self._kept.fresh(name)
        if fresh:
            report = self._updates.rescan(name)
            if report.error is not None:
                self._problems.append((name, report.error.message))
                return False
            self._kept.scanned(name, fresh)
            self._indexed |= {(name, path) for path in fresh}
        return True

    def _shown(self, name: str) -> dict[str, list[str]]:
        """Return the paths of the pictures with text that notes show, by the paths of the notes."""
        store = self._store
        pictures = [
            path
            for path, file in self._kept.files(name).items()
            if registry.suffix(path) in registry.PICTURES and self._kept.text_of(file)
        ]
        targets = LinkTargets.of((path, ()) for path in pictures)
        showing = store.fields.linking(name, [*{target_name(path) for path in pictures}])
        documents, shown = store.documents.by_id(showing), dict[str, list[str]]()
        for number, links in store.fields.links(showing).items():
            note = documents[number].path if number in documents else ""
            if registry.suffix(note) not in registry.BUILTIN["markdown"].suffixes:
                continue
            for link in links:
                for wikilink in (False, True):
                    path = targets.resolve(link.target, note, wikilink=wikilink)
                    if link.kind == "embed" and path and path not in shown.setdefault(note, []):
                        shown[note].append(path)
        return shown


class _IdleChild:
    """The confined process that draws and reads pages, made again if it has died."""

    def __init__(self) -> None:
        self._child: Child | None = None

    def read(self, root: Root, file: SourceFile, request: bytes) -> str:
        """Return the text of a page, or the list of pages.

        Raises `SourceError` if the file cannot be opened, and `Unreadable` if the process cannot read it.
        """
        raw, _ = read_raw(file, root=root)
        raw.beside = request
        if self._child is None or not self._child.alive:
            self._child = Child(_MEMORY)
            _make_idle(self._child.pid)
        answer: Answer = self._child.read([(raw, _READER)], Purpose())[0]
        if answer.unread is not None:
            reason, detail, trace = answer.unread
            raise Unreadable(reason or "damaged", detail, trace)
        if len(answer.documents) != 1:
            raise Unreadable(TOO_SLOW if answer.problem is None else answer.problem[0])
        return answer.documents[0][1].text

    def end(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.end()


@contextmanager
def _idle_child() -> Iterator[_IdleChild]:
    child = _IdleChild()
    try:
        yield child
    finally:
        child.end()


def _make_idle(pid: int) -> None:
    if sys.platform != "win32":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, 19)


@contextmanager
def _alone(location: str) -> Iterator[None]:
    file = hold(f"{kept_at(location)}.lock")
    if file is None:
        raise AlreadyRunningError(
            "another process recognizes texts of this index", "'qmd status' says what is left"
        )
    try:
        yield
    finally:
        os.close(file)


def _check(collections: Sequence[Collection], location: str) -> None:
    if "://" in location:
        raise UsageError(
            "texts are recognized for indexes on this machine only", "use an index without 'store'"
        )
    if not collections:
        raise UsageError(
            "no collection has its pictures and scans read",
            "choose one: 'qmd collection set NAME --ocr'",
        )
    missing = registry.BUILTIN["picture"].missing or registry.BUILTIN["pdf"].missing
    if missing:
        from qmd.installation import install_command

        raise UsageError(f"recognizing text needs the extra '{EXTRA}'", install_command(EXTRA))
