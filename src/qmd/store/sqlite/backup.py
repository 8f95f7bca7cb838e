"""Backups: copying an index file while others use it, and restoring it.

SQLite's backup API copies the pages. A restore writes them in one transaction, so that other processes see
the index either before or after it, also after a crash.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress

import apsw
from msgspec import Struct

from qmd.config.atomic import create_beside, sync_to_disk
from qmd.errors import BusyError, ForeignIndexError, StoreError
from qmd.store.sqlite.database import REMAKE, Database, truncate_log
from qmd.store.sqlite.opening import belongs_to_us, check_pages, is_database, open_copy
from qmd.store.sqlite.schema import PORTABLE
from qmd.store.values import OnPages

#: Pages copied between two checks for Ctrl-C.
_PAGES = 1000
#: Prefix of the keys of notes in the table `meta`.
_NOTE = "backup: "
_TABLES = ("collections", "documents", "contents", "content_vectors", "vectors_vec")


class Contents(Struct, frozen=True):
    """The contents of a copy, with the notes that were given to `make`."""

    collections: tuple[str, ...]
    documents: int
    vectors: int
    notes: Mapping[str, bytes]


def make(database: Database, path: str, notes: Mapping[str, bytes], on_pages: OnPages) -> None:
    """Copy the current state of an index to a new or empty file and check the copy.

    Raises `StoreError` if the file cannot be written or the index is damaged.
    """
    with database.snapshot() as source, _translated(path):
        expected = _counts(source)
        with _unjournaled(path) as copy:
            _copy_pages(source, copy, on_pages)
            rows = [(_NOTE + name, value) for name, value in notes.items()]
            copy.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            result = check_pages(copy, "quick_check")
            if result != "ok" or _counts(copy) != expected:
                raise StoreError(f"{database.path} is damaged, and no backup was made ({result})", REMAKE)
        sync_to_disk(path)


def read(path: str, *, thorough: bool = True) -> Contents:
    """Return the contents of a copy, after a check of all its pages if `thorough`.

    Raises `StoreError` for a file that is missing, damaged or no index, `ForeignIndexError` for a file of
    another program or of a newer version. A portable file is refused.
    """
    with _opened(path) as copy:
        result = check_pages(copy, "integrity_check") if thorough else "ok"
        if result != "ok":
            raise _damaged(path, " ".join(result.split()))
        if copy.execute("SELECT 1 FROM meta WHERE key = ?", (PORTABLE,)).get:
            raise StoreError(
                f"{path} is a portable file, which lacks what an index has",
                "search it with 'qmd --index-file FILE search'; 'qmd update' makes an index from your files",
            )
        counts = _counts(copy)
        rows = copy.execute("SELECT key, CAST(value AS BLOB) FROM meta WHERE key GLOB ?", (_NOTE + "*",))
        notes = {key.removeprefix(_NOTE): value for key, value in rows}
        names = tuple(name for (name,) in copy.execute("SELECT name FROM collections ORDER BY name"))
        return Contents(names, counts["documents"], counts["content_vectors"], notes)


def bytes_of(path: str) -> bytes:
    """Return the bytes of another database as they are between two transactions."""
    with _translated(path), closing(apsw.Connection(path, apsw.SQLITE_OPEN_READONLY)) as database:
        return database.serialize("main")


def restore(path: str, copy: str, kept: str, on_pages: OnPages, *, busy_timeout_ms: int) -> bool:
    """Replace the index at `path` by the contents of `copy`, a file that `read` has checked.

    The former index becomes the file `kept`; returns whether there was one. Waits for other writers. Raises
    `BusyError` or `StoreError` with the index unchanged.
    """
    with _opened(copy) as source, _translated(path):
        if os.path.exists(path) and os.path.getsize(path):
            # A file too damaged to be written is replaced: nothing can be reading or writing it.
            with suppress(apsw.NotADBError, apsw.CorruptError, apsw.ReadOnlyError):
                _write_over(path, source, kept, on_pages, busy_timeout_ms)
                return True
        return _put_in_place(path, source, kept, on_pages)


def _write_over(
    path: str, source: apsw.Connection, kept: str, on_pages: OnPages, busy_timeout_ms: int
) -> None:
    with closing(apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE)) as live:
        live.set_busy_timeout(busy_timeout_ms)
        _copy_pages(source, live, on_pages, lambda: _keep(path, kept))
        _forget_notes(live)
        truncate_log(live)


def _put_in_place(path: str, source: apsw.Connection, kept: str, on_pages: OnPages) -> bool:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with new_file(path) as temporary:
        with _unjournaled(temporary) as new:
            _copy_pages(source, new, on_pages)
            _forget_notes(new)
        sync_to_disk(temporary)
        there = os.path.exists(path)
        if there:
            os.link(path, kept)
        # SQLite would apply the log of the former file to the new one.
        for ending in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.replace(path + ending, kept + ending)
    sync_to_disk(os.path.dirname(path))
    return there


@contextmanager
def new_file(path: str, beside: str | None = None) -> Iterator[str]:
    """Yield the path of an empty file that only the user may read, and which replaces `path` at the end.

    If the body fails, it is deleted. If the process is killed, `cleanup` finds it by the name of `beside`.
    """
    descriptor, temporary = create_beside(beside or path)
    os.close(descriptor)
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        discard(temporary)
        raise


def discard(path: str) -> None:
    """Delete a database file that no process uses, if it exists, with its log and journal."""
    for ending in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            os.unlink(path + ending)


def _keep(path: str, kept: str) -> None:
    """Copy an index to the file `kept`, damaged or not."""
    with new_file(kept, path) as temporary:
        before = apsw.Connection(path, apsw.SQLITE_OPEN_READONLY)
        with closing(before), _unjournaled(temporary) as copy:
            _copy_pages(before, copy, lambda *_: None)
        sync_to_disk(temporary)


@contextmanager
def _unjournaled(path: str) -> Iterator[apsw.Connection]:
    """Open a new file for writing without a journal, because it is deleted if that fails."""
    with closing(apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)) as new:
        new.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
        yield new


def _copy_pages(
    source: apsw.Connection,
    into: apsw.Connection,
    on_pages: OnPages,
    when_locked: Callable[[], object] = lambda: None,
) -> None:
    with into.backup("main", source, "main") as work:
        work.step(0)  # locks out other writers, and copies nothing yet
        when_locked()
        while not work.step(_PAGES):
            on_pages(work.page_count - work.remaining, work.page_count)


def _forget_notes(db: apsw.Connection) -> None:
    db.execute("DELETE FROM meta WHERE key GLOB ?", (_NOTE + "*",))


def _counts(db: apsw.Connection) -> dict[str, int]:
    """Return the number of rows of the tables in which a copy must agree with its source."""
    parts = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in _TABLES)
    return dict(db.execute(parts))


@contextmanager
def _opened(path: str) -> Iterator[apsw.Connection]:
    """Open a copy without changing it."""
    if not os.path.isfile(path):
        raise StoreError(f"{path} is not there, or is no file", "name a file that 'qmd store backup' made")
    if not os.path.getsize(path) or not is_database(path):
        raise StoreError(f"{path} is not an index, or is damaged", "name a file that 'qmd store backup' made")
    if not belongs_to_us(path):
        raise ForeignIndexError(
            f"{path} was made by another program", "name a file that 'qmd store backup' made"
        )
    try:
        with closing(open_copy(path)) as copy:
            yield copy
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: str, reason: str) -> StoreError:
    return StoreError(f"{path} is damaged ({reason}); nothing was changed", "restore another backup")


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Translate errors about a file that is being written into `StoreError`."""
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
