"""One index file: opening it safely, a connection a thread, transactions."""

from __future__ import annotations

# os.path throughout: importing pathlib would cost every command some milliseconds.
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from qmd.errors import BusyError, ForeignIndexError, StoreError
from qmd.store.sqlite.schema import APPLICATION_ID, MIGRATIONS, VERSION

_HEADER = b"SQLite format 3\x00"


def belongs_to_us(path: str) -> bool:
    """Whether a file is absent, empty, or an index of ours: safe to open."""
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    if not header:
        return True
    return header.startswith(_HEADER) and int.from_bytes(header[68:72], "big") == APPLICATION_ID


class Database:
    """Connections to one index file. Safe to share between threads: each gets its own connection.

    Raises `ForeignIndexError` for a file of another program or of a newer version, `StoreError` for one that
    cannot be opened or is damaged.
    """

    def __init__(self, path: str, *, busy_timeout_ms: int = 120_000) -> None:
        self.path = path
        self._busy_timeout_ms = busy_timeout_ms
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[apsw.Connection] = []
        if not belongs_to_us(path):
            raise ForeignIndexError(
                f"{path} was made by another program, and is left alone",
                "name another index with --index NAME, or move that file away",
            )
        try:
            os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the folder of {path}: {error.strerror}") from error
        with self.errors():
            self._migrate()

    def connection(self) -> apsw.Connection:
        """This thread's connection."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = apsw.Connection(self.path)
            connection.set_busy_timeout(self._busy_timeout_ms)
            connection.execute("PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY")
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """A write transaction: waits for its turn, commits at the end, rolls back on any error."""
        with self.errors():
            connection = self.connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """Several reads that see one state of the index."""
        with self.errors():
            connection = self.connection()
            nested = connection.in_transaction
            if nested:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate SQLite's errors into ours."""
        try:
            yield
        except apsw.BusyError as error:
            raise BusyError(
                f"{self.path} is being written by another process",
                "wait for it to end, or raise QMD_SQLITE_BUSY_TIMEOUT (milliseconds)",
            ) from error
        except apsw.FullError as error:
            raise StoreError(
                f"the disk is full: {self.path} was left as it was",
                "free some space and run the command again",
            ) from error
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise StoreError(
                f"{self.path} is damaged ({error})",
                "delete it and run 'qmd index' and 'qmd embed': it is made from your files alone",
            ) from error
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError) as error:
            raise StoreError(
                f"cannot use {self.path}: {error}", "check the folder's permissions and free space"
            ) from error

    def close(self) -> None:
        """Close every connection; the object cannot be used afterwards."""
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            connection.close(True)
        self._local = threading.local()

    def _migrate(self) -> None:
        connection = self.connection()
        version = _version(connection)
        if version == VERSION:
            return
        if version > VERSION:
            raise ForeignIndexError(
                f"{self.path} was written by a newer qmd (format {version}; this one knows {VERSION})",
                "upgrade qmd-python, or name another index with --index NAME",
            )
        # The very first write, so that no other process ever meets a file of ours without our mark.
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        self._write_ahead(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have done it while this one waited.
            for step in range(_version(connection), VERSION):
                MIGRATIONS[step](connection)
            connection.execute(f"PRAGMA user_version={VERSION}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _write_ahead(self, connection: apsw.Connection) -> None:
        """Switch to the write-ahead log. SQLite does not wait here for other processes, so this does."""
        due = time.monotonic() + self._busy_timeout_ms / 1000
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except apsw.BusyError:
                if time.monotonic() >= due:
                    raise
                time.sleep(0.01)


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))
