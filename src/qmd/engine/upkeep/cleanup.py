"""Deleting unused data from the index and the cache."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from qmd.config.atomic import ABANDONED_AFTER_S, abandoned, locked
from qmd.engine.access.rules import Rule
from qmd.engine.embedding.active_vectors import by_priority
from qmd.engine.models.provider import ModelProvider
from qmd.engine.parts import Part
from qmd.errors import BusyError, ModelError
from qmd.models.catalog import Leftover
from qmd.models.registry import leftovers
from qmd.store.base import Store
from qmd.store.values import OnStep, Retention, WasteKind
from qmd.types import Config

#: A cached model answer is usually needed again within hours, or never.
ANSWERS_MAX_AGE = timedelta(days=30)

Kind: TypeAlias = WasteKind | Literal["models", "files"]

DESCRIPTIONS: dict[Kind, str] = {
    "answers": f"cached answers of models, older than {ANSWERS_MAX_AGE.days} days",
    "documents": "documents of removed collections",
    "texts": "texts without a document, and their vectors",
    "vectors": "vectors by unused models",
    "slots": "empty slots among the vectors",
    "segments": "segments of the full-text index to merge",
    "pages": "unused pages of the index file",
    "models": "models prepared by other versions",
    "files": "temporary files of killed processes",
}


class Item(Struct, frozen=True):
    """Unused data of one kind: the number of items and their approximate bytes (0 if unknown)."""

    kind: Kind
    count: int
    bytes: int

    @property
    def description(self) -> str:
        """The kind in words."""
        return DESCRIPTIONS[self.kind]


class CleanupReport(Struct, frozen=True):
    """The result of a cleanup."""

    items: tuple[Item, ...]  #: The unused data that was found
    freed: int  #: Bytes of disk space freed; in a dry run, the estimate
    size: int  #: Bytes of the index
    dry_run: bool  #: True if nothing was deleted
    notes: tuple[str, ...] = ()  #: Messages about data that was not deleted, and why


class CleanupMethods(Part):
    """Delete unused data of an index."""

    _rules: Mapping[str, Rule] = {"cleanup": Rule(changes=True, action="clean up")}

    def cleanup(self, *, dry_run: bool = False, on_step: OnStep = lambda _: None) -> CleanupReport:
        """Remove unused data, each kind in a transaction; `dry_run` only counts it. See `CleanupReport`."""
        workspace = self._workspace
        return clean(
            workspace.store,
            workspace.configuration.read(),
            workspace.models,
            workspace.cache_dir,
            dry_run=dry_run,
            on_step=on_step,
        )


def clean(
    store: Store,
    config: Config,
    models: ModelProvider,
    cache_dir: str,
    *,
    dry_run: bool = False,
    on_step: OnStep = lambda _: None,
) -> CleanupReport:
    """Delete unused data. A dry run only reports it.

    `config` is the configuration as written, including settings that are not approved. Raises `StoreError` if
    the store cannot be written; data deleted before the error stays deleted.
    """
    keep, notes = _keep(store, config, models)
    old = time.time() - ABANDONED_AFTER_S
    unused_models = leftovers(Path(cache_dir), old)
    temporary = [*abandoned(config.path, old), *abandoned(store.location, old), *_plain(store.location)]
    files = [Leftover(path, os.path.getsize(path)) for path in temporary]
    items = [Item(waste.kind, waste.count, waste.bytes) for waste in store.upkeep.waste(keep)]
    items += [Item("models", len(unused_models), _total(unused_models))] if unused_models else []
    items += [Item("files", len(files), _total(files))] if files else []
    before = store.size()
    if dry_run:
        return CleanupReport(tuple(items), sum(item.bytes for item in items), before, True, tuple(notes))
    store.upkeep.clear(keep, on_step)
    stuck = [reason for leftover in (*unused_models, *files) if (reason := _remove(leftover)) is not None]
    gone = sum(leftover.size for leftover in (*unused_models, *files) if not os.path.lexists(leftover.path))
    after = store.size()
    return CleanupReport(tuple(items), max(0, before - after) + gone, after, False, (*notes, *stuck))


def _keep(store: Store, config: Config, models: ModelProvider) -> tuple[Retention, list[str]]:
    """Return the data to keep, and notes about vectors that the user may not expect to be kept."""
    # Without any collection, the configuration file is more likely missing than emptied on purpose.
    collections, since = tuple(config.collections) or None, datetime.now(UTC) - ANSWERS_MAX_AGE
    try:
        configured = models.fingerprint
    except ModelError as error:
        return Retention(collections, None, since), [f"all vectors are kept: {error.message}"]
    # Keep the active vectors until those of the configured embedder can replace them.
    active = by_priority(store, config, configured)[:1]
    notes = [
        f"vectors by {vectors.name} are kept: searches use them until 'qmd embed' has made all with "
        f"{models.embedder.name}"
        for vectors in active
        if vectors.fingerprint != configured
    ]
    return Retention(collections, (configured, *(vectors.fingerprint for vectors in active)), since), notes


def _plain(index: str) -> list[str]:
    """Return the files that an encrypted backup has left in plain because it was killed, however new."""
    paths = [f"{index}.portable{ending}" for ending in ("", "-wal", "-shm", "-journal")]
    found = [path for path in paths if os.path.isfile(path)]
    if found:
        try:
            with locked(paths[0], timeout=0):
                return found
        except BusyError:
            return []  # it is being written
    return []


def _total(files: Sequence[Leftover]) -> int:
    return sum(file.size for file in files)


def _remove(leftover: Leftover) -> str | None:
    """Remove a file or a folder; returns the reason if that fails."""
    try:
        if os.path.isdir(leftover.path):
            shutil.rmtree(leftover.path)
        else:
            os.unlink(leftover.path)
    except FileNotFoundError:
        return None  # another cleanup has removed it
    except OSError as error:
        return f"{leftover.path} cannot be removed: {error.strerror or error}"
    return None
