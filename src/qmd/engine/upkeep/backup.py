"""Backups: copying an index and its `index.yml` to one file, and restoring them from it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, count

from msgspec import Struct

from qmd.config.atomic import ABANDONED_AFTER_S, abandoned, locked, replace_file
from qmd.config.index_yml import load, read_bytes
from qmd.config.locations import Locations
from qmd.config.settings import busy_timeout_ms
from qmd.config.validate import require_file_name
from qmd.engine.access.rules import Rule
from qmd.engine.embedding.batches import embedding_lock
from qmd.engine.indexing.recognized import kept_at
from qmd.engine.opening import beside_foreign, find_locations, read_store_url
from qmd.engine.parts import Part
from qmd.engine.workspace import Workspace
from qmd.errors import (
    BusyError,
    ConfigError,
    ConflictError,
    ForeignIndexError,
    NotFoundError,
    StoreError,
    UsageError,
)
from qmd.sources.paths import is_inside
from qmd.store.sqlite import backup as copies
from qmd.store.sqlite.opening import belongs_to_us, is_database
from qmd.store.sqlite.store import SqliteStore
from qmd.store.values import OnPages

_CONFIG = "index.yml"
_CREATED = "made"
#: What was recognized in scans, which takes hours to make again.
_RECOGNIZED = "recognized"


class Backup(Struct, frozen=True):
    """A backup file."""

    path: str
    documents: int
    vectors: int
    collections: tuple[str, ...]
    size: int  #: Bytes
    config: bool  #: Whether it contains `index.yml`
    created: str | None = None  #: An ISO 8601 time; None if the file does not record it


class Restored(Struct, frozen=True):
    """The result of a restore."""

    backup: Backup
    index: str
    config: str | None  #: The path of `index.yml` if it was restored
    replaced: tuple[str, ...]  #: The paths under which the replaced files are kept
    notes: tuple[str, ...]  #: Messages for the user


class BackupMethods(Part):
    """Back up an index."""

    _rules: Mapping[str, Rule] = {"backup": Rule(changes=True, action="copy the index")}

    def backup(
        self, target: str | None = None, *, force: bool = False, on_pages: OnPages = lambda done, total: None
    ) -> Backup:
        """Copy the index and its configuration to one file; others may write meanwhile.

        Args:
            target: A file or a folder; by default the current folder, or a folder of the cache if that is
                indexed.
            force: Replace an existing file.
            on_pages: Called with (pages copied, pages in total).

        Raises:
            NotFoundError: If there is no index.
            ConflictError: If the file exists and `force` is false.
            StoreError: If the index cannot be copied, or the file cannot be written.
        """
        store, locations = self._workspace.store, self._workspace.locations
        if not isinstance(store, SqliteStore):
            raise StoreError(
                f"{store.location} is a database server, which 'qmd store backup' cannot copy",
                "'qmd store copy . FILE' copies it to an index file; or use Milvus's own backup",
            )
        if not os.path.exists(store.location):
            raise NotFoundError(f"there is no index yet at {store.location}", "'qmd update' makes it")
        name = f"qmd-{index_name(locations)}-{now():%Y%m%d-%H%M%S}.sqlite"
        path = target_path(self._workspace, target, name, force=force)
        notes = {_CREATED: now().isoformat(timespec="seconds").encode()}
        if os.path.exists(locations.config):
            notes[_CONFIG] = read_bytes(locations.config)
        if os.path.exists(recognized := kept_at(store.location)):
            notes[_RECOGNIZED] = copies.bytes_of(recognized)
        with written(path) as temporary:
            store.backup(temporary, notes, on_pages)
        return _backup(path, copies.read(path, thorough=False))


def target_path(workspace: Workspace, target: str | None, name: str, *, force: bool) -> str:
    """Return the path of a new file: `target`, or `name` in it if it is a folder; see `_folder` for None.

    Raises `ConflictError` if the file exists and `force` is false, `UsageError` if it is the index itself.
    """
    store = workspace.store
    path = os.path.abspath(target or _folder(workspace))
    require_file_name(path)
    if os.path.isdir(path):
        path = os.path.join(path, name)
    if os.path.exists(path):
        if os.path.exists(store.location) and os.path.samefile(path, store.location):
            raise UsageError(f"{path} is the index itself", "name another file")
        if not force:
            raise ConflictError(f"{path} is there already", "name another file, or replace it with --force")
    return path


def _folder(workspace: Workspace) -> str:
    """Return the current folder. If it is indexed, and perhaps synchronized, a private one of the cache."""
    here = os.path.realpath(os.curdir)
    collections = workspace.configuration.read().collections.values()
    if not any(is_inside(here, os.path.realpath(collection.path)) for collection in collections):
        return here
    folder = os.path.join(workspace.cache_dir, "backups")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}", "name a file") from error
    return folder


@contextmanager
def written(path: str) -> Iterator[str]:
    """Yield the path of a private file that gets the name `path` if the body succeeds.

    What killed processes left of a file of this name is deleted.
    """
    try:
        for leftover in abandoned(path, time.time() - ABANDONED_AFTER_S):
            copies.discard(leftover)
        with copies.new_file(path) as temporary:
            yield temporary
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}", "name a file in a folder that you can write to"
        ) from error


def index_name(locations: Locations) -> str:
    """Return the name of an index for files made from it: that of its project, or of its file."""
    if locations.project is not None:
        return os.path.basename(locations.project)
    return os.path.splitext(os.path.basename(locations.index))[0]


def restore(
    name: str | None,
    source: str,
    *,
    store: str | None = None,
    environ: Mapping[str, str] | None = None,
    config: bool = False,
    force: bool = False,
    on_pages: OnPages = lambda done, total: None,
) -> Restored:
    """Replace the index that a command with `--index name` and `--store store` uses by the backup `source`.

    The backup is checked before anything changes. The replaced index is kept beside the restored one. An
    `index.yml` that differs is replaced if `config` is true; a missing one is always restored. With `force`
    even a file that is not recognisable as an index is replaced. Raises `StoreError`, `ForeignIndexError` if
    a file belongs to another program, and `BusyError` if another process is writing or embedding.
    """
    variables = os.environ if environ is None else environ
    locations = beside_foreign(find_locations(variables, name, store=store))
    _require_index_file(locations, variables)
    source = os.path.abspath(source)
    contents = copies.read(source)
    _check_target(locations.index, source, force)
    timestamp = f"{now():%Y%m%d-%H%M%S}"
    replaced_index = _replaced_name(locations.index, timestamp)
    try:
        os.makedirs(os.path.dirname(locations.index), mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder of {locations.index}: {error.strerror}") from error
    try:
        with embedding_lock(locations.index):
            existed = copies.restore(
                locations.index, source, replaced_index, on_pages, busy_timeout_ms=busy_timeout_ms(variables)
            )
    except BusyError as error:
        raise BusyError(
            f"another process is writing {locations.index}; nothing was restored",
            "wait for 'qmd embed' or 'qmd update' to end, or stop it: what it has done is kept",
        ) from error
    # Opening the index migrates a backup of an older format.
    SqliteStore(locations.index, busy_timeout_ms=busy_timeout_ms(variables)).close()
    replaced = [replaced_index] if existed else []
    recognized = contents.notes.get(_RECOGNIZED)
    if recognized is not None and not os.path.exists(beside := kept_at(locations.index)):
        replace_file(beside, recognized, private=True)
    written, notes = _restore_config(locations.config, contents, timestamp, config, replaced)
    return Restored(_backup(source, contents), locations.index, written, tuple(replaced), tuple(notes))


def _require_index_file(locations: Locations, environ: Mapping[str, str]) -> None:
    """Raise `StoreError` if the index in use is not a file, because restoring a file would have no effect."""
    try:
        url, _ = read_store_url(locations, read_bytes(locations.config), environ)
    except ConfigError:
        return  # the backup may contain a valid configuration
    if url is not None:
        raise StoreError(
            f"the index in use is at {url}, so a backup file cannot replace it",
            f"copy the backup's contents there: 'qmd store copy FILE {url}'",
        )


def _check_target(index: str, source: str, force: bool) -> None:
    """Raise if the file at the index's path must not be replaced."""
    if not os.path.exists(index) or belongs_to_us(index):
        if os.path.exists(index) and os.path.samefile(index, source):
            raise UsageError(f"{source} is the index itself", "name a file that 'qmd store backup' made")
        return
    if is_database(index):
        raise ForeignIndexError(
            f"{index} was made by another program, so it is not replaced",
            "name another index with --index NAME, or move that file away",
        )
    if not force:
        raise ForeignIndexError(
            f"{index} is not an index, or is damaged at its beginning",
            "replace it with --force; it is kept beside the restored one",
        )


def _restore_config(
    path: str, contents: copies.Contents, timestamp: str, overwrite: bool, replaced: list[str]
) -> tuple[str | None, list[str]]:
    """Write `index.yml` if it is missing, or differs and `overwrite` is true.

    Return its path if it was written, and messages for the user.
    """
    data = contents.notes.get(_CONFIG)
    if data is None:
        return None, ["the backup contains no index.yml"] if overwrite else []
    exists = os.path.exists(path)
    if exists and read_bytes(path) == data:
        return None, []
    if exists and not overwrite:
        return None, [f"{path} differs from the backup's and was not changed{_consequences(path, contents)}"]
    with locked(path) as target:
        if exists:
            replaced.append(_replaced_name(target, timestamp))
            replace_file(replaced[-1], read_bytes(target))
        replace_file(target, data)
    return path, []


def _consequences(path: str, contents: copies.Contents) -> str:
    """Describe the effect of a configuration that lacks collections of the backup."""
    try:
        configured = load(path).collections
    except ConfigError as error:
        return f"; it cannot be read ({error.in_one_line()}); --config restores it too"
    missing = [name for name in contents.collections if name not in configured]
    if not missing:
        return "; --config restores it too"
    return f": 'qmd update' will drop {', '.join(missing)} unless --config restores it too"


def _backup(path: str, contents: copies.Contents) -> Backup:
    created = contents.notes.get(_CREATED)
    return Backup(
        path,
        contents.documents,
        contents.vectors,
        contents.collections,
        os.path.getsize(path),
        _CONFIG in contents.notes,
        None if created is None else created.decode("utf-8", "replace"),
    )


def _replaced_name(path: str, timestamp: str) -> str:
    """Return an unused path for the replaced file. A replaced index can be opened with `--index NAME`."""
    stem, ending = os.path.splitext(path)
    first = f"{stem}-replaced-{timestamp}"
    names = chain([first + ending], (f"{first}-{number}{ending}" for number in count(2)))
    return next(name for name in names if not os.path.lexists(name))


def now() -> datetime:
    """Return the local time with its time zone."""
    return datetime.now().astimezone()
