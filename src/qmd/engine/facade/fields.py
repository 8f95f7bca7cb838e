"""The methods of `Index` about the fields, links and sections of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from qmd.engine.requests import ALL, FilterOptions, SearchRequest, collections_of

if TYPE_CHECKING:
    from qmd.engine.documents.fields import FieldValues
    from qmd.engine.documents.library import Library
    from qmd.engine.documents.links import Links
    from qmd.engine.workspace import Workspace
    from qmd.store.base import Scope
    from qmd.types import Document, ResolvedLink, Section, ValueCount


class FieldMethods:
    """List fields, filter documents by them, and follow links."""

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

    def fields_of(self, references: Sequence[str]) -> dict[str, Mapping[str, tuple[str | float | bool, ...]]]:
        """Return the values of the fields of documents, by display path and name, without missing ones."""
        library = self._library
        found_documents = [library.find(reference) for reference in references]
        documents = {document.id: document.file for document in found_documents if document is not None}
        found = self._workspace.store.fields.of([*documents])
        return {file: found.get(identity, {}) for identity, file in documents.items()}

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

    def fields(
        self,
        collections: Sequence[str] = (),
        *,
        values: int = 10,
        detailed: int | None = None,
        **filters: Unpack[FilterOptions],
    ) -> list[FieldValues]:
        """List the fields of documents, most frequent first, each with its most frequent values.

        Args:
            collections: Names of collections; those searched by default, if none is named.
            values: The most values of a field.
            detailed: The number of fields that are listed with values; None for all.
            filters: Count only in documents that pass these; see `search`.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        from qmd.engine.documents import fields

        return fields.list_fields(self._workspace.store, self._scope(collections, filters), values, detailed)

    def field_values(
        self,
        name: str,
        collections: Sequence[str] = (),
        *,
        limit: int = 100,
        **filters: Unpack[FilterOptions],
    ) -> FieldValues:
        """List the values of one field, most frequent first. Raises `FieldNotFoundError` if none has it."""
        from qmd.engine.documents import fields

        return fields.list_values(self._workspace.store, self._scope(collections, filters), name, limit)

    def tags(self, collections: Sequence[str] = ()) -> list[ValueCount]:
        """List the tags, each before the tags below it, with the documents that have it or one below it.

        `collections` are names; those searched by default, if none is named. Raises
        `CollectionNotFoundError`.
        """
        from qmd.engine.documents import fields

        return fields.list_tags(self._workspace.store, self._scope(collections, {}))

    def links(self, reference: str) -> list[ResolvedLink]:
        """List the links of a document, in order. Raises as `get`."""
        return self._links.outgoing(self._library.resolve(reference))

    def backlinks(self, reference: str) -> list[ResolvedLink]:
        """List the links of other documents to a document, by path and line. Raises as `get`."""
        return self._links.backlinks(self._library.resolve(reference))

    def link_lists(self, reference: str) -> tuple[list[ResolvedLink], list[ResolvedLink]]:
        """Return `links` and `backlinks` of a document; faster than both one after another."""
        links, document = self._links, self._library.resolve(reference)
        return links.outgoing(document), links.backlinks(document)

    def unresolved_links(self, collections: Sequence[str] = ()) -> list[ResolvedLink]:
        """List the links that should lead to a document and lead to none."""
        return self._links.unresolved(collections_of(self._workspace.config, collections))

    def orphans(self, collections: Sequence[str] = ()) -> list[str]:
        """List the display paths of the documents that no other document links to."""
        return self._links.orphans(collections_of(self._workspace.config, collections))

    def outline(self, reference: str) -> tuple[Document, tuple[Section, ...]]:
        """Return a document and its sections, in order. Raises as `get`."""
        return self._library.outline(reference)

    def _scope(self, collections: Iterable[str], filters: Mapping[str, Any]) -> Scope:
        """Return the documents of some collections that pass filters."""
        from qmd.engine.retrieval.filters import scope_of
        from qmd.text.filters import from_options

        request = SearchRequest(collections=tuple(collections), where=from_options(filters))
        return scope_of(self._workspace.store, self._workspace.config, request)

    @property
    def _links(self) -> Links:
        from qmd.engine.documents.links import Links

        return Links(self._workspace.store)

    @property
    def _library(self) -> Library:
        from qmd.engine.documents.library import Library

        return Library(self._workspace.store, self._workspace.config)
