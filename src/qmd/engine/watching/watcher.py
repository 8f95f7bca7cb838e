"""The watcher: it follows the files of all collections, scans what changed, and has it embedded."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.indexing.scan import OnChange, ScanReport
from qmd.engine.watching.election import Election, WatchState, find_watcher
from qmd.engine.watching.notify import Notifier, open_notifier
from qmd.engine.watching.tree import EVERYTHING, Debounce, Tree
from qmd.errors import AlreadyRunningError, OutdatedError, QmdError
from qmd.types import Collection
from qmd.types.cancelling import CancelledError
from qmd.types.clock import now as timestamp

if TYPE_CHECKING:
    from qmd.engine.embedding.batches import EmbedReport


class Work(Protocol):
    """The operations of a watcher on an index. The methods are called in threads and raise `QmdError`."""

    @property
    def index_file(self) -> str:
        """The path of the index file."""

    def collections(self) -> Mapping[str, Collection]:
        """Return the collections of the configuration as it is now."""

    def embeds(self, collection: Collection) -> bool:
        """Return whether a collection is embedded without being asked."""

    def scan(self, collection: str, within: Sequence[str], on_change: OnChange, *, burst: bool) -> ScanReport:
        """Scan a collection, after all earlier writes; see `Index.rescan`. A `burst` has many changes."""

    def lacks_vectors(self, collections: Sequence[str]) -> bool:
        """Return whether texts of collections have no vectors."""

    def embed(self, collections: Sequence[str]) -> EmbedReport:
        """Make the missing vectors of collections at low priority."""

    def rest(self) -> None:
        """Free unused memory while nothing changes. Called again and again, but not while embedding."""


class Timing(Struct, frozen=True):
    """The times of a watcher, in seconds.

    Attributes:
        scan_quiet: A scan waits until nothing has changed for this time,
        scan_longest: but not longer than this time after the first change.
        embed_quiet: The same for embedding after scans.
        embed_longest: The same for embedding after scans.
        check: The time between two looks at the configuration and at the collections' folders.
        full_scan: The time between two scans of all files, in case that changes were not reported.
        poll: The shortest time between two scans of all files of a collection that is polled.
        retry: The time after which something that failed is tried again.
    """

    scan_quiet: float = 0.2
    scan_longest: float = 2.0
    embed_quiet: float = 2.0
    embed_longest: float = 30.0
    check: float = 2.0
    full_scan: float = 600.0
    poll: float = 30.0
    retry: float = 10.0


#: Scans of a polled collection take at most this share of the time.
_POLL_SHARE = 0.01
#: Scans of a collection, and embedding, rest this many times as long as they took: a large file that is
#: written all the time, such as a transcript, is not read all the time.
_REST = 4


class Listener:
    """Receives the events of a watcher. This one ignores them."""

    def changed(self, collection: str, path: str, kind: str) -> None:
        """A document was new, updated or removed, and the index has the change."""

    def scanned(self, report: ScanReport) -> None:
        """A scan has ended."""

    def embedded(self, report: EmbedReport) -> None:
        """Texts were embedded."""

    def noted(self, message: str) -> None:
        """Something has happened that is no failure."""

    def failed(self, message: str) -> None:
        """Something could not be done. The same message is not repeated."""


class Watcher:
    """Follows the collections of an index in one thread, if no other process does; embeds in another.

    Args:
        work: The operations on the index.
        command: The name of this process for other processes, such as `qmd server`.
        listener: Receives the events.
        notifier: Opens the notices of the operating system.
        timing: The intervals between scans, polls and retries.
    """

    def __init__(
        self,
        work: Work,
        command: str,
        listener: Listener | None = None,
        *,
        notifier: Callable[[], Notifier | None] = open_notifier,
        timing: Timing | None = None,
    ) -> None:
        self._work = work
        self._listener = listener or Listener()
        self._open_notifier = notifier
        self._timing = timing or Timing()
        self._state = WatchState(os.getpid(), command, "")
        self._published: WatchState | None = None
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._notifier: Notifier | None = None
        self._failures: dict[str, str] = {}
        self._election: Election | None = None
        self._trees: dict[str, Tree] = {}
        self._check_at = 0.0
        self._embeddings = Debounce(self._timing.embed_quiet, self._timing.embed_longest)
        self._embedding: threading.Thread | None = None
        self._embedding_state = "idle"
        #: When embedding may begin again.
        self._rested_at = 0.0

    @property
    def stopped(self) -> bool:
        """True if `stop` was called."""
        return self._stopped.is_set()

    @property
    def state(self) -> WatchState | None:
        """The state of this watcher; None while another process watches."""
        return self._published

    def stop(self) -> None:
        """Make `run` return soon. May be called by any thread."""
        self._stopped.set()
        with self._lock:
            if self._notifier is not None:
                self._notifier.wake()

    def run(self) -> None:
        """Watch until `stop` is called. While another process watches, wait for it to end.

        Raises `OutdatedError` if this process may not write the index any more.
        """
        waiting = False
        while not self.stopped:
            try:
                collections = self._collections()
                if collections and self._stand():
                    waiting = False
                    self._follow()
                elif collections and not waiting:
                    waiting = True
                    other = find_watcher(self._work.index_file)
                    name = "another process" if other is None else f"process {other.pid} ({other.command})"
                    self._listener.noted(f"{name} watches already; this one takes over when it ends")
            except OutdatedError:
                raise
            except QmdError as error:
                self._fail("watching", error.in_one_line())
            finally:
                self._published = None
                if self._election is not None:
                    self._election.resign()
            self._stopped.wait(self._timing.check)
        if self._embedding is not None:
            self._embedding.join()

    def _stand(self) -> bool:
        self._election = self._election or Election(self._work.index_file)
        elected = self._election.stand()
        self._succeed("watching")
        return elected

    def _collections(self) -> dict[str, Collection]:
        """Return the collections to watch."""
        collections = self._work.collections()
        return {name: collection for name, collection in collections.items() if collection.watch}

    def _follow(self) -> None:
        """Watch until `stop` is called, or no collection is left."""
        reason = "this system does not report changes"
        try:
            notifier = self._open_notifier()
        except OSError as error:
            notifier, reason = None, f"the system does not report changes: {error.strerror}"
        self._state = replace(self._state, started=timestamp())
        self._trees, self._check_at = {}, 0.0
        self._embeddings.touch(time.monotonic())
        with self._lock:
            self._notifier = notifier
        try:
            while not self.stopped:
                self._check(notifier, reason)
                if not self._trees:
                    return
                self._scan_changed()
                self._embed_changed()
                # Changes during a scan are noted before the index is said to be current.
                if not self._note_events(notifier, 0.0):
                    self._publish()
                    self._note_events(notifier, self._seconds_to_wait())
        finally:
            with self._lock:
                self._notifier = None
            if notifier is not None:
                with closing(notifier):
                    for tree in self._trees.values():
                        tree.forget()
            self._trees = {}

    def _seconds_to_wait(self) -> float:
        """Return the time until something is due without an event."""
        due = [self._check_at, *(tree.changes.due for tree in self._trees.values())]
        if self._embedding is None:
            due.append(self._embeddings.due)
        return max(0.0, min(moment for moment in due if moment is not None) - time.monotonic())

    def _note_events(self, notifier: Notifier | None, seconds: float) -> bool:
        """Wait for events, and note them. Return whether there were any."""
        if notifier is None:
            self._stopped.wait(seconds)
            return False
        events = notifier.wait(seconds)
        now = time.monotonic()
        if events is None:
            for tree in self._trees.values():
                tree.outdated, tree.burst = not tree.polled, True
                tree.mark(EVERYTHING, now)
            return True
        for event in events:
            for tree in self._trees.values():
                tree.note(event, now)
        return bool(events)

    def _check(self, notifier: Notifier | None, reason: str) -> None:
        """Follow changes of the configuration and of the collections' folders, and start regular scans."""
        now = time.monotonic()
        if now < self._check_at:
            return
        self._check_at = now + self._timing.check
        if self._embedding is None:
            self._work.rest()
        try:
            collections = self._collections()
            self._succeed("configuration")
        except QmdError as error:
            self._fail("configuration", error.in_one_line())
            return
        for name in self._trees.keys() - collections.keys():
            self._trees.pop(name).forget()
        for name, collection in collections.items():
            tree = self._trees.get(name)
            if tree is None or tree.collection != collection:
                if tree is not None:
                    tree.forget()
                debounce = Debounce(self._timing.scan_quiet, self._timing.scan_longest)
                tree = self._trees[name] = Tree(collection, notifier, reason, debounce)
                tree.full_scan_at = now
            elif tree.moved():
                tree.full_scan_at, tree.unsettled = now, True
            if now < tree.full_scan_at:
                continue
            tree.outdated = True
            tree.full_scan_at = now + self._timing.full_scan
            tree.mark(EVERYTHING, now - self._timing.scan_longest, scheduled=True)

    def _scan_changed(self) -> None:
        """Scan the collections whose changes have come to an end."""
        for name, tree in self._trees.items():
            if tree.changes.due is None or tree.changes.due > time.monotonic() or self.stopped:
                continue
            if tree.outdated:
                # Set the watches first, so that no change between the scan and the watches is missed.
                tree.watch()
            # Changes during the scan of another tree are noted before the state is published.
            self._note_events(self._notifier, 0.0)
            burst = tree.burst
            paths = tree.take()
            if tree.missing:
                tree.unsettled = False
                self._fail(name, f"{name}: {tree.state().reason}; its documents stay in the index")
                continue
            self._publish()
            self._scan(name, tree, paths, burst)

    def _scan(self, name: str, tree: Tree, paths: Sequence[str], burst: bool) -> None:
        started = time.monotonic()
        try:
            report = self._work.scan(name, paths, self._listener.changed, burst=burst)
        except CancelledError:
            return
        except OutdatedError:
            raise
        except QmdError as error:
            tree.put_back(paths, time.monotonic() + self._timing.retry)
            self._fail(name, f"{name}: {error.in_one_line()}")
            return
        tree.unsettled = report.error is not None
        finished = time.monotonic()
        tree.rested_at = finished + _REST * (finished - started)
        if tree.polled:
            tree.checked = timestamp()
            pause = max(self._timing.poll, (finished - started) / _POLL_SHARE)
            tree.full_scan_at = min(tree.full_scan_at, finished + pause)
        if report.error is not None:
            tree.keep(paths)
            self._fail(name, f"{name}: {report.error.in_one_line()}")
        else:
            self._succeed(name)
        self._listener.scanned(report)
        waits = f"{name} waits"
        if report.waiting:
            self._fail(waits, f"{name}: {'; '.join(report.waits())}")
        else:
            self._succeed(waits)
        # Another process may have indexed what this scan found, or have ended before all vectors were made.
        if report.added or report.updated or self._lacks_vectors(tree):
            self._embeddings.touch(finished)
            self._embeddings.delay(self._rested_at)

    def _lacks_vectors(self, tree: Tree) -> bool:
        try:
            return self._work.embeds(tree.collection) and self._work.lacks_vectors([tree.collection.name])
        except CancelledError:
            return False
        except QmdError as error:
            self._embedding_state = error.in_one_line()
            self._fail("embedding", f"embedding: {error.in_one_line()}")
            return False

    def _embed_changed(self) -> None:
        """Start embedding if texts have changed, and if it does not run already."""
        if self._embedding is not None:
            if self._embedding.is_alive():
                return
            self._embedding = None
            if self._embedding_state == "running":
                self._embedding_state = "it ended with an unexpected error, which the log has"
        due = self._embeddings.due
        if due is None or due > time.monotonic():
            return
        self._embeddings.clear()
        names = [name for name, tree in self._trees.items() if self._work.embeds(tree.collection)]
        if not names:
            self._embedding_state = "off"
            return
        self._embedding_state = "running"
        self._embedding = threading.Thread(target=self._embed, args=(names,), name="qmd-embed", daemon=True)
        self._embedding.start()

    def _embed(self, names: Sequence[str]) -> None:
        started = time.monotonic()
        try:
            report = self._work.embed(names)
        except CancelledError:
            self._embedding_state = "idle"
        except AlreadyRunningError:
            self._embedding_state = "waiting"
            self._embeddings.delay(time.monotonic() + self._timing.retry)
        except QmdError as error:
            # Not tried again before the next change, because most reasons need the user.
            self._embedding_state = error.in_one_line()
            self._fail("embedding", f"embedding: {error.in_one_line()}")
        else:
            finished = time.monotonic()
            self._rested_at = finished + _REST * (finished - started)
            self._embedding_state = "idle"
            self._succeed("embedding")
            if report.texts:
                self._listener.embedded(report)

    def _publish(self) -> None:
        """Publish the state if it has changed."""
        embedding = self._embedding_state
        if embedding == "idle" and self._embeddings.due is not None:
            embedding = "waiting"
        state = replace(
            self._state,
            current=not any(tree.unsettled or tree.moved() for tree in self._trees.values()),
            embedding=embedding,
            collections={name: tree.state() for name, tree in self._trees.items()},
        )
        if state != self._published and self._election is not None:
            self._election.publish(state)
            self._published = state

    def _fail(self, subject: str, message: str) -> None:
        """Report a failure, unless it is the same as before."""
        if self._failures.get(subject) != message:
            self._failures[subject] = message
            self._listener.failed(message)

    def _succeed(self, subject: str) -> None:
        self._failures.pop(subject, None)
