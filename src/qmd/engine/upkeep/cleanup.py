"""Cleaning up: what the index and the cache can do without."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from qmd.config.atomic import abandoned
from qmd.engine.embedding.active_vectors import in_order
from qmd.engine.models.provider import ModelProvider
from qmd.errors import ModelError, StoreError
from qmd.models.catalog import Leftover
from qmd.models.registry import leftovers
from qmd.store.base import Keep, Store, SupportsUpkeep, WasteKind
from qmd.types import Config

#: Answers of models are asked for again within hours, if at all.
ANSWERS_KEPT = timedelta(days=30)
#: A temporary file is in use for seconds; one this old belongs to a process that was killed.
_ABANDONED_AFTER_S = 3600.0

Kind: TypeAlias = WasteKind | Literal["models", "files"]

WORDS: dict[Kind, str] = {
    "answers": f"answers of models, older than {ANSWERS_KEPT.days} days",
    "documents": "documents of collections that are not configured any more",
    "texts": "texts that no document has, and their vectors",
    "vectors": "vectors by models that are not used",
    "slots": "empty places among the vectors",
    "segments": "parts of the full-text index, to be merged",
    "pages": "unused pages of the index file",
    "models": "models prepared by other versions",
    "files": "temporary files left by processes that were killed",
}


@dataclass(frozen=True, slots=True)
class Item:
    """Things of a kind that can go: how many, and about how many bytes they take (0: not known before)."""

    kind: Kind
    count: int
    bytes: int

    @property
    def what(self) -> str:
        """The kind in words."""
        return WORDS[self.kind]


@dataclass(frozen=True, slots=True)
class CleanupReport:
    """What a cleanup found, and did unless it was a dry run.

    `freed` are bytes that the disk has back; of a dry run, about how many it would have. `notes` are things
    that stay, and why.
    """

    items: tuple[Item, ...]
    freed: int
    size: int
    dry_run: bool
    notes: tuple[str, ...] = ()


def clean(
    store: Store,
    config: Config,
    roles: ModelProvider,
    cache_dir: str,
    *,
    dry_run: bool = False,
    on_step: Callable[[str], None] = lambda _: None,
) -> CleanupReport:
    """Find what can go, and let go of it; a dry run only finds.

    `config` is what the file says, approved or not. Raises as writing to the store does; what was let go of
    before that stays gone, and nothing else is touched.
    """
    if not isinstance(store, SupportsUpkeep):
        raise StoreError(f"{store.location} cannot be cleaned up", "use the tools of the store itself")
    keep, notes = _keep(store, config, roles)
    old = time.time() - _ABANDONED_AFTER_S
    models = leftovers(Path(cache_dir), old)
    temporary = [*abandoned(config.path, old), *abandoned(store.location, old)]
    files = [Leftover(path, os.path.getsize(path)) for path in temporary]
    items = [Item(waste.kind, waste.count, waste.bytes) for waste in store.waste(keep)]
    items += [Item("models", len(models), _total(models))] if models else []
    items += [Item("files", len(files), _total(files))] if files else []
    before = store.size()
    if dry_run:
        return CleanupReport(tuple(items), sum(item.bytes for item in items), before, True, tuple(notes))
    store.clear(keep, on_step)
    stuck = [reason for each in (*models, *files) if (reason := _remove(each)) is not None]
    gone = sum(each.size for each in (*models, *files) if not os.path.lexists(each.path))
    after = store.size()
    return CleanupReport(tuple(items), max(0, before - after) + gone, after, False, (*notes, *stuck))


def _keep(store: Store, config: Config, roles: ModelProvider) -> tuple[Keep, list[str]]:
    """What stays, and what of it might surprise."""
    notes = []
    embedders: tuple[str, ...] | None = None
    try:
        wanted = roles.fingerprint
        # What answers stays, until what is being made can take its place.
        embedders = (wanted, *(each.fingerprint for each in in_order(store, config, wanted)[:1]))
    except ModelError as error:
        notes.append(f"all vectors are kept: {error.message}")
    notes += [
        f"vectors by {each.name} are kept: searches use them until 'qmd embed' has made all with "
        f"{roles.embedder.name}"
        for each in store.vector_sets()
        if embedders is not None and each.fingerprint in embedders[1:] and each.fingerprint != embedders[0]
    ]
    # No collections at all are more likely a file that is not where it was than the user's wish.
    collections = tuple(config.collections) or None
    return Keep(collections, embedders, datetime.now(UTC) - ANSWERS_KEPT), notes


def _total(found: Sequence[Leftover]) -> int:
    return sum(each.size for each in found)


def _remove(leftover: Leftover) -> str | None:
    """Remove a file or a folder; the reason where that fails."""
    try:
        if os.path.isdir(leftover.path):
            shutil.rmtree(leftover.path)
        else:
            os.unlink(leftover.path)
    except FileNotFoundError:
        return None  # another cleanup was faster
    except OSError as error:
        return f"{leftover.path} cannot be removed: {error.strerror or error}"
    return None
