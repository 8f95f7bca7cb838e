"""The methods of `Index` about pins and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from qmd.config.marks_file import MarkKind
from qmd.engine.access.rules import Rule
from qmd.engine.documents.references import References
from qmd.engine.marks import MarksOf, StoredMark, added, removed
from qmd.engine.parts import Part
from qmd.errors import DocumentNotFoundError

_MARKS: tuple[MarkKind, ...] = ("good", "bad")
_PINS: tuple[MarkKind, ...] = ("pin",)


class MarkMethods(Part):
    """Pin documents to queries, and mark results as good or bad.

    They are kept in a file beside the configuration. Every method raises `ConfigError` if the file is broken,
    and `ForbiddenError` if it came with a project and is not approved.
    """

    _rules: Mapping[str, Rule] = {
        **dict.fromkeys(
            ("mark", "pin", "unmark", "unpin"), Rule(changes=True, action="pin or mark documents")
        ),
        "marks": Rule(action="list the pins and marks of everyone"),
        "marks_digest": Rule(action="list the pins and marks of everyone"),
    }

    def marks(self) -> list[StoredMark]:
        """List the pinned and marked documents, by query."""
        documents, config = self._workspace.store.documents, self._workspace.config
        listed = []
        for entry in MarksOf(self._workspace).entries():
            for kind, files in entry.files.items():
                for file in files:
                    name, _, path = file.partition("/")
                    indexed = name in config.collections and documents.find(name, path) is not None
                    listed.append(StoredMark(entry.query, kind, file, indexed))
        return listed

    def marks_digest(self) -> str:
        """Return a digest of the pins and marks that count in searches; "" if there are none."""
        return MarksOf(self._workspace).digest()

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

        The odds of its score for this query are raised or lowered by half. Raises as `pin`.
        """
        return self._add(query, kind, reference)

    def unmark(self, query: str, reference: str | None = None) -> None:
        """Remove the mark of a document, or all of a query. Raises `NotFoundError` if there is none."""
        self._remove(query, _MARKS, reference)

    def _add(self, query: str, kind: MarkKind, reference: str) -> str:
        file = self._references.resolve(reference).file
        MarksOf(self._workspace).change(lambda entries: added(entries, query, kind, file))
        return file

    def _remove(self, query: str, kinds: Sequence[MarkKind], reference: str | None) -> None:
        file = reference
        if reference is not None and not any(mark.file == reference for mark in self.marks()):
            try:
                file = self._references.resolve(reference).file
            except DocumentNotFoundError:
                file = reference  # the error is that there is no such mark
        MarksOf(self._workspace).change(lambda entries: removed(entries, query, kinds, file))

    @property
    def _references(self) -> References:
        return References(self._workspace.store, self._workspace.config)
