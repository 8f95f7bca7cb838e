"""Opening an index file: reading creates nothing, and writing creates a missing file."""

# os.path throughout: importing pathlib would cost every command some milliseconds.

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Literal, TypeAlias

import apsw
from msgspec import Struct

from qmd.config.paths import PROJECT_FOLDER, cache_dir
from qmd.errors import BusyError, ConfigError, ForeignIndexError, OutdatedError, StoreError
from qmd.store.sqlite.schema import (
    APPLICATION_ID,
    FIRST_VERSION,
    READABLE_FROM,
    VERSION,
    allow_writing,
    migrate_to,
)

#: The beginning of every file of SQLite.
HEADER = b"SQLite format 3\x00"
#: With a cache of 8 MB in place of 2, searches of 100,000 documents take a tenth less time. With 64 MB, which
#: each thread of a server would hold, they take another twentieth less.
_PRAGMAS = (
    "PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8000"
)

#: Size, time and inode of the file and of its write-ahead log; zeros for a missing file.
Stamp: TypeAlias = tuple[tuple[int, int, int], tuple[int, int, int]]


class Opened(Struct, frozen=True):
    """A connection to the file with this device and inode, or to an empty index if there was no file.

    `stamp` is the state of the file if the connection cannot see changes itself.
    """

    connection: apsw.Connection
    file: tuple[int, int] | None
    stamp: Stamp | None = None

    def is_stale(self, path: str) -> bool:
        """True if the file has changed unseen. In a transaction it counts as unchanged."""
        if self.connection.in_transaction:
            return False
        return not self.is_current(path) if self.stamp is None else self.stamp != stamp_of(path)

    def is_current(self, path: str) -> bool:
        """True if this is still the file at the path."""
        return self.file == file_at(path)


def belongs_to_us(path: str) -> bool:
    """Return whether a file is missing, empty, or an index of this program, so that it is safe to open."""
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    if not header:
        return True
    return header.startswith(HEADER) and int.from_bytes(header[68:72], "big") == APPLICATION_ID


def is_database(path: str) -> bool:
    """Return whether a file is a SQLite database of any program."""
    try:
        with open(path, "rb") as file:
            return file.read(len(HEADER)) == HEADER
    except OSError:
        return False


def check_pages(db: apsw.Connection, pragma: Literal["quick_check", "integrity_check"]) -> str:
    """Return "ok", or the first fault that SQLite finds."""
    return "; ".join(str(fault) for (fault,) in db.execute(f"PRAGMA {pragma}(1)"))


def probe() -> str:
    """Return SQLite's version. Raises `StoreError` if this SQLite is too old or too small for an index."""
    version = f"SQLite {apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"
    try:
        _blank().close()
    except apsw.Error as error:
        raise StoreError(f"{version} cannot hold an index: {error}", "run 'pip install -U apsw'") from error
    return version


def open_to_read(path: str, busy_timeout_ms: int) -> Opened:
    """Open the index file, or an empty index in memory if there is none.

    A file of an older version is upgraded. While a process of an older version holds it, it is read as it is;
    if that cannot be, `BusyError` is raised. Raises `ForeignIndexError` for a file of another program or of a
    newer version.
    """
    stamp = stamp_of(path)
    if not stamp[0][0]:
        return Opened(_blank(), None, stamp)
    _refuse_foreign(path)
    opened = _existing(path, stamp, busy_timeout_ms)
    version = require_known_version(opened.connection, path)
    if version == 0:
        # Another process is creating it.
        opened.connection.close()
        return Opened(_blank(), None, stamp)
    if version < VERSION:
        if opened.stamp is not None:
            opened.connection.close()
            raise StoreError(
                f"{path} was written by an older qmd, and may not be written to bring it up to date",
                "run 'qmd status' once as a user who may write it and its folder",
            )
        try:
            _migrate(opened.connection, path, busy_timeout_ms)
        except BusyError:
            if version < READABLE_FROM:
                opened.connection.close()
                raise
    return opened


def open_to_write(path: str, busy_timeout_ms: int) -> Opened:
    """Open the index file, and create it with its folder if it is missing. Errors: see `open_to_read`."""
    _refuse_foreign(path)
    # Read before opening: if the file is replaced in between, the next check notices.
    file = file_at(path)
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder of {path}: {error.strerror}") from error
    # It has the texts of documents. SQLite gives the files beside it the same permissions.
    with suppress(OSError):  # it is there, or SQLite says why it cannot be made
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, busy_timeout_ms)
    if require_known_version(connection, path) < VERSION:
        try:
            _migrate(connection, path, busy_timeout_ms)
        except BusyError:
            connection.close()
            raise
    return Opened(connection, file or file_at(path))


def file_at(path: str) -> tuple[int, int] | None:
    """Return the device and inode of the file at a path, or None if there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino


def stamp_of(path: str) -> Stamp:
    return _state(path), _state(path + "-wal")


def _state(path: str) -> tuple[int, int, int]:
    try:
        state = os.stat(path)
    except OSError:
        return 0, 0, 0
    return state.st_size, state.st_mtime_ns, state.st_ino


def _existing(path: str, stamp: Stamp, busy_timeout_ms: int) -> Opened:
    # Readers of a write-ahead log keep small files beside it. A user who may not write the index could create
    # them but not delete them, and a read-only folder or a full disk does not take them.
    if os.access(path, os.W_OK) or stamp[1][0]:
        file = file_at(path)
        with suppress(apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
            connection = connect(path, apsw.SQLITE_OPEN_READWRITE, busy_timeout_ms)
            connection.pragma("user_version")
            return Opened(connection, file)
    return _frozen(path, stamp)


def _refuse_foreign(path: str) -> None:
    if belongs_to_us(path):
        return
    if not is_database(path):
        raise ForeignIndexError(
            f"{path} was made by another program, or is damaged at its beginning, and is left alone",
            "name another index with --index NAME; if it was one, restore a backup with "
            "'qmd store restore --force FILE', or move it away and run 'qmd index'",
        )
    raise ForeignIndexError(
        f"{path} was made by another program, and is left alone",
        "name another index with --index NAME, or move that file away",
    )


def connect(name: str, flags: int, busy_timeout_ms: int) -> apsw.Connection:
    connection = apsw.Connection(name, flags)
    connection.set_busy_timeout(busy_timeout_ms)
    if _is_in_project(name):
        from qmd.store.sqlite.untrusted import harden

        harden(connection)
    allow_writing(connection)
    connection.execute(_PRAGMAS)
    return connection


def _is_in_project(path: str) -> bool:
    """Return whether a file may have come with the files of a project, from anybody."""
    return os.path.basename(os.path.dirname(path)) == PROJECT_FOLDER


def _blank() -> apsw.Connection:
    """Return an empty index in memory."""
    connection = connect(":memory:", apsw.SQLITE_OPEN_READWRITE, 0)
    _bring_up_to_date(connection)
    connection.execute("PRAGMA query_only=ON")
    return connection


def open_copy(path: str) -> apsw.Connection:
    """Open a file without locks, because no process writes it. Creates and changes nothing.

    Raises `StoreError` if it has a write-ahead log, `ForeignIndexError` if a newer version wrote it.
    """
    connection = _frozen(path, stamp_of(path)).connection
    try:
        require_known_version(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _frozen(path: str, stamp: Stamp) -> Opened:
    """Open a file without locks, for folders and disks that cannot be written."""
    if stamp[1][0]:
        raise StoreError(
            f"{path} has changes in {path}-wal that can only be read where the folder can be written",
            "run 'qmd status' once as a user who may write there, or copy both files to another folder",
        )
    return Opened(connect_frozen(path), file_at(path), stamp)


def connect_frozen(path: str) -> apsw.Connection:
    """Open a file that does not change, without locks and without looking for a journal beside it."""
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return connect(f"file:{escaped}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, 0)


def require_known_version(connection: apsw.Connection, path: str) -> int:
    """Return the version of a file's tables.

    Raises `ForeignIndexError` if a newer program made them, and `StoreError` if they are of a version before
    1.0.0, or if a project's file has others.
    """
    version = int(connection.pragma("user_version"))
    if version > VERSION:
        raise OutdatedError(
            f"{path} was written by a newer qmd (format {version}; this one knows {VERSION})",
            "upgrade qmd-python, or name another index with --index NAME",
        )
    if version and version < FIRST_VERSION:
        raise StoreError(
            f"{path} was written by a qmd before 1.0.0 (format {version}), and cannot be brought up to date",
            "move it away, and make it again with this version: an index is made from your files alone",
        )
    if _is_in_project(path):
        from qmd.store.sqlite.untrusted import require_tables

        require_tables(connection, path, "delete it, and run 'qmd index': it came with the project's files")
    return version


def older_holder(path: str) -> str | None:
    """Return the process of an older version that holds an index and writes it; None if there is none."""
    from qmd.config.holders import older

    try:
        cache = cache_dir(os.environ)
    except ConfigError:  # there is no home folder, so no server has advertised itself there
        cache = None
    return older(cache, path, VERSION)


def outdated(connection: apsw.Connection, name: str = "") -> tuple[str, str] | None:
    """Return the problem, with a hint, if a file has an older format; None if it is up to date."""
    if connection.pragma("user_version") == VERSION:
        return None
    path = connection.filename
    return still_held(name or path, older_holder(path) or "it has just ended")


def still_held(path: str, holder: str) -> tuple[str, str]:
    """Return the problem if a process of an older version holds an index, with a hint."""
    return (
        f"{path} has the format of an older qmd, which is still running and writes it: {holder}",
        "stop that process, or restart its service; the next command then brings the index up to date",
    )


def _migrate(connection: apsw.Connection, path: str, busy_timeout_ms: int) -> None:
    if connection.pragma("user_version") and (holder := older_holder(path)) is not None:
        raise BusyError(*still_held(path, holder))
    # The first write, so that no other process sees a file of this program without its mark.
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    _write_ahead(connection, busy_timeout_ms)
    _bring_up_to_date(connection)


def _write_ahead(connection: apsw.Connection, busy_timeout_ms: int) -> None:
    """Switch to the write-ahead log. SQLite itself does not wait for other processes here."""
    due = time.monotonic() + busy_timeout_ms / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except apsw.BusyError:
            if time.monotonic() >= due:
                raise
            time.sleep(0.01)


def _bring_up_to_date(connection: apsw.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have upgraded the file while this one waited.
        migrate_to(connection, VERSION)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
