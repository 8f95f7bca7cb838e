"""Documents whose files have changed since they were indexed, as a scan would read them now."""

from __future__ import annotations

import os

from qmd.engine.access.kept import KEPT
from qmd.engine.workspace import Workspace
from qmd.errors import NotFoundError
from qmd.sources.formats.registry import file_of
from qmd.sources.paths import absolute_path
from qmd.sources.reading import source_at
from qmd.text.predicates import matches
from qmd.types import Document, Fingerprint, SourceText


class Edited:
    """Reads the documents of an index whose files have another size or time than when they were indexed.

    Documents of folders that are not on this machine, and of portable files, are as they were indexed.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._read: dict[int, SourceText | None] = {}

    def of(self, document: Document) -> tuple[None, SourceText | None]:
        """Return no commit, and the present text of a document's file; None if it has not changed.

        Raises:
            NotFoundError: If the file is not there any more, or is kept from agents now.
            SourceError: If it cannot be read.
        """
        if document.id not in self._read:
            self._read[document.id] = self._changed(document)
        return None, self._read[document.id]

    def _changed(self, document: Document) -> SourceText | None:
        collection = self._workspace.config.collections.get(document.collection)
        if self._workspace.locations.portable or collection is None or not os.path.isdir(collection.path):
            return None
        path = absolute_path(collection.path, document.path)
        try:
            status = os.stat(
                path if os.path.lexists(path) else absolute_path(collection.path, file_of(document.path))
            )
        except (OSError, ValueError) as error:
            raise NotFoundError(f"the file of {document.file} is not there any more") from error
        if Fingerprint.of(status)[:2] == (document.size, document.modified_ns):
            return None
        source = source_at(collection, document.path)
        if not self._workspace.permissions.agent:
            return source
        if matches(KEPT, source.fields):
            raise NotFoundError(f"the file of {document.file} is not there any more")
        return self._workspace.masker.source(source)
