"""Index files that may come from anybody: portable files, and those in a project.

The program that made a file decides what SQLite does with it: a view or a trigger runs at each use of its
table. So the tables are compared with those of this program before anything in the file is used; see also
https://sqlite.org/security.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache

import apsw

from qmd.errors import StoreError
from qmd.store.sqlite.schema import migrate_to

#: The largest value that a file may contain, in bytes.
_MAX_VALUE = 256 << 20
#: Steps of SQLite's machine that opening a file may take. Reading the list of tables takes some thousand.
_MAX_STEPS = 1_000_000


def harden(db: apsw.Connection) -> None:
    """Limit the effects of a file's content on SQLite."""
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    db.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
    with bounded(db):
        db.execute("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0").fetchall()
        db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()  # reads the list of tables


@contextmanager
def bounded(db: apsw.Connection) -> Iterator[None]:
    """Raise `apsw.CorruptError` for a statement that takes many steps: a list of tables can be endless."""
    db.set_progress_handler(lambda: True, _MAX_STEPS)
    try:
        yield
    except apsw.InterruptError as error:
        raise apsw.CorruptError("its list of tables is too long") from error
    finally:
        db.set_progress_handler(None)


def require_tables(db: apsw.Connection, path: str, hint: str) -> None:
    """Raise `StoreError` unless a file has the tables that this program makes, and nothing else."""
    with bounded(db), db:  # another process may be bringing the file up to date
        same = frozenset(_tables(db)) == _tables_of(int(db.pragma("user_version")))
    if not same:
        raise StoreError(f"{path} has other tables than an index, so it is not opened", hint)


@cache
def _tables_of(version: int) -> frozenset[tuple[str, ...]]:
    with closing(apsw.Connection(":memory:")) as blank:
        migrate_to(blank, version)
        return frozenset(_tables(blank))


def _tables(db: apsw.Connection) -> Iterator[tuple[str, ...]]:
    for kind, name, table, sql in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"):
        # Versions of SQLite differ in the quotes and blanks that they write into statements.
        yield str(kind), str(name), str(table), re.sub(r"[\s\"'`\[\]]+", "", str(sql))
