"""Folders on the page: what is in one, for the tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from qmd.engine.index import Index
from qmd.types import Document

#: Documents of a folder that are listed; a search in the folder finds the others.
MOST = 200


class Branch(Struct, frozen=True):
    """A folder: its path with the collection, the documents below each folder in it, and its documents."""

    path: str
    folders: Mapping[str, int]
    documents: Sequence[Document]


def look(index: Index, path: str) -> Branch:
    """Return what is in a folder of a collection. Raises as `Index.documents`."""
    path = path.strip("/")
    start, folders, documents = len(path) + 1, Counter[str](), list[Document]()
    for document in index.documents(path):
        name, below, _ = document.file[start:].partition("/")
        if below:
            folders[name] += 1
        else:
            documents.append(document)
    return Branch(path, dict(sorted(folders.items())), sorted(documents, key=lambda each: each.file))
