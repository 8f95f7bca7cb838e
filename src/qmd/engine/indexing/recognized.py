"""The texts in pictures and scanned pages, as far as a feature has recognized them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache

from msgspec import Struct, field
from msgspec.structs import replace

from qmd.engine.indexing.comparison import Work
from qmd.engine.indexing.record import ScanRecord
from qmd.plugins import Table
from qmd.sources.formats import registry
from qmd.sources.formats.base import SCAN
from qmd.store.base import Store
from qmd.types import Collection, Fingerprint

#: The extra that recognizes texts.
EXTRA = "ocr"
_TABLE = Table("qmd.recognized", {}, Callable)


class Recognized(Struct, frozen=True):
    """What is known of the files of a collection.

    Attributes:
        texts: The state of each file that was looked at, and what its reader gets.
        shown: What the readers of notes get: the texts of the pictures that they show.
        fresh: The paths of files that no scan has read since.
    """

    texts: Mapping[str, tuple[Fingerprint, bytes]] = field(default_factory=dict)
    shown: Mapping[str, bytes] = field(default_factory=dict)
    fresh: frozenset[str] = frozenset()


def kept_at(location: str) -> str:
    """Return the path of the file that has what was recognized for the index at `location`."""
    return f"{os.path.realpath(location)}.{EXTRA}"


def recognized(store: Store, collection: Collection) -> Recognized:
    """Return what was recognized in the files of a collection."""
    part = _part() if collection.ocr else None
    return part(store.location, collection.name) if part else Recognized()


def without_fresh(last: ScanRecord, known: Recognized) -> ScanRecord:
    """Return the record of the last scan without unread files whose text was recognized since."""
    unread = {path: row for path, row in last.unread.items() if path not in known.fresh}
    return replace(last, unread=unread)


def prepare(work: Work, collection: Collection, known: Recognized) -> None:
    """Give files the texts recognized in them. Pictures without one wait, or have none: they are not read."""
    read = []
    for file in work.read:
        fingerprint, text = known.texts.get(file.path, (None, b""))
        if fingerprint == file.fingerprint:
            file = file._replace(recognized=text)
        elif shown := known.shown.get(file.path):
            file = file._replace(recognized=shown)
        elif collection.ocr and registry.suffix(file.path) in registry.PICTURES:
            wait(work, file.path)
        if file.recognized or registry.suffix(file.path) not in registry.PICTURES:
            read.append(file)
    work.read = read
    if collection.ocr:
        scans = {path for path, row in work.unread.items() if row.reason == SCAN}
        for path in scans.intersection(path for path, _ in work.problems):
            wait(work, path)
        work.problems = [each for each in work.problems if each[0] not in scans]


def wait(work: Work, path: str) -> None:
    """Count a file that waits for its text to be recognized."""
    counts, suffix = work.waiting.setdefault(EXTRA, {}), registry.suffix(path)
    counts[suffix] = counts.get(suffix, 0) + 1


@cache
def _part() -> Callable[[str, str], Recognized] | None:
    part: Callable[[str, str], Recognized] | None = _TABLE.load(EXTRA) if EXTRA in _TABLE.names() else None
    return part
