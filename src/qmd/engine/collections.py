"""The methods of `Index` that look at its collections, and at the contexts that describe them."""

from __future__ import annotations

from collections import Counter

from qmd.config import contexts
from qmd.engine.access.rules import READ
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.types import Collection


class CollectionMethods(Part, rule=READ):
    """Look at collections and their descriptions."""

    def collection(self, name: str) -> Collection:
        """Return a collection. Raises `CollectionNotFoundError`, which lists the existing ones."""
        config = self._workspace.config
        collections_of(config, [name])
        return config.collections[name]

    def contexts(self) -> list[tuple[str, str]]:
        """List the descriptions: (place as a `qmd://` URI, text)."""
        return contexts.list_contexts(self._workspace.config)

    def undescribed(self) -> list[tuple[str, int]]:
        """List collections and their top folders without a description: (`qmd://` URI, documents)."""
        config = self._workspace.config
        counts: Counter[tuple[str, str]] = Counter()
        for document in self._workspace.store.documents.listing():
            if document.collection in config.collections:
                counts[document.collection, ""] += 1
                folder, slash, _ = document.path.partition("/")
                if slash:
                    counts[document.collection, folder] += 1
        return [
            (contexts.context_uri(collection, folder), count)
            for (collection, folder), count in counts.items()
            if folder not in config.collections[collection].context
        ]
