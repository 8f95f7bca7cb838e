"""The structures of the texts of documents: those that the store keeps, or else what Markdown says."""

from __future__ import annotations

from collections.abc import Mapping

from qmd.store.base import Store
from qmd.text.layout import of_markdown
from qmd.types.structure import Structure


def structures(store: Store, texts: Mapping[int, str]) -> dict[int, Structure]:
    """Return the structures of texts, by document id."""
    kept = store.documents.placed([*texts])
    found: dict[int, Structure] = {}
    for document, text in texts.items():
        placed = kept.get(document)
        known = placed is not None and placed.structure.fits(text)
        found[document] = placed.structure if placed is not None and known else of_markdown(text)
    return found
