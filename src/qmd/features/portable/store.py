"""Portable index files: made once, then only read, also on other machines.

Such a file may come from anybody. It is opened without locks and without writing beside it, and its tables
are compared with those of this program before anything in it is used.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, TypeVar, cast

import apsw
import msgspec
from msgspec import Struct

from qmd.config.atomic import sync_to_disk
from qmd.errors import ForeignIndexError, StoreError
from qmd.store.sqlite import encryption
from qmd.store.sqlite.documents import Documents
from qmd.store.sqlite.opening import (
    HEADER,
    Opened,
    belongs_to_us,
    check_pages,
    connect,
    connect_frozen,
    is_database,
    require_known_version,
    stamp_of,
)
from qmd.store.sqlite.schema import APPLICATION_ID, PORTABLE, VERSION, migrate_to
from qmd.store.sqlite.store import SqliteStore
from qmd.store.sqlite.untrusted import harden, require_tables

_Part = TypeVar("_Part")
_CONFIG = "portable config"
#: The largest encrypted file, in bytes: SQLite keeps no larger one in memory.
_MAX_ENCRYPTED = 1 << 30
#: Errors of values that nobody would write: too large, too nested, of another form, or not there.
_UNEXPECTED = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, MemoryError)
_MADE_BY = "the command backup makes such files with --portable"

#: Tables that are too large to check before each search. A wrong value in them is an error when it is read.
_UNCHECKED = {"contents", "content_vectors", "vectors_vec", "token_frequencies", "common_terms", "structures"}


class PortableHead(Struct, frozen=True):
    """The description of a portable file in itself.

    Attributes:
        created: When it was made, ISO 8601.
        texts: Whether it contains the texts of documents.
        embedder: The name of the model that made the vectors; "" if there are none.
        fingerprint: The fingerprint of that model; "" if there are none.
    """

    created: str
    texts: bool
    embedder: str = ""
    fingerprint: str = ""


def seal(path: str, mark: PortableHead, config: str, scans: Mapping[str, str | None]) -> None:
    """Make a new index file portable: remove data about this machine, and rewrite it without a journal.

    Args:
        path: An index file that no process uses.
        mark: The description of the file in itself. Without `texts`, they are removed.
        config: The configuration of its collections, as YAML.
        scans: The time of the last scan of each collection.

    Raises `StoreError` if the result is damaged.
    """
    with closing(apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE)) as db:
        with db:
            # Inodes and digests of folders concern this machine; cached answers tell what was searched for.
            db.execute("UPDATE documents SET inode = 0; DELETE FROM llm_cache; DELETE FROM leases")
            db.execute("UPDATE collections SET root = NULL")
            db.executemany("UPDATE collections SET updated_at = ?2 WHERE name = ?1", scans.items())
            if not mark.texts:
                db.execute("UPDATE contents SET text = ''; DELETE FROM structures")
            db.execute("DELETE FROM meta WHERE key GLOB 'config*'")
            values = ((PORTABLE, msgspec.json.encode(mark).decode()), (_CONFIG, config))
            db.executemany("INSERT INTO meta VALUES (?, ?)", values)
            db.execute("INSERT INTO documents_fts(documents_fts) VALUES ('optimize')")
        db.execute("PRAGMA journal_mode=DELETE").fetchall()
        # VACUUM leaves nothing of the removed texts in the file.
        db.execute("VACUUM")
        result = check_pages(db, "quick_check")
    if result != "ok":
        raise StoreError(f"the copy of the index is damaged, and was not kept ({result})", "run 'qmd doctor'")
    sync_to_disk(path)


class _Checked:
    """A part of a store that reports whatever an unchecked value breaks as damage to the file."""

    def __init__(self, part: object, path: str) -> None:
        self._part = part
        self._path = path

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._part, name)
        return partial(self._call, member) if callable(member) else member

    def _call(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        with _translated(self._path):
            result = method(*args, **options)
            return iter(list(result)) if isinstance(result, Iterator) else result


class _PortableDocuments(Documents):
    """Documents whose texts may be of another type, because nobody has checked them."""

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        texts = super().texts(ids)
        if not all(isinstance(text, str) for text in texts.values()):
            raise _damaged(self._database.path, "a text is of the wrong type")
        return texts


class PortableStore(SqliteStore):
    """A portable index file, which is never written.

    Args:
        path: The file, encrypted or not.
        key: Returns the key of the file; called only if it is encrypted.

    Raises:
        ForeignIndexError: If the file is no index, or a newer version made it.
        StoreError: If the file is missing, damaged, not portable, or cannot be decrypted.
    """

    def __init__(self, path: str, key: Callable[[str], encryption.EncryptionKey] = encryption.no_key) -> None:
        self._memory: apsw.Connection | None = None
        self._path = path
        self._stamp = stamp_of(path)
        _require_file(path)
        with _translated(path):
            if encryption.is_encrypted(path):
                if os.path.getsize(path) > _MAX_ENCRYPTED:
                    raise StoreError(f"{path} is larger than 1 GB and encrypted", "decrypt it with age")
                self._keep_in_memory(encryption.decrypt(path, key(path)))
            elif not belongs_to_us(path):
                raise _no_index(path)
            with closing(self._connect()) as db:
                version = require_known_version(db, path)
                if int(db.pragma("application_id")) != APPLICATION_ID:
                    raise _no_index(path)
                if version and version < VERSION:
                    require_tables(db, path, _MADE_BY)
                    self._keep_in_memory(db.serialize("main"), upgrade=True)
            with closing(self._connect()) as db:
                self.mark, self.config_text = _check(db, path)
        super().__init__(path, opener=self._open)
        self.documents = self._part(_PortableDocuments(self._database))

    def _part(self, part: _Part) -> _Part:
        return cast("_Part", _Checked(part, self._path))

    def close(self) -> None:
        super().close()
        if self._memory is not None:
            self._memory.close()

    def _open(self, path: str, busy_timeout_ms: int) -> Opened:
        """Return a connection to the file that was checked."""
        if stamp_of(path) != self._stamp:
            raise StoreError(f"{path} has changed since it was opened", "run the command again")
        return Opened(self._connect(), None, self._stamp)

    def _connect(self) -> apsw.Connection:
        if self._memory is None:
            db = connect_frozen(self._path)
        else:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            db = connect(f"file:{self._name}?vfs=memdb", flags, 0)
        try:
            harden(db)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            db.execute("PRAGMA query_only=ON").fetchall()
        except BaseException:
            db.close()
            raise
        return db

    def _keep_in_memory(self, data: bytes, *, upgrade: bool = False) -> None:
        """Keep a database in memory, for all connections of this process."""
        if not data.startswith(HEADER):
            raise _no_index(self._path)
        self._name = f"/qmd-{secrets.token_hex(8)}"
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        self._memory = apsw.Connection(f"file:{self._name}?vfs=memdb", flags)
        with closing(apsw.Connection(":memory:")) as source:
            source.deserialize("main", data)
            with self._memory.backup("main", source, "main") as work:
                work.step(-1)
        if upgrade:
            migrate_to(self._memory, VERSION)


def _require_file(path: str) -> None:
    """Raise `StoreError` unless the path is a regular file: opening a pipe would wait for a writer."""
    try:
        state = os.stat(path)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(state.st_mode):
        raise StoreError(f"{path} is not a file", "name a file that 'qmd store backup --portable' made")
    if not state.st_size:
        raise ForeignIndexError(f"{path} is empty", _MADE_BY)


def _check(db: apsw.Connection, path: str) -> tuple[PortableHead, str]:
    """Check the tables and small values of a file; return its mark and its configuration."""
    version = int(db.pragma("user_version"))
    if version != VERSION:
        raise StoreError(f"{path} has the format {version}, which cannot be portable", _MADE_BY)
    require_tables(db, path, _MADE_BY)
    values = dict(db.execute("SELECT key, value FROM meta WHERE key IN (?, ?)", (PORTABLE, _CONFIG)))
    if values.keys() != {PORTABLE, _CONFIG}:
        raise StoreError(f"{path} is an index, but not a portable one", _MADE_BY)
    for table in _tables(db):
        if table not in _UNCHECKED:
            _require_types(db, path, table)
    if db.execute("SELECT 1 FROM collections WHERE root IS NOT NULL LIMIT 1").get:
        raise _damaged(path, "a collection has a folder")
    # An index covers the hashes, so the texts need not be read.
    if db.execute("SELECT 1 FROM contents WHERE typeof(hash) <> 'text' LIMIT 1").get:
        raise _damaged(path, "a text has no hash")
    if db.execute(
        "SELECT 1 FROM (SELECT '/' || path || '/' AS path FROM documents) WHERE instr(path, '//') "
        "OR instr(path, '/../') OR instr(path, '/./') OR instr(path, char(0)) LIMIT 1"
    ).get:
        raise _damaged(path, "a document has a path outside its collection")
    try:
        mark = msgspec.json.decode(values[PORTABLE], type=PortableHead)
    except _UNEXPECTED as error:
        raise _damaged(path, "its description cannot be read") from error
    return mark, values[_CONFIG]


def _tables(db: apsw.Connection) -> list[str]:
    """Return the ordinary tables of an index that this program reads."""
    rows = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'")
    return [name for (name,) in rows if not re.match("documents_fts|sqlite_", name)]


def _require_types(db: apsw.Connection, path: str, table: str) -> None:
    """Raise `StoreError` if a value in a table has another type than its column.

    SQLite accepts values of any type in any column, and code that expects a text would fail with a number.
    """
    wrong = []
    for _, column, kind, required, *_ in db.execute(f"PRAGMA table_info({table})"):
        types = {"TEXT": "text", "INTEGER": "integer", "BLOB": "blob"}.get(kind)
        allowed = [types] if types else ["integer", "real", "text"]
        # The columns of primary keys are not marked as required.
        allowed += [] if required or kind != "TEXT" else ["null"]
        wrong.append(f"typeof({column}) NOT IN ({', '.join(map(repr, allowed))})")
    if db.execute(f"SELECT 1 FROM {table} WHERE {' OR '.join(wrong)} LIMIT 1").get:
        raise _damaged(path, f"the table {table} has a value of the wrong type")


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except (apsw.Error, *_UNEXPECTED) as error:
        raise _damaged(path, str(error)) from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error


def _damaged(path: str, reason: str) -> StoreError:
    return StoreError(f"{path} is damaged: {reason}", "get another copy of the file")


def _no_index(path: str) -> ForeignIndexError:
    kind = "was made by another program" if is_database(path) else "is not an index file"
    return ForeignIndexError(f"{path} {kind}", _MADE_BY)
