"""Backups: an index and its `index.yml` in one file, and back from there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from typing import TYPE_CHECKING

from qmd.config.atomic import locked, replace_file
from qmd.config.index_yml import load, read_bytes
from qmd.config.paths import Locations, locate
from qmd.config.settings import busy_timeout_ms
from qmd.config.validate import require_file_name
from qmd.engine.embedding.batches import embedding_lock
from qmd.engine.index import beside_foreign
from qmd.engine.opening import at, place_of
from qmd.errors import (
    BusyError,
    ConfigError,
    ConflictError,
    ForeignIndexError,
    NotFoundError,
    StoreError,
    UsageError,
)
from qmd.store.base import Store, SupportsBackup
from qmd.store.sqlite import backup as copies
from qmd.store.sqlite.opening import belongs_to_us, is_database
from qmd.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from qmd.store.base import OnPages

_CONFIG = "index.yml"
_MADE = "made"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup. `config`: whether `index.yml` is in it; `made`: when (ISO 8601), where it says so."""

    path: str
    documents: int
    vectors: int
    collections: tuple[str, ...]
    size: int
    config: bool
    made: str | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did. `kept` are the files that hold what was replaced, `notes` what is to be known."""

    backup: Backup
    index: str
    config: str | None
    kept: tuple[str, ...]
    notes: tuple[str, ...]


def make(
    store: Store, locations: Locations, target: str | None, *, force: bool = False, on_pages: OnPages
) -> Backup:
    """Copy an index with its configuration to one file, checked before it has its name.

    `target` is a file or a folder, by default the current one. Raises `NotFoundError` where there is no
    index, `ConflictError` for a file that is there unless `force`, `StoreError`.
    """
    if not isinstance(store, SupportsBackup):
        raise StoreError(
            f"{store.location} is not copied to a file as it is",
            "'qmd store copy . FILE' makes an index file of it; Milvus has a backup of its own",
        )
    if not os.path.exists(store.location):
        raise NotFoundError(f"there is no index yet at {store.location}", "'qmd update' makes it")
    path = os.path.abspath(target or os.curdir)
    require_file_name(path)
    if os.path.isdir(path):
        path = os.path.join(path, _file_name(locations))
    if os.path.exists(path):
        if os.path.samefile(path, store.location):
            raise UsageError(f"{path} is the index itself", "name another file")
        if not force:
            raise ConflictError(f"{path} is there already", "name another file, or replace it with --force")
    notes = {_MADE: _now().isoformat(timespec="seconds").encode()}
    if os.path.exists(locations.config):
        notes[_CONFIG] = read_bytes(locations.config)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with copies.new_file(temporary):
            store.backup(temporary, notes, on_pages)
            os.replace(temporary, path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}", "name a file in a folder of yours"
        ) from error
    return _backup(path, copies.read(path, thorough=False))


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
    """Make the index that a command with `--index name` and `--store store` uses what a backup holds.

    The file is checked before anything changes, and the index that was there is kept beside the restored one.
    `index.yml` is written where it is missing, or with `config`. `force`: even in the place of a file that
    cannot be told for an index. Raises `StoreError` and `ForeignIndexError` for the one file or the other,
    and `BusyError` where another process is writing or embedding; then all is as it was.
    """
    variables = os.environ if environ is None else environ
    locations = beside_foreign(at(locate(name, variables, os.getcwd()), store))
    _refuse_other_store(locations, variables)
    source = os.path.abspath(source)
    contents = copies.read(source)
    _check_target(locations.index, source, force)
    moment = f"{_now():%Y%m%d-%H%M%S}"
    kept = _beside(locations.index, moment)
    try:
        os.makedirs(os.path.dirname(locations.index), mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder of {locations.index}: {error.strerror}") from error
    try:
        with embedding_lock(locations.index):
            there = copies.restore(
                locations.index, source, kept, on_pages, busy_timeout_ms=busy_timeout_ms(variables)
            )
    except BusyError as error:
        raise BusyError(
            f"another process is writing {locations.index}; nothing was restored",
            "wait for 'qmd embed' or 'qmd update' to end, or stop it: what it has done is kept",
        ) from error
    # Opening it brings a backup of an older format up to date.
    SqliteStore(locations.index, busy_timeout_ms=busy_timeout_ms(variables)).close()
    replaced = [kept] if there else []
    written, said = _restore_config(locations.config, contents, moment, config, replaced)
    return Restored(_backup(source, contents), locations.index, written, tuple(replaced), tuple(said))


def _refuse_other_store(locations: Locations, environ: Mapping[str, str]) -> None:
    """Raise where the index in use is in no file: restoring one would change nothing that anyone sees."""
    try:
        url, _ = place_of(locations, read_bytes(locations.config), environ)
    except ConfigError:
        return  # it may be what is to be restored
    if url is not None:
        raise StoreError(
            f"the index in use is at {url}, and a backup is a file",
            f"'qmd store copy FILE {url}' puts what is in it there",
        )


def _check_target(index: str, source: str, force: bool) -> None:
    """Raise where a file is in the way that is not to be replaced."""
    if not os.path.exists(index) or belongs_to_us(index):
        if os.path.exists(index) and os.path.samefile(index, source):
            raise UsageError(f"{source} is the index itself", "name a file that 'qmd backup' made")
        return
    if is_database(index):
        raise ForeignIndexError(
            f"{index} was made by another program, and is left alone",
            "name another index with --index NAME, or move that file away",
        )
    if not force:
        raise ForeignIndexError(
            f"{index} is no index, or is damaged at its beginning",
            "replace it with --force; it is kept beside the restored one",
        )


def _restore_config(
    path: str, contents: copies.Contents, moment: str, wanted: bool, replaced: list[str]
) -> tuple[str | None, list[str]]:
    """Write `index.yml` where it is wanted or missing; returns its path if so, and what is to be known."""
    data = contents.notes.get(_CONFIG)
    if data is None:
        return None, ["the backup holds no index.yml"] if wanted else []
    there = os.path.exists(path)
    if there and read_bytes(path) == data:
        return None, []
    if there and not wanted:
        return None, [f"{path} is not that of the backup, and stays{_dropped(path, contents)}"]
    with locked(path) as target:
        if there:
            replaced.append(_beside(target, moment))
            replace_file(replaced[-1], read_bytes(target))
        replace_file(target, data)
    return path, []


def _dropped(path: str, contents: copies.Contents) -> str:
    """What becomes of collections that are in a backup, and not in the configuration."""
    try:
        configured = load(path).collections
    except ConfigError as error:
        return f"; it is broken ({error.in_one_line()}); --config restores it as well"
    lacking = [name for name in contents.collections if name not in configured]
    if not lacking:
        return "; --config restores it as well"
    return f": 'qmd update' will drop {', '.join(lacking)} unless --config restores it as well"


def _backup(path: str, contents: copies.Contents) -> Backup:
    made = contents.notes.get(_MADE)
    return Backup(
        path,
        contents.documents,
        contents.vectors,
        contents.collections,
        os.path.getsize(path),
        _CONFIG in contents.notes,
        None if made is None else made.decode("utf-8", "replace"),
    )


def _file_name(locations: Locations) -> str:
    """`qmd-NAME-20261122-081500.sqlite`, after the index, or the project that it is of."""
    if locations.project is not None:
        name = os.path.basename(locations.project)
    else:
        name = os.path.splitext(os.path.basename(locations.index))[0]
    return f"qmd-{name}-{_now():%Y%m%d-%H%M%S}.sqlite"


def _beside(path: str, moment: str) -> str:
    """A name of its own for what is replaced, under which it is an index as well (`--index NAME`)."""
    stem, ending = os.path.splitext(path)
    first = f"{stem}-replaced-{moment}"
    names = chain([first + ending], (f"{first}-{number}{ending}" for number in count(2)))
    return next(name for name in names if not os.path.lexists(name))


def _now() -> datetime:
    """The time as the clock here shows it."""
    return datetime.now().astimezone()
