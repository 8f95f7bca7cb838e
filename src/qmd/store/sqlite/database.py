"""The connections to an index file, with transactions and errors translated for users."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import apsw
from msgspec.json import encode

from qmd.errors import BusyError, ForbiddenError, NotEnoughMemoryError, OutdatedError, StoreError
from qmd.store.sqlite.opening import Opened, open_to_read, open_to_write
from qmd.store.sqlite.schema import VERSION

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from qmd.types.structure import Structure

#: The hint for a damaged file. Only `restore` or a new index repairs it.
REMAKE = (
    "restore a backup with 'qmd store restore FILE', or delete it and run 'qmd index' and 'qmd embed': "
    "the index is made from your files alone"
)

#: The most results that each thread keeps.
_COMPUTED = 32
#: Opens a file for reading; called with its path and the busy timeout.
Opener: TypeAlias = Callable[[str, int], Opened]

#: A list of values, bound as a JSON array.
LISTED = "(SELECT value FROM json_each(?))"
#: The id of the embedder with a fingerprint.
EMBEDDER = "(SELECT id FROM embedders WHERE fingerprint = ?)"


def listed(values: Iterable[int | str]) -> str:
    """Return values as the JSON array that `LISTED` and `json_each` read."""
    return encode([*values]).decode()


def truncate_log(db: apsw.Connection) -> None:
    """Empty the write-ahead log. Pages that a reader still needs stay in it until a later checkpoint."""
    db.set_busy_timeout(0)
    with suppress(apsw.BusyError):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class _Snapshot:
    """What was read in a snapshot: the version of the index, and structures by document."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.version: object = None
        self.structures: dict[int, Structure] = {}


class _Reading(threading.local):
    """The snapshot that each thread reads."""

    snapshot: _Snapshot | None = None


_READING = _Reading()


def _snapshot_of(db: apsw.Connection) -> _Snapshot | None:
    snapshot = _READING.snapshot
    return snapshot if snapshot is not None and snapshot.connection is db else None


def _version(db: apsw.Connection) -> object:
    """Return what changes with every commit of others that a connection sees."""
    snapshot = _snapshot_of(db)
    if snapshot is None:
        return db.pragma("data_version")
    if snapshot.version is None:
        snapshot.version = db.pragma("data_version")
    return snapshot.version


class Cache(threading.local):
    """Values that each thread has computed from the index: at most `most`, until the index changes."""

    def __init__(self, most: int = 1_000) -> None:
        self._most = most
        self._state: object = None
        self._values: dict[Any, Any] = {}

    def of(self, db: apsw.Connection) -> dict[Any, Any]:
        """Return the values by key for the present state of the index."""
        # Changes with every commit, by this connection or another.
        state = (db, _version(db), db.total_changes())
        if state != self._state or len(self._values) >= self._most:
            self._state, self._values = state, {}
        return self._values


class SqlitePart:
    """A part of the store: rows of some tables of an index file."""

    def __init__(self, database: Database) -> None:
        self._database = database


class _OfThread(threading.local):
    """The state of each thread."""

    opened: Opened | None = None
    #: Counts transactions; those that fail count twice.
    number = 0
    #: The rest of the transaction, if it is left to another thread.
    rest: Callable[[], None] | None = None
    #: The last transaction, if another thread ends it.
    ending: Future[None] | None = None


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
        self._local = _OfThread()
        self._lock = threading.Lock()
        self._connections: list[apsw.Connection] = []
        self._executor: Executor | None = None
        self._computed = Cache(_COMPUTED)
        with self.errors():
            self.connection()

    def connection(self) -> apsw.Connection:
        """Return the connection of this thread, for reading. Use `transaction` to write."""
        return self._opened().connection

    def _opened(self) -> Opened:
        self._wait()
        opened = self._local.opened
        if opened is None or opened.is_stale(self.path):
            opened = self._keep((self._opener or open_to_read)(self.path, self._busy_timeout_ms))
        return opened

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Run a query and return its rows while they are read."""
        with self.errors():
            yield from self.connection().execute(query, values)

    def row(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        """Return the first row of a query, or None."""
        return next(self.rows(query, values), None)

    def value(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        """Return the first value of the first row of a query, or None."""
        return (self.row(query, values) or (None,))[0]

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        """Run a statement inside the transaction of this thread."""
        self.connection().execute(statement, values)

    def computed(self) -> dict[Any, Any]:
        """Return what this thread has computed from the index, by key, until the index changes."""
        with self.errors():
            return self._computed.of(self.connection())

    def once(self, query: str) -> list[Any]:
        """Return the rows of a query without values; in snapshots it is run once until the index changes."""
        if _snapshot_of(self.connection()) is None:  # what a transaction changes may be rolled back
            return [*self.rows(query)]
        computed = self.computed()
        if query not in computed:
            computed[query] = [*self.rows(query)]
        return cast("list[Any]", computed[query])

    def structures(self) -> dict[int, Structure]:
        """Return the structures that were read in this snapshot, by document; none outside of one."""
        snapshot = _snapshot_of(self.connection())
        return {} if snapshot is None else snapshot.structures

    def identity(self) -> object:
        """Return a value that changes if the file is replaced, or restored from a backup."""
        opened = self._opened()
        # Restoring a backup changes the schema version, as does a migration.
        return opened.file, opened.connection.pragma("schema_version")

    def _opened_to_write(self) -> Opened:
        if self._opener is not None:
            raise ForbiddenError(f"{self.path} is only read")
        self._wait()
        opened = self._local.opened
        if opened is None or opened.stamp is not None or opened.is_stale(self.path):
            opened = self._keep(open_to_write(self.path, self._busy_timeout_ms))
        return opened

    def _begin(self) -> apsw.Connection:
        """Return a connection with a write transaction on the current file at the path.

        Raises `OutdatedError` if a newer version has changed the format of the file since it was opened.
        """
        while True:
            opened = self._opened_to_write()
            opened.connection.execute("BEGIN IMMEDIATE")
            # The file may have been replaced, or got another format, while this waited.
            version = int(opened.connection.pragma("user_version"))
            if version == VERSION and opened.is_current(self.path):
                self._local.number += 1
                return opened.connection
            opened.connection.execute("ROLLBACK")
            if version > VERSION:
                raise OutdatedError(
                    f"a newer qmd has brought {self.path} up to date while this process had it open",
                    "start this program again, so that it is of the version that is installed now",
                )
            if version != VERSION:  # it could only be read as it is
                self._keep(open_to_write(self.path, self._busy_timeout_ms))

    def _keep(self, opened: Opened) -> Opened:
        """Make this the thread's connection. The former one closes with its last cursor."""
        before, self._local.opened = self._local.opened, opened
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
                rest, self._local.rest = self._local.rest, None
                if rest is None:
                    connection.execute("COMMIT")
                else:
                    self._local.ending = self._ender().submit(self._end, connection, rest)
            except BaseException:
                self._local.number += 1
                self._local.rest = None
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def point(self) -> tuple[apsw.Connection, object, int]:
        """Return the place of this thread's transaction among all.

        That of the next one differs by 1 in the number, and in nothing else if nobody has written in between.
        """
        connection = self.connection()
        return connection, connection.pragma("data_version"), self._local.number

    def end_later(self, work: Callable[[], None]) -> None:
        """Let another thread end the transaction of this one: do some work, and commit.

        It begins after the block of the transaction. This thread's next use of the connection waits for it,
        and raises its error. SQLite does not need the interpreter while it computes, so both threads run at
        the same time if the work is few statements that take long.
        """
        self._local.rest = work

    def _ender(self) -> Executor:
        with self._lock:
            if self._executor is None:
                from concurrent.futures import ThreadPoolExecutor  # only an index of many files needs it

                self._executor = ThreadPoolExecutor(1, "qmd-commit")
            return self._executor

    def _end(self, connection: apsw.Connection, work: Callable[[], None]) -> None:
        with self.errors():
            try:
                work()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _wait(self) -> None:
        """Wait until this thread's last transaction has ended."""
        ending = self._local.ending
        if ending is None:
            return
        error = ending.exception()  # if this is interrupted, the next call waits again
        self._local.ending = None
        if error is not None:
            self._local.number += 1
            raise error

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
            before, _READING.snapshot = _READING.snapshot, _Snapshot(connection)
            try:
                yield connection
            finally:
                _READING.snapshot = before
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def compact(self) -> None:
        """Rewrite the file without unused pages. Readers continue; writers wait."""
        # A separate connection: VACUUM fails if another statement of its connection is running, and its copy
        # of the index must be on the disk, not in memory.
        with self.errors(), closing(apsw.Connection(self.path, apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(self._busy_timeout_ms)
            connection.execute("VACUUM")
            truncate_log(connection)

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
        except apsw.NoMemError as error:
            # SQLite does not check values: damaged bytes may also be read as a huge size.
            raise NotEnoughMemoryError(
                f"there is not enough memory to read {self.path}",
                f"{NotEnoughMemoryError.HINT}; if there is enough, run 'qmd doctor'",
            ) from error
        except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
            # Nor that texts are UTF-8.
            is_text = isinstance(error, UnicodeDecodeError)
            reason = "a document contains invalid UTF-8" if is_text else str(error)
            if self._opener is None:
                reason, hint = f"{reason}. Run 'qmd doctor' for details", REMAKE
            else:
                hint = "get another copy of the file"
            raise StoreError(f"{self.path} is damaged: {reason}", hint) from error
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError) as error:
            raise StoreError(
                f"cannot use {self.path}: {error}", "check the permissions and the free space of the folder"
            ) from error

    def close(self) -> None:
        """Close all connections. The store cannot be used afterwards."""
        if self._executor is not None:
            self._executor.shutdown()
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            connection.close(True)
        self._local = _OfThread()
