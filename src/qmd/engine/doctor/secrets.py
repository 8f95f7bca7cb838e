"""Where documents have secrets, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from qmd.engine.workspace import Workspace
from qmd.store.values import OnStep

#: Documents that are read at a time.
_BATCH = 200


class SecretPlace(Struct, frozen=True):
    """A secret in a document: its kind and the line where it begins, never what it is.

    `line` is 0 if it is in the path.
    """

    file: str
    line: int
    kind: str


def places(workspace: Workspace, collections: Sequence[str], on_step: OnStep) -> Iterator[SecretPlace]:
    """Yield the places of the secrets of collections, by path and line."""
    documents, masker = workspace.store.documents, workspace.masker
    for name in collections:
        on_step(f"reading the documents of {name}")
        listed = list(documents.listing(name))
        for at in range(0, len(listed), _BATCH):
            batch = listed[at : at + _BATCH]
            texts = documents.texts([document.id for document in batch])
            for document in batch:
                text = texts.get(document.id, "")
                found = [(0, secret.kind) for secret in masker.find(document.path)]
                found += [(text.count("\n", 0, start) + 1, kind) for start, _, kind in masker.of_text(text)]
                yield from (SecretPlace(document.file, *place) for place in dict.fromkeys(found))
