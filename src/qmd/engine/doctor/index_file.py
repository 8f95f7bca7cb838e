"""The index file: the disk it lies on, and what is in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator, Mapping

from qmd.engine.doctor.finding import Finding, failed, ok, problem, warning
from qmd.engine.models.provider import ModelProvider
from qmd.engine.upkeep.cleanup import clean
from qmd.errors import QmdError, StoreError
from qmd.store.base import OnStep, Store, SupportsUpkeep
from qmd.store.opening import open_store
from qmd.types import Config

MEGABYTE = 1_000_000
#: With less than the first, writing fails soon; less than the second is soon used up.
_NO_SPACE, _LITTLE_SPACE = 20 * MEGABYTE, 500 * MEGABYTE


def space(path: str) -> Iterator[Finding]:
    """What is free where the index lies, or will."""
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
        yield problem("disk", message, "free some space: the index cannot be written without")
    elif free < _LITTLE_SPACE:
        yield warning("disk", message, "free some space before the index has to grow")
    else:
        yield ok("disk", message)


def opened(path: str, url: str | None, environ: Mapping[str, str]) -> Generator[Finding, None, Store | None]:
    """The store at an address, else the file; None where there is none, or none that can be opened."""
    if url is None and not os.path.exists(path):
        yield ok("index", f"{path} is not there yet", "'qmd update' makes it")
        return None
    try:
        return open_store(path, url, environ)
    except QmdError as error:
        yield failed("index", error)
        return None


def contents(store: Store, on_step: OnStep) -> Generator[Finding, None, bool]:
    """Whether the file is whole, and its tables agree with each other; returns whether they do."""
    if not isinstance(store, SupportsUpkeep):
        yield ok("index", f"{store.location} can be opened; its contents are not checked")
        return True
    try:
        faults = store.faults(on_step)
        held = store.collection_stats().values()
    except StoreError as error:
        yield failed("index", error)
        return False
    for fault in faults:
        yield problem("index", f"{store.location}: {fault.message}", fault.hint)
    if not faults:
        documents = sum(each.documents for each in held)
        size = store.size()
        shown = f", {size / MEGABYTE:,.1f} MB" if size else ""
        places = (store.location, os.path.dirname(store.location))
        is_file = os.path.exists(store.location)
        limits = ", read only" if is_file and not all(os.access(each, os.W_OK) for each in places) else ""
        yield ok("index", f"{store.location} is whole: {documents:,} documents{shown}{limits}")
    return not faults


def scans(store: Store, config: Config) -> Iterator[Finding]:
    """Collections whose files were never looked at."""
    known = store.last_scans()
    for name in config.collections:
        if known.get(name) is None:
            yield warning("index", f"collection '{name}' was never scanned", "run 'qmd update'")


def spare(store: Store, written: Config, roles: ModelProvider, cache_dir: str) -> Iterator[Finding]:
    """What a cleanup would free, where that is worth the while."""
    if not isinstance(store, SupportsUpkeep):
        return
    try:
        report = clean(store, written, roles, cache_dir, dry_run=True)
    except StoreError as error:
        yield failed("space", error)
        return
    if report.freed >= MEGABYTE:
        what = ", ".join(item.what for item in report.items)
        freed = f"about {report.freed / MEGABYTE:,.0f} MB can be freed"
        yield ok("space", f"{freed}: {what}", "run 'qmd cleanup'")
