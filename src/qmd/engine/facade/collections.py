"""The methods of `Index` that edit its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.config import contexts
from qmd.engine.requests import collections_of
from qmd.types import DEFAULT_PATTERN, Collection

if TYPE_CHECKING:
    from qmd.engine.indexing import scan
    from qmd.engine.workspace import Workspace


class CollectionMethods:
    """Add, change and remove collections and their descriptions."""

    _workspace: Workspace

    def collection(self, name: str) -> Collection:
        """Return a collection. Raises `CollectionNotFoundError`, which lists the existing ones."""
        config = self._workspace.config
        collections_of(config, [name])
        return config.collections[name]

    def add_collection(
        self,
        path: str,
        name: str | None = None,
        *,
        pattern: str = DEFAULT_PATTERN,
        ignore: Sequence[str] = (),
        encoding: str | None = None,
        on_progress: scan.OnProgress | None = None,
    ) -> scan.ScanReport:
        """Add a folder as a collection and index it. On an error nothing has changed.

        The name defaults to that of the folder.

        Raises:
            SourceError: The folder cannot be listed.
            ConflictError: The name or the folder is taken.
            StoreError: The index cannot be written.
            BusyError: Another process is writing the index.
        """
        from qmd.engine.indexing import collections

        collection = collections.new_collection(path, name, pattern, tuple(ignore), encoding)
        return collections.add(self._workspace, collection, on_progress)

    def remove_collection(self, name: str) -> int:
        """Remove a collection; its files stay. Return the number of documents that left the index."""
        from qmd.engine.indexing import collections

        return collections.remove(self._workspace, name)

    def rename_collection(self, old: str, new: str) -> None:
        """Rename a collection. Raises `ConflictError` if the new name is taken."""
        from qmd.engine.indexing import collections

        collections.rename(self._workspace, old, new)

    def include_collection(self, name: str, include: bool = True) -> None:
        """Let searches that name no collection cover this one, or not."""
        from qmd.engine.indexing import collections

        collections.include(self._workspace, name, include)

    def set_update_command(self, name: str, command: str | None) -> None:
        """Set the shell command that `update` first runs in the folder of a collection; None removes it."""
        from qmd.engine.indexing import collections

        collections.set_update_command(self._workspace, name, command)

    def add_context(self, target: str, text: str) -> str:
        """Describe everything (`/`), a collection, or a folder in one; return the place as a `qmd://` URI.

        `target` is `/`, `qmd://collection/path`, or the path of a folder or file in a collection.
        """
        from qmd.engine.indexing import collections

        return collections.add_context(self._workspace, target, text)

    def remove_context(self, target: str) -> str:
        """Remove a description. Raises `NotFoundError` if there is none."""
        from qmd.engine.indexing import collections

        return collections.remove_context(self._workspace, target)

    def contexts(self) -> list[tuple[str, str]]:
        """List the descriptions: (place as a `qmd://` URI, text)."""
        return contexts.list_contexts(self._workspace.config)

    def undescribed(self) -> list[tuple[str, int]]:
        """List collections and their top folders without a description: (`qmd://` URI, documents)."""
        from qmd.engine.documents.library import Library
        from qmd.engine.indexing import collections

        config = self._workspace.config
        return collections.undescribed(config, Library(self._workspace.store, config).listing(None))
