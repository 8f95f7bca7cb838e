"""The methods of `Index` about pins and marks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from qmd.config.marks_file import marks_path
from qmd.engine.facade.documents import DocumentMethods

if TYPE_CHECKING:
    from qmd.config.marks_file import Entry, MarkKind
    from qmd.engine.marks import MarksOf, StoredMark
    from qmd.engine.requests import SearchRequest
    from qmd.engine.retrieval.adjust import Guide

_MARKS: tuple[MarkKind, ...] = ("good", "bad")
_PINS: tuple[MarkKind, ...] = ("pin",)


class MarkMethods(DocumentMethods):
    """Pin documents to queries, and mark results as good or bad.

    They are kept in a file beside the configuration. Every method raises `ConfigError` if the file is broken,
    and `ForbiddenError` if it came with a project and is not approved.
    """

    def marks(self) -> list[StoredMark]:
        """List the pinned and marked documents, by query."""
        from qmd.engine.marks import StoredMark

        documents, config = self._workspace.store.documents, self._workspace.config
        listed = []
        for entry in self._marks_of.entries():
            for kind, files in entry.files.items():
                for file in files:
                    name, _, path = file.partition("/")
                    indexed = name in config.collections and documents.find(name, path) is not None
                    listed.append(StoredMark(entry.query, kind, file, indexed))
        return listed

    def marks_digest(self) -> str:
        """Return a digest of the pins and marks that count in searches; "" if there are none."""
        if not self._has_marks:
            return ""
        return self._marks_of.digest()

    def pin(self, query: str, reference: str) -> str:
        """Show a document first in searches for this query. Return its display path.

        Case, word order and function words of the query do not matter. `reference` is anything that `get`
        takes. Raises as `get`, and `UsageError` if the query has no words.
        """
        return self._add(query, "pin", reference)

    def unpin(self, query: str, reference: str | None = None) -> None:
        """Remove the pin of a document, or all of a query. Raises `NotFoundError` if there is none."""
        self._remove(query, _PINS, reference)

    def mark(self, query: str, reference: str, kind: Literal["good", "bad"]) -> str:
        """Mark a document as a good or a bad result for this query. Return its display path.

        The odds of its score for this query are raised or lowered by half, and by less for queries that share
        at least three quarters of their words. Raises as `pin`.
        """
        return self._add(query, kind, reference)

    def unmark(self, query: str, reference: str | None = None) -> None:
        """Remove the mark of a document, or all of a query. Raises `NotFoundError` if there is none."""
        self._remove(query, _MARKS, reference)

    def _add(self, query: str, kind: MarkKind, reference: str) -> str:
        from qmd.engine.marks import added

        file = self._library.resolve(reference).file
        self._marks_of.change(lambda entries: added(entries, query, kind, file))
        return file

    def _remove(self, query: str, kinds: Sequence[MarkKind], reference: str | None) -> None:
        from qmd.engine.marks import removed
        from qmd.errors import DocumentNotFoundError

        file = reference
        if reference is not None and not any(mark.file == reference for mark in self.marks()):
            try:
                file = self._library.resolve(reference).file
            except DocumentNotFoundError:
                file = reference  # the error is that there is no such mark

        def change(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
            return removed(entries, query, kinds, file)

        self._marks_of.change(change)

    def _guide(self, request: SearchRequest) -> Guide | None:
        """Return the function that tells which pins and marks count for a query; None if none do."""
        return self._marks_of.guidance if request.marks and self._has_marks else None

    @property
    def _has_marks(self) -> bool:
        return os.path.lexists(marks_path(self._workspace.locations.config))

    @cached_property
    def _marks_of(self) -> MarksOf:
        from qmd.engine.marks import MarksOf

        return MarksOf(self._workspace)
