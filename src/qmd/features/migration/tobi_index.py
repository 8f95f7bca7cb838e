"""Reading an index of tobi/qmd, which is never written."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import apsw
from msgspec import Struct

from qmd.config.contexts import normalise_prefix
from qmd.config.paths import resolve_folder
from qmd.errors import ForeignIndexError, StoreError
from qmd.store.sqlite.opening import connect_frozen, is_database
from qmd.store.sqlite.schema import APPLICATION_ID
from qmd.types import DEFAULT_PATTERN, Collection

_COLLECTIONS = (
    "SELECT name, path, pattern, ignore_patterns, include_by_default, update_command, context "
    "FROM store_collections ORDER BY name"
)


class TobiIndex(Struct, frozen=True):
    """The configuration in an index of tobi/qmd: copies of the collections, and a context."""

    collections: Mapping[str, Collection]
    global_context: str | None


def is_tobi(path: str) -> bool:
    """Return whether a file is a database that this program has not made."""
    if not os.path.isfile(path) or not is_database(path):
        return False
    with open(path, "rb") as file:
        return int.from_bytes(file.read(72)[68:72], "big") != APPLICATION_ID


def read(path: str) -> TobiIndex:
    """Read the index of tobi/qmd. Raises `ForeignIndexError` if it is something else."""
    if not is_tobi(path):
        known = "was made by this program" if is_database(path) else "is not an index"
        raise ForeignIndexError(f"{path} {known}", "name the index.sqlite of tobi/qmd")
    try:
        with _opened(path) as db:
            try:
                rows = list(db.execute(_COLLECTIONS))
                values = dict(db.execute("SELECT key, value FROM store_config"))
            except apsw.SQLError as error:
                raise ForeignIndexError(
                    f"{path} is not an index of tobi/qmd 2: {error}", "open it with tobi/qmd 2 once"
                ) from error
    except (apsw.Error, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    collections = {str(row[0]): _collection(path, *row) for row in rows}
    text = values.get("global_context")
    return TobiIndex(collections, text if isinstance(text, str) and text.strip() else None)


@contextmanager
def _opened(path: str) -> Iterator[apsw.Connection]:
    """Open an index of tobi/qmd without writing beside it.

    The changes in a write-ahead log can only be read by writing, so then a copy is opened.
    """
    with tempfile.TemporaryDirectory(prefix="qmd-migrate-") as folder:
        if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
            copy = os.path.join(folder, "index.sqlite")
            for ending in ("", "-wal"):
                shutil.copyfile(path + ending, copy + ending)
            db = apsw.Connection(copy, apsw.SQLITE_OPEN_READWRITE)
        else:
            db = connect_frozen(path)
        with closing(db):
            db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
            yield db


def _collection(
    index: str, name: Any, path: Any, pattern: Any, ignore: Any, include: Any, update: Any, context: Any
) -> Collection:
    contexts = _json(context, dict)
    return Collection(
        str(name),
        resolve_folder(str(path), index),
        str(pattern or DEFAULT_PATTERN),
        tuple(map(str, _json(ignore, list))),
        {normalise_prefix(str(prefix)): str(text) for prefix, text in contexts.items() if str(text).strip()},
        update=str(update) if update else None,
        include_by_default=include != 0,
    )


def _json(text: Any, kind: type) -> Any:
    """Return a stored list or mapping; an empty one if there is none, or it is something else."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        value = None
    return value if isinstance(value, kind) else kind()
