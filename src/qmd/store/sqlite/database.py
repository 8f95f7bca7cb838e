"""The connections to an index file, with transactions and errors translated for users."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeAlias

import apsw

from qmd.errors import BusyError, ForbiddenError, StoreError
from qmd.store.sqlite.opening import Opened, open_to_read, open_to_write

#: The hint for a damaged file. Only `restore` or a new index repairs it.
REMAKE = (
    "restore a backup with 'qmd restore FILE', or delete it and run 'qmd index' and 'qmd embed': "
    "the index is made from your files alone"
)

#: Opens a file for reading; called with its path and the busy timeout.
Opener: TypeAlias = Callable[[str, int], Opened]

#: A list of values, bound as a JSON array.
LISTED = "(SELECT value FROM json_each(?))"
#: The id of the embedder with a fingerprint.
EMBEDDER = "(SELECT id FROM embedders WHERE fingerprint = ?)"


def state_of(db: apsw.Connection) -> tuple[apsw.Connection, object, int]:
    """Return a value that changes with every commit, by this connection or another."""
    return db, db.pragma("data_version"), db.total_changes()


class Database:
    """Connections to one index file, one for each thread. Safe to share between threads.

    A missing file reads as an empty index, and the first transaction creates it. If the file is replaced by
    another, the next read or transaction uses the new one. With an `opener` of its own a file is only read.

    Raises:
        ForeignIndexError: If another program or a newer version wrote the file.
        StoreError: If the file cannot be opened or is damaged.
    """

    def __init__(self, path: str, *, busy_timeout_ms: int = 120_000, opener: Opener | None = None) -> None:
        self.path = path
        self._opener = opener
        self._busy_timeout_ms = busy_timeout_ms
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[apsw.Connection] = []
        with self.errors():
            self.connection()

    def connection(self) -> apsw.Connection:
        """Return the connection of this thread, for reading. Use `transaction` to write."""
        opened: Opened | None = getattr(self._local, "opened", None)
        if opened is None or opened.is_stale(self.path):
            opened = self._keep((self._opener or open_to_read)(self.path, self._busy_timeout_ms))
        return opened.connection

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Run a query and return its rows while they are read."""
        with self.errors():
            yield from self.connection().execute(query, values)

    def row(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        """Return the first row of a query, or None."""
        return next(self.rows(query, values), None)

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        """Run a statement inside the transaction of this thread."""
        self.connection().execute(statement, values)

    def identity(self) -> object:
        """Return a value that changes if the file is replaced, or restored from a backup."""
        connection = self.connection()
        # Restoring a backup changes the schema version, as does a migration.
        return self._local.opened.file, connection.pragma("schema_version")

    def _writing_connection(self) -> apsw.Connection:
        if self._opener is not None:
            raise ForbiddenError(f"{self.path} is only read")
        opened: Opened | None = getattr(self._local, "opened", None)
        if opened is None or opened.stamp is not None or opened.is_stale(self.path):
            opened = self._keep(open_to_write(self.path, self._busy_timeout_ms))
        return opened.connection

    def _begin(self) -> apsw.Connection:
        """Return a connection with a write transaction on the current file at the path."""
        while True:
            connection = self._writing_connection()
            connection.execute("BEGIN IMMEDIATE")
            # The file may have been replaced while this waited.
            if self._local.opened.is_current(self.path):
                return connection
            connection.execute("ROLLBACK")

    def _keep(self, opened: Opened) -> Opened:
        """Make this the thread's connection. The former one closes with its last cursor."""
        before: Opened | None = getattr(self._local, "opened", None)
        self._local.opened = opened
        with self._lock:
            if before is not None:
                self._connections.remove(before.connection)
            self._connections.append(opened.connection)
        return opened

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Run a write transaction. It waits for other writers, and rolls back on any error."""
        with self.errors():
            connection = self._begin()
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """Run several reads on the same state of the index."""
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
        """Rewrite the file without unused pages. Readers continue; writers wait."""
        # A separate connection: VACUUM fails if another statement of its connection is running, and its copy
        # of the index must be on the disk, not in memory.
        with self.errors(), closing(apsw.Connection(self.path, apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(self._busy_timeout_ms)
            connection.execute("VACUUM")
            # Pages that a reader still needs stay in the log until a later checkpoint.
            connection.set_busy_timeout(0)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of SQLite into `StoreError`."""
        try:
            yield
        except apsw.BusyError as error:
            raise BusyError(
                f"{self.path} is being written by another process",
                "wait for it to end, or increase QMD_SQLITE_BUSY_TIMEOUT (milliseconds)",
            ) from error
        except apsw.FullError as error:
            raise StoreError(
                f"the disk is full: the last change was not saved to {self.path}",
                "free some space and run the command again",
            ) from error
        except (apsw.CorruptError, apsw.NotADBError, apsw.NoMemError, UnicodeDecodeError) as error:
            # SQLite does not check values: damaged bytes are read as invalid UTF-8, or as a huge size.
            is_text = isinstance(error, UnicodeDecodeError)
            reason = "a document contains invalid UTF-8" if is_text else str(error)
            if self._opener is not None:
                raise StoreError(
                    f"{self.path} is damaged: {reason}", "get another copy of the file"
                ) from error
            raise StoreError(
                f"{self.path} is damaged: {reason}. Run 'qmd doctor' for details", REMAKE
            ) from error
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError) as error:
            raise StoreError(
                f"cannot use {self.path}: {error}", "check the permissions and the free space of the folder"
            ) from error

    def close(self) -> None:
        """Close all connections. The store cannot be used afterwards."""
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            connection.close(True)
        self._local = threading.local()
