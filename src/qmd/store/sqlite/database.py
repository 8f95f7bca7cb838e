"""One index file: a connection a thread, transactions, errors in our words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from qmd.errors import BusyError, StoreError
from qmd.store.sqlite.opening import Opened, open_to_read, open_to_write

#: What to do about a file that is damaged: no command but `restore` mends it.
REMAKE = (
    "restore a backup with 'qmd restore FILE', or delete it and run 'qmd index' and 'qmd embed': "
    "it is made from your files alone"
)


def state_of(db: apsw.Connection) -> tuple[apsw.Connection, object, int]:
    """A value that is another one after every commit: both counters, by this connection or another."""
    return db, db.pragma("data_version"), db.total_changes()


class Database:
    """Connections to one index file. Safe to share between threads: each gets its own connection.

    Where there is no file, it reads as an empty index; the first transaction makes it. A file that is put in
    the place of another is noticed at the next read or transaction. Raises `ForeignIndexError` for a file of
    another program or of a newer version, `StoreError` for one that cannot be opened or is damaged.
    """

    def __init__(self, path: str, *, busy_timeout_ms: int = 120_000) -> None:
        self.path = path
        self._busy_timeout_ms = busy_timeout_ms
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[apsw.Connection] = []
        with self.errors():
            self.connection()

    def connection(self) -> apsw.Connection:
        """This thread's connection, for reading; writing is done in a `transaction`."""
        opened: Opened | None = getattr(self._local, "opened", None)
        if opened is None or opened.is_stale(self.path):
            opened = self._keep(open_to_read(self.path, self._busy_timeout_ms))
        return opened.connection

    def identity(self) -> object:
        """Which index this thread reads: another one after its file was replaced, or restored from a copy."""
        connection = self.connection()
        # A restored copy counts as a change of the tables, as does a migration.
        return self._local.opened.file, connection.pragma("schema_version")

    def _writing_connection(self) -> apsw.Connection:
        opened: Opened | None = getattr(self._local, "opened", None)
        if opened is None or opened.stamp is not None or opened.is_stale(self.path):
            opened = self._keep(open_to_write(self.path, self._busy_timeout_ms))
        return opened.connection

    def _begun(self) -> apsw.Connection:
        """A connection that has its turn to write into the file that is at the path."""
        while True:
            connection = self._writing_connection()
            connection.execute("BEGIN IMMEDIATE")
            # The file may have been replaced while this waited.
            if self._local.opened.is_current(self.path):
                return connection
            connection.execute("ROLLBACK")

    def _keep(self, opened: Opened) -> Opened:
        """Make this the thread's connection; the one before closes when its last cursor goes."""
        before: Opened | None = getattr(self._local, "opened", None)
        self._local.opened = opened
        with self._lock:
            if before is not None:
                self._connections.remove(before.connection)
            self._connections.append(opened.connection)
        return opened

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """A write transaction: waits for its turn, commits at the end, rolls back on any error."""
        with self.errors():
            connection = self._begun()
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

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

    def compact(self) -> None:
        """Rewrite the file without its unused pages. Readers go on; writers wait."""
        with self.errors():
            # A connection of its own: VACUUM refuses while another statement of its connection is running,
            # and its copy of the index belongs on the disk, not in memory.
            connection = apsw.Connection(self.path, apsw.SQLITE_OPEN_READWRITE)
            try:
                connection.set_busy_timeout(self._busy_timeout_ms)
                connection.execute("VACUUM")
                # What a reader still needs stays in the log, and is taken over later.
                connection.set_busy_timeout(0)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.close()

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
                f"the disk is full: {self.path} keeps what was in it, and no more",
                "free some space and run the command again",
            ) from error
        except (apsw.CorruptError, apsw.NotADBError, apsw.NoMemError, UnicodeDecodeError) as error:
            # What SQLite does not check is read as a text that is none, or as a size beyond all memory.
            reason = "a text in it is none" if isinstance(error, UnicodeDecodeError) else str(error)
            raise StoreError(f"{self.path} is damaged ({reason}); 'qmd doctor' tells more", REMAKE) from error
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
