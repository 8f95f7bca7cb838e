"""An index as someone sees it who may not see all of it, or may not change it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qmd.engine.index import Index
from qmd.errors import ConfigError, ForbiddenError
from qmd.types import Config

if TYPE_CHECKING:
    from qmd.engine.embedding import batches
    from qmd.engine.indexing import scan
    from qmd.engine.upkeep.status import Status


@dataclass(frozen=True, slots=True)
class Permissions:
    """What may be seen, by the names of collections (None: all), and whether anything may be changed."""

    collections: frozenset[str] | None = None
    read_only: bool = False

    def of(self, config: Config) -> Config:
        """A configuration without the collections that may not be seen."""
        if self.collections is None:
            return config
        seen = {name: each for name, each in config.collections.items() if name in self.collections}
        return replace(config, collections=seen, restricted=True)


class RestrictedIndex(Index):
    """An index within limits; see `Index.limited`.

    Collections that may not be seen are not in its configuration, by which everything goes: to it they do not
    exist. What could reach beyond its collections is refused, with `ForbiddenError`.
    """

    def __init__(self, whole: Index, limits: Permissions) -> None:
        # The store, the models, the settings: all but what is made from the configuration.
        vars(self).update(vars(whole))
        self._limits = limits
        self._lock = threading.RLock()
        self._searcher = None
        self._views = {}

    def close(self) -> None:
        """Let no further search start. What is shared stays open."""
        if self._searcher is not None:
            self._searcher.close()

    def limited(self, collections: Sequence[str] | None = None, *, read_only: bool = False) -> Index:
        """Within these limits and others."""
        mine = self._limits.collections
        if mine is not None:
            collections = sorted(mine if collections is None else mine.intersection(collections))
        return super().limited(collections, read_only=read_only or self._limits.read_only)

    def _permitted(self) -> Config:
        return self._limits.of(super()._permitted())

    # -- what it may change of its collections -------------------------------------------------------------

    def include_collection(self, name: str, include: bool = True) -> None:
        self._may_change(name)
        super().include_collection(name, include)

    def update(self, collections: Sequence[str] = (), **options: Any) -> list[scan.ScanReport]:
        self._may_change(*collections)
        return super().update(collections, **options)

    def embed(self, collections: Sequence[str] = (), **options: Any) -> batches.EmbedReport:
        self._may_change(*collections)
        return super().embed(collections, **options)

    def embed_share(self, collections: Sequence[str], *args: Any) -> None:
        self._may_change(*collections)
        super().embed_share(collections, *args)

    def add_context(self, target: str, text: str) -> str:
        self._context_place(target)
        self._may_change()
        return super().add_context(target, text)

    def remove_context(self, target: str) -> str:
        self._context_place(target)
        self._may_change()
        return super().remove_context(target)

    def _context_place(self, target: str) -> tuple[str | None, str]:
        collection, prefix = super()._context_place(target)
        if collection is None:
            self._needs_all("change what is said of all collections")
        return collection, prefix

    # -- what needs the whole index ------------------------------------------------------------------------

    def add_collection(self, *args: Any, **options: Any) -> scan.ScanReport:
        self._may_change()
        self._needs_all("add one")
        return super().add_collection(*args, **options)

    def remove_collection(self, name: str) -> int:
        self._may_change(name)
        # It could not be added again.
        self._needs_all("remove one")
        return super().remove_collection(name)

    def rename_collection(self, old: str, new: str) -> None:
        self._may_change(old)
        # Under its new name it would be another's.
        self._needs_all("rename one")
        super().rename_collection(old, new)

    def set_update_command(self, name: str, command: str | None) -> None:
        self._may_change(name)
        # Whoever sets it runs commands as the user, who sees everything.
        self._needs_all("set a command")
        super().set_update_command(name, command)

    def cleanup(self, *args: Any, **options: Any) -> Any:
        self._may_change()
        self._needs_all("clean up")
        return super().cleanup(*args, **options)

    def backup(self, *args: Any, **options: Any) -> Any:
        self._may_change()
        self._needs_all("copy the index")
        return super().backup(*args, **options)

    def copy_store(self, *args: Any, **options: Any) -> Any:
        self._may_change()
        self._needs_all("copy stores")
        return super().copy_store(*args, **options)

    def pull(self, *args: Any, **options: Any) -> Any:
        self._may_change()
        self._needs_all("fetch models, which everyone's searches use")
        return super().pull(*args, **options)

    def import_models(self, *args: Any, **options: Any) -> Any:
        self._may_change()
        self._needs_all("bring models, which everyone's searches use")
        return super().import_models(*args, **options)

    def export_models(self, *args: Any, **options: Any) -> Any:
        self._may_change()
        self._needs_all("write files")
        return super().export_models(*args, **options)

    def doctor(self, *args: Any, **options: Any) -> Any:
        self._needs_all("examine the index")
        return super().doctor(*args, **options)

    def why(self, *args: Any, **options: Any) -> Any:
        self._needs_all("ask about files on disk")
        return super().why(*args, **options)

    def absence(self, *args: Any, **options: Any) -> Any:
        self._needs_all("ask about files on disk")
        return super().absence(*args, **options)

    def evaluate(self, *args: Any, **options: Any) -> Any:
        self._needs_all("read benchmarks from disk")
        return super().evaluate(*args, **options)

    # -- what tells of more than its collections -----------------------------------------------------------

    def status(self) -> Status:
        """What there is of its collections."""
        found = super().status()
        # Counted over, or said of, the whole index.
        return found if self._limits.collections is None else replace(found, size=0, vectors=(), notes=())

    def _refuse_to_empty(self, allow_empty: bool = False) -> None:
        with self._unnamed("the configuration is missing"):
            super()._refuse_to_empty(allow_empty)

    def _sync(self, *, drop: bool = False) -> None:
        with self._unnamed("the configuration does not fit the index"):
            super()._sync(drop=drop)

    @contextmanager
    def _unnamed(self, reason: str) -> Iterator[None]:
        """Say why, without the collections that may not be seen."""
        try:
            yield
        except ConfigError as error:
            if self._limits.collections is None:
                raise
            raise ConfigError(reason) from error

    # -- refusing ------------------------------------------------------------------------------------------

    def _may_change(self, *names: str) -> None:
        """Raise unless collections of these names are here and may be changed."""
        for name in names:
            self.collection(name)
        if self._limits.read_only:
            raise ForbiddenError("this access is read-only")

    def _needs_all(self, what: str) -> None:
        """Raise unless all collections may be seen."""
        if self._limits.collections is not None:
            names = ", ".join(sorted(self._limits.collections))
            raise ForbiddenError(f"access that is limited to collections ({names}) may not {what}")
