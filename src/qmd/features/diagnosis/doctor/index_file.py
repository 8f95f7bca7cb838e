"""Checks of the index file, its contents and its disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator, Mapping

from qmd.engine.documents.dated import unread_dates, with_unread_dates
from qmd.engine.finding import Finding, attempt, ok, problem, warning
from qmd.engine.indexing.record import ScanRecord
from qmd.engine.indexing.unread import describe_kept, remedy, waiting
from qmd.engine.models.provider import ModelProvider
from qmd.engine.upkeep.cleanup import clean
from qmd.engine.watching.election import find_watcher
from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.store.values import OnStep
from qmd.text.wording import plural, visible
from qmd.types import Config

MEGABYTE = 1_000_000
#: The most documents that are named because of dates that cannot be read.
_MOST_DATES = 20
#: Free space in bytes below which writing is about to fail, and below which the user is warned.
_NO_SPACE, _LITTLE_SPACE = 20 * MEGABYTE, 500 * MEGABYTE


def space(path: str) -> Iterator[Finding]:
    """Check the free space on the disk of the index."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        yield problem("disk", f"{folder}: {error.strerror}", None)
        return
    message = f"{free // MEGABYTE:,} MB are free in {folder}"
    if free < _NO_SPACE:
        yield problem("disk", message, "free some space: the index cannot be written")
    elif free < _LITTLE_SPACE:
        yield warning("disk", message, "free some space before the index grows")
    else:
        yield ok("disk", message)


def opened(path: str, url: str | None, environ: Mapping[str, str]) -> Generator[Finding, None, Store | None]:
    """Open the store at `url`, otherwise the file; None if it does not exist or cannot be opened."""
    if url is None and not os.path.exists(path):
        yield ok("index", f"{path} does not exist yet", "'qmd update' creates it")
        return None
    return (yield from attempt("index", lambda: open_store(path, url, environ)))


def contents(store: Store, on_step: OnStep) -> Generator[Finding, None, bool]:
    """Check that the index is intact and its tables are consistent; returns True if they are."""
    faults = yield from attempt("index", lambda: store.upkeep.faults(on_step))
    if faults is None:
        return False
    for fault in faults:
        yield problem("index", f"{store.location}: {fault.message}", fault.hint)
    if faults:
        return False
    stats = yield from attempt("index", store.collections.stats)
    if stats is None:
        return False
    documents = sum(collection.documents for collection in stats.values())
    bytes_used = store.size()
    size = f", {bytes_used / MEGABYTE:,.1f} MB" if bytes_used else ""
    paths = (store.location, os.path.dirname(store.location))
    writable = all(os.access(path, os.W_OK) for path in paths)
    access = ", read only" if os.path.exists(store.location) and not writable else ""
    yield ok("index", f"{store.location} is intact: {documents:,} documents{size}{access}")
    return True


def scans(store: Store, config: Config) -> Iterator[Finding]:
    """Report collections that were never scanned, and files that wait for an extra or could not be read."""
    last_scans = store.collections.last_scans()
    for name in config.collections:
        if last_scans.get(name) is None:
            yield warning("index", f"collection '{name}' was never scanned", "run 'qmd update'")
        if kept := ScanRecord.read(store.collections.last_root(name)).kept:
            hint = "'qmd update --failed' reads them again and says why"
            yield warning("files", f"{name}: {describe_kept(kept)}", hint)
    unread = [*with_unread_dates(store, config, _MOST_DATES + 1)]
    for file, written in unread[:_MOST_DATES]:
        hint = (
            "write it as 2024-05-31: until then the document has the date of its name, of git or of its file"
        )
        yield warning("dates", visible(f"{file} has a date that cannot be read, {written}"), hint)
    if len(unread) > _MOST_DATES:
        more = unread_dates(store, config) - _MOST_DATES
        yield warning("dates", f"and {more:,} more", "'qmd search [date.unread:*]' lists them")
    for extra, files in waiting(map(store.collections.last_root, config.collections)).items():
        yield warning("files", files, remedy(extra))


def watching(index: str) -> Iterator[Finding]:
    """Report which process watches the folders, and which collections it cannot watch."""
    watcher = find_watcher(index)
    if watcher is None:
        hint = "run 'qmd watch', or a server; 'qmd watch --install' does so whenever you are logged in"
        yield ok("watching", "no process watches the folders", hint)
        return
    name = f"{watcher.command} (process {watcher.pid})"
    yield ok("watching", f"{name} watches {plural(watcher.folders, 'folder')}")
    for collection, state in watcher.collections.items():
        if state.mode == "polling":
            message = f"collection '{collection}' is polled: {state.reason}"
            yield warning("watching", message, "changes are found within about a minute")
        elif state.mode == "missing":
            hint = "its documents stay; restore the folder, or remove the collection"
            yield warning("watching", state.reason, hint)
    if watcher.embedding not in ("", "idle", "waiting", "running", "off"):
        hint = "run 'qmd embed' to see the error"
        yield warning("watching", f"{name} cannot embed: {watcher.embedding}", hint)


def reclaimable(store: Store, written: Config, provider: ModelProvider, cache_dir: str) -> Iterator[Finding]:
    """Report the space that a cleanup would free, if it is at least a megabyte."""
    report = yield from attempt("space", lambda: clean(store, written, provider, cache_dir, dry_run=True))
    if report is not None and report.freed >= MEGABYTE:
        kinds = ", ".join(item.description for item in report.items)
        freed = f"about {report.freed / MEGABYTE:,.0f} MB can be freed"
        yield ok("space", f"{freed}: {kinds}", "run 'qmd store compact'")
