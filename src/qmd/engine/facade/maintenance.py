"""The methods of `Index` about its state, its models and its files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.engine.requests import collections_of
from qmd.errors import ForbiddenError

if TYPE_CHECKING:
    from qmd.engine.doctor import Finding
    from qmd.engine.embedding.estimate import MissingVectors
    from qmd.engine.models.usage import ModelUse
    from qmd.engine.upkeep import copying
    from qmd.engine.upkeep.backup import Backup
    from qmd.engine.upkeep.cleanup import CleanupReport
    from qmd.engine.upkeep.copying import CopyReport
    from qmd.engine.upkeep.portable import Portable
    from qmd.engine.upkeep.status import Status
    from qmd.engine.workspace import Workspace
    from qmd.models.catalog import ModelCard
    from qmd.models.downloads import Download, OnBytes
    from qmd.store.values import OnPages, OnStep


class MaintenanceMethods:
    """Check, copy and clean an index, and fetch its models."""

    _workspace: Workspace

    def indexed_at(self, collections: Sequence[str] = ()) -> str | None:
        """Return the time of the oldest last scan of collections (those searched, if none is named).

        If a process watches the collections, and the index has all changes, it is the present time. ISO 8601
        in UTC; None if one was never scanned. Results do not show later changes on disk.
        """
        from qmd.engine.watch_state import find_watcher
        from qmd.types.clock import now

        scans = self._workspace.store.collections.last_scans()
        watcher, moment = find_watcher(self._workspace.locations.index), now()
        times = []
        for name in collections_of(self._workspace.config, collections):
            scanned = scans.get(name) or ""
            checked = watcher.indexed_at(name, moment) if watcher and scanned else ""
            times.append(max(scanned, checked))
        return min(times, default="") or None

    def missing_vectors(self, collections: Sequence[str] = ()) -> MissingVectors:
        """Count the texts of collections (all, if none is named) without vectors.

        Raises `ModelError` if there is no embedder.
        """
        from qmd.engine.embedding.estimate import missing_vectors

        return missing_vectors(self._workspace, collections)

    def status(self) -> Status:
        """Return the state of the index, its collections, vectors and models. Reads only."""
        from qmd.engine.upkeep import status

        return status.gather(self._workspace)

    @property
    def model_loaded(self) -> bool:
        """Whether the embedder is in memory."""
        return self._workspace.models.loaded

    def release_models(self) -> None:
        """Free the memory of the models. The next call that needs them loads them again."""
        self._workspace.models.release()

    def models(self) -> tuple[ModelUse, ...]:
        """List the model of each role, and its files on this machine. Reads only, and loads nothing."""
        from qmd.engine.models.usage import models

        return models(self._workspace.settings, self._workspace.cache_dir)

    def pullable(self, names: Sequence[str] = ()) -> list[ModelCard]:
        """List the models that `pull` can fetch; see `usage.select`."""
        from qmd.engine.models import usage

        return usage.select(self._workspace.settings, names)

    def pull(self, card: ModelCard, *, on_bytes: OnBytes = lambda done, total: None) -> Download:
        """Fetch the file of a model. Raises `ModelError`, and `BusyError` if another process fetches it."""
        from qmd.models.downloads import download

        return download(card.source, self._workspace.cache_dir, self._workspace.environ, on_bytes)

    def copy_store(
        self, source: str, target: str, *, on_progress: copying.OnProgress = lambda *_: None
    ) -> CopyReport:
        """Copy one store to another, without embedding anything. Each is an address or an index file's path.

        Raises:
            UsageError: If both are the same store, or the source is empty.
            ConflictError: If the target contains collections that are not in the configuration.
            StoreError: If a store cannot be opened, or the copy fails.
        """
        from qmd.engine.upkeep import copying

        return copying.between(source, target, self._workspace.config, self._workspace.environ, on_progress)

    def doctor(self, *, on_step: OnStep = lambda _: None) -> tuple[Finding, ...]:
        """Check the program, the configuration, the index and the models. Changes nothing.

        `on_step` is called before a check that takes long. If the index cannot be opened, use
        `qmd.engine.doctor.diagnose`. Raises `ForbiddenError` for a portable file.
        """
        from qmd.engine import doctor

        if self._workspace.locations.portable:
            raise ForbiddenError("a portable index file cannot be examined: its checks write beside an index")
        return tuple(doctor.examine(self._workspace.locations, self._workspace.environ, on_step))

    def cleanup(self, *, dry_run: bool = False, on_step: OnStep = lambda _: None) -> CleanupReport:
        """Remove unused data, each kind in a transaction; `dry_run` only counts it. See `CleanupReport`."""
        from qmd.engine.upkeep import cleanup

        written, cache = self._workspace.configuration.read(), self._workspace.cache_dir
        store, models = self._workspace.store, self._workspace.models
        return cleanup.clean(store, written, models, cache, dry_run=dry_run, on_step=on_step)

    def backup(
        self, target: str | None = None, *, force: bool = False, on_pages: OnPages = lambda done, total: None
    ) -> Backup:
        """Copy the index and its configuration to one file; others may write meanwhile.

        Args:
            target: A file or a folder; by default the current folder.
            force: Replace an existing file.
            on_pages: Called with (pages copied, pages in total).

        Raises:
            NotFoundError: If there is no index.
            ConflictError: If the file exists and `force` is false.
            StoreError: If the index cannot be copied, or the file cannot be written.
        """
        from qmd.engine.upkeep import backup

        workspace = self._workspace
        return backup.make(workspace.store, workspace.locations, target, force=force, on_pages=on_pages)

    def export(
        self,
        target: str,
        collections: Sequence[str] = (),
        *,
        texts: bool = True,
        passphrase: str | None = None,
        recipients: Sequence[str] = (),
        force: bool = False,
        on_progress: copying.OnProgress = lambda *_: None,
    ) -> Portable:
        """Write a portable index file, for `open_index_file` on any machine.

        It contains no paths, commands and models of this machine, and no cached answers. Of the vectors it
        has those that searches use.

        Args:
            target: A file or a folder.
            collections: The collections to copy; all, if none is named.
            texts: Whether to copy the texts of documents. Without them documents are found, but not shown;
                their words and the order of the words are still in the file, because they are its index.
            passphrase: Encrypt the file with this passphrase.
            recipients: Encrypt the file for these age recipients (`age1...`) or public SSH keys.
            force: Replace an existing file.
            on_progress: Called with (description, items copied, items in total).

        Raises:
            CollectionNotFoundError: If a collection does not exist.
            NotFoundError: If nothing of the collections is indexed.
            ConflictError: If the file exists and `force` is false.
            UsageError: If a recipient is invalid.
            StoreError: If the file cannot be written, or the extra `crypt` is needed and missing.
        """
        from qmd.engine.upkeep import portable

        return portable.make(
            self._workspace,
            target,
            collections,
            texts=texts,
            passphrase=passphrase,
            recipients=recipients,
            force=force,
            on_progress=on_progress,
        )
