"""The files of a collection, compared with the documents in the index: what a scan has to do."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import chain

from msgspec import Struct

from qmd.engine.indexing.record import ScanRecord, UnreadFile
from qmd.engine.indexing.unread import failed, state_of, still_failed, why
from qmd.errors import SourceError
from qmd.sources.formats import registry
from qmd.sources.formats.registry import Readers
from qmd.sources.reading import waits_for
from qmd.sources.walk import FileListing
from qmd.text import authorship
from qmd.types import Collection, SourceFile, States


class Work(Struct):
    """What a scan has to do.

    Attributes:
        read: The files to be read.
        same: The number of documents whose files are as they were indexed.
        gone: The documents whose files are gone.
        documents: The documents in the index of each file that is read, or was looked at.
        changed: The paths of files that are not as they were indexed.
        authors: The folders of authors.
        formats: The formats of all files, by suffix.
        unread: The files that are not read, or are not as they were read, by path.
        waiting: The numbers of files that wait for an extra, by extra and suffix.
        problems: (path, reason) of files and folders that cannot be read.
    """

    read: list[SourceFile]
    same: int
    gone: list[str]
    documents: dict[str, tuple[str, ...]]
    changed: set[str]
    authors: frozenset[str]
    formats: dict[str, str]
    unread: dict[str, UnreadFile]
    waiting: dict[str, dict[str, int]]
    problems: list[tuple[str, str]]

    def stays(self, path: str) -> bool:
        """Tell whether documents of an earlier state of a file stay if it is not read."""
        return path in self.changed and bool(self.documents.get(path))


def compare(
    found: FileListing,
    known: States,
    last: ScanRecord,
    readers: Readers,
    again: Container[str] = frozenset(),
    *,
    anew: bool = False,
) -> Work | None:
    """Compare the files of a collection with its documents.

    None if some files were listed and all must be: formats have changed, or a folder becomes or ceases to be
    an author's.

    Args:
        found: The files.
        known: The state of the file of each document by path.
        last: The record of the last scan.
        readers: The readers of the files.
        again: Paths of files that are read although they are unchanged.
        anew: Read files again that could not be read.
    """
    documents = _by_file(found)
    authors, moved = _authors(found, known, {path for inside in documents.values() for path in inside})
    present, outdated = _formats(chain(known, (file.path for file in found.files)), last, readers)

    def as_it_is(path: str) -> bool:
        """Tell whether an unchanged file is not read."""
        top, suffix = path.partition("/")[0], registry.suffix(path)
        changed = path in again or path in found.touched
        return not changed and suffix not in outdated and top not in moved

    work = Work(
        read=[],
        same=len(known) - len(found.unseen),
        gone=_gone(found, documents),
        documents=documents,
        changed=set(),
        authors=authors,
        formats=present,
        unread={},
        waiting={extra: {**counts} for extra, counts in last.waiting.items()} if found.within else {},
        problems=[*found.problems],
    )
    files = found.files
    if moved or outdated or again:
        if found.within:
            return None
        others = [file for file in found.same(known) if not as_it_is(file.path)]
        documents |= {file.path: (file.path,) for file in others}
        work.same -= len(others)
        files = [*files, *others]
    unchanged: set[str] = set()
    for file in files:
        path, inside = file.path, documents.get(file.path, ())
        if not inside or any(known[each] != file.fingerprint for each in inside):
            work.changed.add(path)
        elif as_it_is(path):
            work.same += len(inside)
            unchanged.add(path)
            continue
        _assign(work, file, found, last, readers, anew=anew)
    work.unread |= _not_looked_at(last.unread, unchanged, found, known, documents)
    return work


def _authors(found: FileListing, known: States, seen: set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the folders of authors, and those that become or cease to be one.

    `seen` has the documents whose files were looked at.
    """
    if not (found.files or seen):
        return frozenset(), frozenset()
    staying = authorship.authors_of(path for path in known if path not in seen)
    authors = staying | authorship.authors_of(file.path for file in found.files)
    return authors, authors ^ (staying | authorship.authors_of(seen))


def _not_looked_at(
    unread: Mapping[str, UnreadFile],
    unchanged: set[str],
    found: FileListing,
    known: States,
    documents: Mapping[str, tuple[str, ...]],
) -> dict[str, UnreadFile]:
    """Return the files that were not listed, and those unread before that this scan leaves."""
    looked_at = documents.keys() | {file.path for file in found.files}
    still = {}
    for path, row in unread.items():
        containing = registry.file_of(path)
        is_known = path in known and containing not in looked_at
        if is_known or containing in unchanged or (found.within and not _covers(found.within, containing)):
            still[path] = row
    return still | {path: failed(None, reason) for path, reason in found.problems}


def _assign(
    work: Work, file: SourceFile, found: FileListing, last: ScanRecord, readers: Readers, *, anew: bool
) -> None:
    """Add a file to those that are read, that wait for an extra, or that still cannot be read."""
    path, before, stays = file.path, last.unread.get(file.path), work.stays(file.path)
    suffix = registry.suffix(path)
    if extra := waits_for(readers, path):
        counts = work.waiting.setdefault(extra, {})
        if not found.within or suffix not in counts:  # of some files it is not known which were counted
            counts[suffix] = counts.get(suffix, 0) + 1
        if stays:
            work.unread[path] = failed(before, "", stays=True)
        return
    state = state_of(file, work.formats[suffix]) if before else ""
    if before and (left := still_failed(before, state, stays=stays, anew=anew)):
        work.unread[path] = left
        work.problems.append((path, f"cannot read {path}: {why(left)}"))
    else:
        work.read.append(file)


def check_removal(
    collection: Collection, work: Work, found: FileListing, known: States, is_other: bool
) -> None:
    """Raise `SourceError` if it may be a mistake that documents are gone.

    `is_other` says that another folder has taken the place of the collection's.
    """
    empty = (file.path for file in work.read if not file.fingerprint.size)
    lost = len(work.gone) + sum(len(work.documents.get(path, ())) for path in empty)
    # Files that are unchanged, or were not looked at.
    stays = len(found.paths) > len(found.files) or len(known) > sum(map(len, work.documents.values()))
    emptied = len(known) == 1 and not work.gone  # the only note, whose file is there
    if lost and not stays and not emptied and not any(file.fingerprint.size for file in found.files):
        reason = "contains no documents any more"
    elif is_other and lost * 2 > len(known):
        reason = f"is another folder than before, without {lost:,} of {len(known):,} documents"
    else:
        return
    raise SourceError(
        f"collection '{collection.name}': {collection.path} {reason}; nothing was removed",
        "check that its drive is mounted; if the documents are deleted: 'qmd update --allow-empty'",
    )


def _formats(
    paths: Iterable[str], last: ScanRecord, readers: Readers
) -> tuple[dict[str, str], frozenset[str]]:
    """Return the formats of files by suffix, and the suffixes of those that have changed.

    A format counts as unchanged as long as it cannot read: if its package is broken, or files wait for an
    extra.
    """
    endings = {path[path.rfind(".") :]: path for path in paths}  # few, even of many files
    found, changed = {}, set()
    for suffix in {registry.suffix(path) for path in endings.values()}:
        file = f"x.{suffix}"
        before = last.formats.get(suffix, registry.FIRST_IDENTITY)
        found[suffix] = before if waits_for(readers, file) else readers.identity(file) or before
        if found[suffix] != before:
            changed.add(suffix)
    return found, frozenset(changed)


def _gone(found: FileListing, documents: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the documents whose files are gone, rather than in a folder that cannot be accessed."""
    listed = {file.path for file in found.files}
    paths = frozenset(path.rstrip("/") for path, _ in found.problems)
    return [
        each
        for path, inside in documents.items()
        if path not in listed and not _covers(paths, path)
        for each in inside
    ]


def _by_file(found: FileListing) -> dict[str, tuple[str, ...]]:
    """Return the paths of the documents that were looked at, by the path of their file."""
    documents: dict[str, tuple[str, ...]] = {path: (path,) for path in found.unseen if "#" not in path}
    if len(documents) < len(found.unseen):
        listed = {file.path for file in found.files}
        contained: dict[str, list[str]] = {}
        for path in found.unseen:
            base, sign, _ = path.rpartition("#")
            if sign:
                is_inside = path not in listed and (base in listed or registry.file_of(path) == base)
                contained.setdefault(base if is_inside else path, []).append(path)
        documents |= {file: (*documents.get(file, ()), *paths) for file, paths in contained.items()}
    if found.within:
        return {path: inside for path, inside in documents.items() if _covers(found.within, path)}
    return documents


def _covers(paths: frozenset[str], path: str) -> bool:
    """Return whether a path is one of `paths`, or in a folder with one of these paths."""
    at = len(path)
    while at > 0:
        if path[:at] in paths:
            return True
        at = path.rfind("/", 0, at)
    return False
