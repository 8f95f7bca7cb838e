"""From disk to the store: incremental scans (E4, E5)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from qmd.errors import CollectionNotFoundError, QmdError, SourceError
from qmd.sources import git
from qmd.sources.read import read_source
from qmd.sources.walk import device_of, walk
from qmd.store.base import Changed, Store
from qmd.text import authorship
from qmd.types import Collection, SourceFile

#: Files to a transaction.
BATCH_FILES = 400
#: Text to a transaction, in characters: many large files make smaller batches.
BATCH_CHARACTERS = 8_000_000

#: Called with (collection, files looked at, files in all as far as known).
OnProgress = Callable[[str, int, int], None]


@dataclass(slots=True)
class ScanReport:
    """What a scan of one collection did. `problems` are (path, reason) of what could not be read.

    `notices` are what else there is to say: of git, and of files that were not indexed to the letter.
    """

    collection: str
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    error: QmdError | None = None


def check(collection: Collection) -> None:
    """Raise what a scan of a collection would raise at its beginning."""
    walk(collection)


def scan(
    store: Store,
    collection: Collection,
    on_progress: OnProgress | None = None,
    *,
    owner: str = "",
    allow_empty: bool = False,
) -> ScanReport:
    """Bring one collection up to date; `owner` is the configuration file that names it.

    Raises `SourceError` if its root is missing or cannot be listed. It does so too, unless `allow_empty`, if
    the root has no documents any more, or is another folder without most of them. Then nothing has changed.
    """
    report = ScanReport(collection.name)
    # Before the walk, so that what another process adds meanwhile is not taken for deleted.
    known = store.manifest(collection.name)
    unseen = dict(known)
    unlisted: list[str] = []

    def note(path: str, reason: str) -> None:
        report.problems.append((path, reason))
        unlisted.append(path)

    # Walking first costs no reading, and lets progress say how far it is.
    root = _root(collection, owner)
    files = list(walk(collection, note))
    present = {file.path for file in files if file.fingerprint.size}
    lost = sum(path not in present and not _is_below(path, unlisted) for path in known)
    if lost and not allow_empty:
        if not present:
            _refuse_to_lose(collection, "holds no documents any more")
        if lost * 2 > len(known) and _is_replaced(store.last_root(collection.name), root):
            reason = f"is another folder than before, without {lost:,} of {len(known):,} documents"
            _refuse_to_lose(collection, reason)
    authors = authorship.authors_of(file.path for file in files)
    # Where a folder became an author's, or ceased to be, its files have another author without a change.
    moved = authors.symmetric_difference(authorship.authors_of(known))
    changed: list[Changed] = []
    emptied: list[str] = []
    with_zeros: list[str] = []
    characters = 0
    for number, file in enumerate(files, 1):
        unseen.pop(file.path, None)
        if known.get(file.path) == file.fingerprint and file.path.partition("/")[0] not in moved:
            report.unchanged += 1
            continue
        item = _read(file, collection, authors, report)
        if item is None:
            continue
        if not item.source.text.strip():
            if file.path in known:
                emptied.append(file.path)
            continue
        if item.source.zeros:
            with_zeros.append(file.path)
        changed.append(item)
        characters += len(item.source.text)
        if len(changed) >= BATCH_FILES or characters >= BATCH_CHARACTERS:
            _apply(store, collection.name, changed, [], report)
            changed, characters = [], 0
            if on_progress is not None:
                on_progress(collection.name, number, len(files))
    # Removals last: a file that was renamed is known under its new name before the old one goes.
    gone = [path for path in unseen if not _is_below(path, unlisted)]
    _apply(store, collection.name, changed, [*emptied, *gone], report)
    if on_progress is not None:
        on_progress(collection.name, len(files), len(files))
    store.finish_scan(collection.name, root)
    if with_zeros:
        count = f"{len(with_zeros):,} file{'s' if len(with_zeros) > 1 else ''}"
        report.notices.append(f"{count} with NUL bytes, indexed as spaces: {with_zeros[0]}")
    return report


def _root(collection: Collection, owner: str) -> str:
    """What a collection's folder is known by, for `_is_replaced`."""
    real = os.path.realpath(collection.path)
    return json.dumps([owner, collection.path, device_of(real), real])


def _is_replaced(before: str | None, now: str) -> bool:
    """Whether there is another folder than at the last scan, and not because the user named another one."""
    if before is None:
        return False
    (old_owner, old_path, *old), (owner, path, *new) = json.loads(before), json.loads(now)
    return bool(old != new and (path == old_path or owner != old_owner))


def _refuse_to_lose(collection: Collection, reason: str) -> NoReturn:
    raise SourceError(
        f"collection '{collection.name}': {collection.path} {reason}; nothing was removed",
        "is its drive mounted? If the documents are gone for good: qmd update --allow-empty",
    )


def _read(
    file: SourceFile, collection: Collection, authors: frozenset[str], report: ScanReport
) -> Changed | None:
    try:
        source, fingerprint = read_source(file, encoding=collection.encoding)
    except SourceError as error:
        report.problems.append((file.path, error.message))
        return None
    author = authorship.author_of(file.path, source.author, authors)
    date = authorship.date_of(file.path, source.date, fingerprint.mtime_ns)
    return Changed(file.path, fingerprint, source, author, date)


def _apply(
    store: Store,
    collection: str,
    changed: Sequence[Changed],
    removed: Sequence[str],
    report: ScanReport,
) -> None:
    if not changed and not removed:
        return
    applied = store.apply(collection, changed, removed)
    report.added += applied.added
    report.updated += applied.updated
    report.removed += applied.removed
    report.unchanged += len(changed) - applied.added - applied.updated


def _is_below(path: str, unlisted: Sequence[str]) -> bool:
    """Whether a file could not be seen because its folder, or it itself, could not be looked at."""
    return any(path == other or (other.endswith("/") and path.startswith(other)) for other in unlisted)


def run_update_command(collection: Collection) -> str | None:
    """Run a collection's `update` command in its folder; returns its last line, None where it has none.

    Raises `SourceError` where the command fails.
    """
    if not collection.update:
        return None
    done = subprocess.run(
        collection.update,
        shell=True,
        cwd=collection.path,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    output = (done.stdout + done.stderr).strip().splitlines()
    if done.returncode != 0:
        raise SourceError(
            f"collection '{collection.name}': its update command failed with code {done.returncode}"
            + (f": {output[-1]}" if output else ""),
            f"the command is: {collection.update}",
        )
    return output[-1] if output else ""


def scan_all(
    store: Store,
    collections: Sequence[Collection],
    *,
    pulling: bool = False,
    unpulled: Mapping[str, str] | None = None,
    commands: bool = False,
    owner: str = "",
    allow_empty: bool = False,
    on_progress: OnProgress | None = None,
) -> Iterator[ScanReport]:
    """Scan collections one after another; what fails in one is in its report, and stops no other.

    `unpulled` are collections that `pulling` leaves out, with the notice that says so.
    """
    left_out = unpulled or {}
    for collection in collections:
        notices: list[str] = []
        failed: QmdError | None = None
        steps: list[Callable[[Collection], str | None]] = []
        if commands:
            steps.append(run_update_command)
        if pulling and collection.name in left_out:
            notices.append(left_out[collection.name])
        elif pulling:
            steps.append(git.pull)
        for step in steps:
            try:
                said = step(collection)
            except QmdError as error:
                failed = error
                break
            if said:
                notices.append(said)
        try:
            report = scan(store, collection, on_progress, owner=owner, allow_empty=allow_empty)
        except (SourceError, CollectionNotFoundError) as error:
            # The latter where another process has removed or renamed it meanwhile.
            report = ScanReport(collection.name, error=error)
        report.error = report.error or failed
        report.notices = [*notices, *report.notices]
        yield report
