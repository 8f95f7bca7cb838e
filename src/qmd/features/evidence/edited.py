"""Documents whose files have changed since they were indexed, as a scan would read them now."""

from __future__ import annotations

import os

from msgspec import Struct

from qmd.engine.access.kept import KEPT
from qmd.engine.workspace import Workspace
from qmd.errors import NotFoundError
from qmd.sources.formats.registry import file_of
from qmd.sources.paths import absolute_path
from qmd.sources.reading import source_at
from qmd.text.predicates import matches
from qmd.types import Document, Fingerprint, SourceText


class Edited(Struct):
    """Reads the documents of an index whose files have another size or time than when they were indexed.

    Documents of folders that are not on this machine, and of portable files, are as they were indexed.
    """

    _workspace: Workspace

    def of(self, document: Document) -> tuple[None, SourceText | None]:
        """Return no commit, and the present text of a document's file; None if it has not changed.

        Raises:
            NotFoundError: If the file is not there any more, or is kept from agents now.
            SourceError: If it cannot be read.
        """
        workspace = self._workspace
        collection = workspace.config.collections.get(document.collection)
        if workspace.locations.portable or collection is None or not os.path.isdir(collection.path):
            return None, None
        gone = NotFoundError(f"the file of {document.file} is not there any more")
        path = absolute_path(collection.path, document.path)
        try:
            status = os.stat(
                path if os.path.lexists(path) else absolute_path(collection.path, file_of(document.path))
            )
        except (OSError, ValueError) as error:
            raise gone from error
        if Fingerprint.of(status)[:2] == (document.size, document.modified_ns):
            return None, None
        source = source_at(collection, document.path)
        if not workspace.permissions.agent:
            return None, source
        if matches(KEPT, source.fields):
            raise gone
        return None, workspace.masker.source(source)
