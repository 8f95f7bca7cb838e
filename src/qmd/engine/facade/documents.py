"""The methods of `Index` about documents: listing, finding and reading them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import replace

from qmd.engine.requests import ALL, DEFAULT_MAX_BYTES, FilterOptions, SearchRequest, collections_of
from qmd.errors import DocumentNotFoundError

if TYPE_CHECKING:
    from qmd.engine.documents.library import Library, Page, Pages
    from qmd.engine.workspace import Workspace
    from qmd.models.base import Cancelled
    from qmd.store.values import Scope
    from qmd.types import Author, Document, Section


class DocumentMethods:
    """List, find and read documents."""

    _workspace: Workspace

    def documents(self, target: str | None = None, **filters: Unpack[FilterOptions]) -> list[Document]:
        """List the documents of a collection or a folder in one, `notes/work`; all if `target` is None.

        `filters` limit the list to documents that pass them; see `search`. Raises `CollectionNotFoundError`,
        and `DocumentNotFoundError` for a folder without documents.
        """
        documents, passing = self._library.listing(target), self._passing(filters)
        return documents if passing is None else [item for item in documents if item.id in passing]

    def recent(self, limit: int = 10) -> list[Document]:
        """List the documents whose files changed last, newest first."""
        return self._workspace.store.documents.changed_last([*self._workspace.config.collections], limit)

    def get(self, reference: str, *, from_line: int | None = None, max_lines: int | None = None) -> Page:
        """Return one document, whole or from a line on.

        Args:
            reference: A display path, the unique end of one (from a `/` on), a path on disk inside a
                collection (absolute, or with `./` or `../`), a `qmd://` URI, a docid, a title, or the
                name of a file without its suffix. It may end in `:from` or `:from:count`, or in the
                heading of a section, `#Restoring` or `#Backups/Restoring`, which override the other
                arguments. Case is ignored if no path or title matches exactly.
            from_line: The first line to return, from 1.
            max_lines: The largest number of lines to return.

        Raises:
            DocumentNotFoundError: If no document matches.
            AmbiguousReferenceError: If several documents match.
            UsageError: If the line is past the end, or the document has no such section.
        """
        return self._library.get(reference, from_line, max_lines)

    def multi_get(
        self,
        pattern: str,
        *,
        max_lines: int | None = None,
        max_bytes: int | None = DEFAULT_MAX_BYTES,
        cancelled: Cancelled | None = None,
        max_total: int | None = None,
        **filters: Unpack[FilterOptions],
    ) -> Pages:
        """Return the documents that match a glob over display paths or a list of references, each once.

        Args:
            pattern: A glob, or a comma-separated list of references that `get` accepts.
            max_lines: The largest number of lines of each document.
            max_bytes: Documents larger than this are returned as `Skipped`.
            cancelled: Called before each document; the call ends if it returns true.
            max_total: The largest size of all texts in bytes. From the first document beyond it on,
                documents are only listed in `left_out`.
            filters: Return only documents that pass these; see `search`.

        Raises:
            DocumentNotFoundError: If nothing matches.
            CancelledError: If the call was cancelled.
            UsageError: If a filter is wrong, or names a field that no document has.
        """
        passing = self._passing(filters)
        if passing is not None and not passing:
            raise DocumentNotFoundError(self.explain_no_documents(**filters))
        return self._library.multi_get(pattern, max_lines, max_bytes, cancelled, max_total, passing)

    def authors(self, collections: Sequence[str] = ()) -> list[Author]:
        """List the authors in collections (those searched by default, if none is named), by name.

        Spellings that differ only in case are one author. Raises `CollectionNotFoundError`.
        """
        return self._library.authors(collections_of(self._workspace.config, collections))

    def outline(self, reference: str) -> tuple[Document, tuple[Section, ...]]:
        """Return a document and its sections, in order. Raises as `get`."""
        return self._library.outline(reference)

    def file_on_disk(self, reference: str) -> tuple[str, str]:
        """Return the path on disk and the media type of a PDF that is indexed, or an image in a document.

        `reference` is `collection/path`. Raises `NotFoundError` for any other file.
        """
        from qmd.engine.documents import files

        return files.file_on_disk(self._workspace.store, self._workspace.config, reference)

    def viewable_file(self, document: Document, target: str | None = None) -> str | None:
        """Return the reference of a document's file, or of one that it links to, for `file_on_disk`.

        None if there is no such file, or it is refused there.
        """
        from qmd.engine.documents import files

        collection = self._workspace.config.collections[document.collection]
        path = files.viewable(self._workspace.store, collection, document.path, target)
        return None if path is None else f"{collection.name}/{path}"

    def explain_no_documents(self, target: str | None = None, **filters: Unpack[FilterOptions]) -> str:
        """Say how many documents pass each filter, for filters with which `documents` returns nothing.

        Raises `UsageError` if a filter names a field that no document has.
        """
        from qmd.engine.documents.fields import check_fields, explain_empty
        from qmd.engine.documents.library import split_target
        from qmd.text.predicates import Comparison, both

        collection, folder = split_target(target)
        scope = self._scope([collection] if collection else self._workspace.config.collections, filters)
        check_fields(self._workspace.store, scope)
        inside = Comparison("path", "prefix", folder) if folder else None
        return explain_empty(self._workspace.store, replace(scope, where=both(inside, scope.where)))

    def _passing(self, filters: FilterOptions) -> frozenset[int] | None:
        """Return the ids of the documents that pass filters; None if no filter is given."""
        if not any(filters.values()):
            return None
        scope = self._scope([*self._workspace.config.collections], filters)
        return frozenset(self._workspace.store.fields.newest(scope, ALL))

    def _scope(self, collections: Iterable[str], filters: Mapping[str, Any]) -> Scope:
        """Return the documents of some collections that pass filters."""
        from qmd.engine.retrieval.filters import scope_of
        from qmd.text.filters import from_options

        request = SearchRequest(collections=tuple(collections), where=from_options(filters))
        return scope_of(self._workspace.store, self._workspace.config, request)

    @property
    def _library(self) -> Library:
        from qmd.engine.documents.library import Library

        return Library(self._workspace.store, self._workspace.config)
