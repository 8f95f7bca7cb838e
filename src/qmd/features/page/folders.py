"""Folders on the page: what is in one, for the tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from qmd.engine.index import Index
from qmd.types import Document

_NUMBERS = re.compile(r"([0-9]{1,9}+)")
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
    ordered = {name: folders[name] for name in sorted(folders, key=_as_counted)}
    return Branch(path, ordered, sorted(documents, key=lambda each: _as_counted(each.file)))


def _as_counted(name: str) -> list[tuple[int, str]]:
    """Return the key that sorts names as people do: note 2 before note 10."""
    return [(int(part) if part.isdecimal() else -1, part.casefold()) for part in _NUMBERS.split(name)]
