"""The methods of `Index` about the fields and links of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from qmd.engine.facade.documents import DocumentMethods
from qmd.engine.requests import FilterOptions, collections_of

if TYPE_CHECKING:
    from qmd.engine.documents.fields import FieldValues
    from qmd.engine.documents.links import Links
    from qmd.types import ResolvedLink, ValueCount


class FieldMethods(DocumentMethods):
    """List fields and their values, and follow links."""

    def fields_of(self, references: Sequence[str]) -> dict[str, Mapping[str, tuple[str | float | bool, ...]]]:
        """Return the values of the fields of documents, by display path and name, without missing ones."""
        library = self._library
        found_documents = [library.find(reference) for reference in references]
        documents = {document.id: document.file for document in found_documents if document is not None}
        found = self._workspace.store.fields.of([*documents])
        return {file: found.get(identity, {}) for identity, file in documents.items()}

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

    @property
    def _links(self) -> Links:
        from qmd.engine.documents.links import Links

        return Links(self._workspace.store)
