"""Copies of an index file: made while others read and write it, and put back in its place.

Both ways pages are copied by SQLite's backup API. Into an index that can be opened they are written in one
transaction of its own, so that other processes see the index as it was or as it is restored, as after any
other write, and a crash at any moment leaves the one or the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass

import apsw

from qmd.config.atomic import sync_to_disk
from qmd.errors import BusyError, ForeignIndexError, StoreError
from qmd.store.base import OnPages
from qmd.store.sqlite.database import REMAKE, Database
from qmd.store.sqlite.opening import belongs_to_us, is_database, open_copy

#: Copied between two looks at whether the user wants to stop.
_PAGES = 1000
#: What a copy says beyond what is in an index is kept under keys that begin with this.
_NOTE = "backup: "
_TABLES = ("collections", "documents", "contents", "content_vectors", "vectors_vec")


@dataclass(frozen=True, slots=True)
class Contents:
    """What a copy holds. `notes` are what was given to `make`, none in a file that it did not make."""

    collections: tuple[str, ...]
    documents: int
    vectors: int
    notes: Mapping[str, bytes]


def make(database: Database, path: str, notes: Mapping[str, bytes], on_pages: OnPages) -> Contents:
    """Copy an index as it is at this moment to a new file, which only the user may read, and check it.

    `path` is an empty file or none. Raises `StoreError` where it cannot be written, or the index is damaged.
    """
    with database.snapshot() as source, _translated(path):
        wanted = _counts(source)
        with closing(apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)) as copy:
            copy.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
            _pour(source, copy, on_pages)
            copy.executemany(
                "INSERT INTO meta VALUES (?, ?)", [(_NOTE + name, value) for name, value in notes.items()]
            )
            said = [str(row[0]) for row in copy.execute("PRAGMA quick_check(1)")]
            if said != ["ok"] or _counts(copy) != wanted:
                raise StoreError(f"{database.path} is damaged, and no backup was made ({said[0]})", REMAKE)
        sync_to_disk(path)
    return read(path, thorough=False)


def read(path: str, *, thorough: bool = True) -> Contents:
    """What a copy holds; `thorough`: after all of it was found whole.

    Raises `StoreError` for a file that is missing, damaged, or no index, `ForeignIndexError` for one of
    another program or of a newer version.
    """
    with _opened(path) as copy:
        if thorough:
            said = [str(row[0]) for row in copy.execute("PRAGMA integrity_check(1)")]
            if said != ["ok"]:
                raise _damaged(path, " ".join(said[0].split()))
        counts = _counts(copy)
        notes = dict(copy.execute("SELECT key, value FROM meta WHERE key GLOB ?", (_NOTE + "*",)))
        return Contents(
            tuple(name for (name,) in copy.execute("SELECT name FROM collections ORDER BY name")),
            counts["documents"],
            counts["content_vectors"],
            {name.removeprefix(_NOTE): _as_bytes(value) for name, value in notes.items()},
        )


def restore(path: str, copy: str, kept: str, on_pages: OnPages, *, busy_timeout_ms: int) -> bool:
    """Make the index at `path` what the file `copy` holds, which `read` has found whole.

    The index as it was is then the file `kept`; returns whether there was one. Waits for its turn to write.
    Raises `BusyError`, and `StoreError` with the index as it was.
    """
    with _opened(copy) as source, _translated(path):
        if os.path.exists(path) and os.path.getsize(path):
            try:
                _write_over(path, source, kept, on_pages, busy_timeout_ms)
                return True
            except (apsw.NotADBError, apsw.CorruptError, apsw.ReadOnlyError):
                # Too damaged to be written: nothing can be in the middle of reading or writing it.
                return _put_in_place(path, source, kept, on_pages)
        return _put_in_place(path, source, kept, on_pages)


def _write_over(
    path: str, source: apsw.Connection, kept: str, on_pages: OnPages, busy_timeout_ms: int
) -> None:
    with closing(apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE)) as live:
        live.set_busy_timeout(busy_timeout_ms)
        with live.backup("main", source, "main") as work:
            # Takes the turn to write, and copies nothing yet: from here on nothing is written by others.
            work.step(0)
            _keep(path, kept)
            while not work.step(_PAGES):
                on_pages(work.page_count - work.remaining, work.page_count)
        _forget_notes(live)
        # What a reader still needs stays in the log, and is taken over later.
        live.set_busy_timeout(0)
        with suppress(apsw.BusyError):
            live.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _put_in_place(path: str, source: apsw.Connection, kept: str, on_pages: OnPages) -> bool:
    temporary = f"{path}.{os.getpid()}.tmp"
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with new_file(temporary):
        with closing(apsw.Connection(temporary, apsw.SQLITE_OPEN_READWRITE)) as new:
            new.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
            _pour(source, new, on_pages)
            _forget_notes(new)
        sync_to_disk(temporary)
        there = os.path.exists(path)
        if there:
            os.link(path, kept)
        # A log belongs to the file that it was written for: beside another it would be taken for its own.
        for ending in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.replace(path + ending, kept + ending)
        os.replace(temporary, path)
        sync_to_disk(os.path.dirname(path))
    return there


@contextmanager
def new_file(path: str) -> Iterator[None]:
    """An empty file that only the user may read, taken away again where what is done with it fails."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        yield
    except BaseException:
        for ending in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(path + ending)
        raise


def _keep(path: str, kept: str) -> None:
    """Copy an index as it is, damaged or not."""
    temporary = f"{path}.{os.getpid()}.tmp"
    with new_file(temporary):
        with (
            closing(apsw.Connection(path, apsw.SQLITE_OPEN_READONLY)) as before,
            closing(apsw.Connection(temporary, apsw.SQLITE_OPEN_READWRITE)) as copy,
        ):
            copy.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
            _pour(before, copy, lambda done, total: None)
        sync_to_disk(temporary)
        os.replace(temporary, kept)


def _pour(source: apsw.Connection, into: apsw.Connection, on_pages: OnPages) -> None:
    """Copy all pages."""
    with into.backup("main", source, "main") as work:
        while not work.step(_PAGES):
            on_pages(work.page_count - work.remaining, work.page_count)


def _forget_notes(db: apsw.Connection) -> None:
    db.execute("DELETE FROM meta WHERE key GLOB ?", (_NOTE + "*",))


def _counts(db: apsw.Connection) -> dict[str, int]:
    """Rows of the tables that a copy must agree in."""
    parts = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in _TABLES)
    return dict(db.execute(parts))


def _as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


@contextmanager
def _opened(path: str) -> Iterator[apsw.Connection]:
    """A copy, to be read as it is."""
    if not os.path.isfile(path):
        raise StoreError(f"{path} is not there, or is no file", "name a file that 'qmd backup' made")
    if not os.path.getsize(path) or not is_database(path):
        raise StoreError(f"{path} is not an index, or is damaged", "name a file that 'qmd backup' made")
    if not belongs_to_us(path):
        raise ForeignIndexError(f"{path} was made by another program", "name a file that 'qmd backup' made")
    try:
        with closing(open_copy(path)) as copy:
            yield copy
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: str, reason: str) -> StoreError:
    return StoreError(f"{path} is damaged ({reason}); nothing was changed", "restore another backup")


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """SQLite's errors, and the disk's, about a file that is being written."""
    try:
        yield
    except apsw.BusyError as error:
        raise BusyError(
            f"{path} is being written by another process; nothing was changed", "wait for it to end"
        ) from error
    except apsw.FullError as error:
        raise StoreError(f"{path} cannot be written: the disk is full", "free some space") from error
    except (apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreError(
            f"{path} cannot be written: {error}", "check the folder's permissions and free space"
        ) from error
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
