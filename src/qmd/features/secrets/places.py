"""The places of secrets in documents, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from qmd.engine.access.rules import Rule
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.engine.workspace import Workspace
from qmd.features.secrets.masker import masker_with
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


def _places(workspace: Workspace, collections: Sequence[str], on_step: OnStep) -> Iterator[SecretPlace]:
    """Yield the places of the secrets of collections, by path and line."""
    documents, masker = workspace.store.documents, masker_with(workspace.config.masks)
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


class SecretMethods(Part):
    """The method of `Index` that says where secrets are."""

    _rules: Mapping[str, Rule] = {"secrets": Rule(action="examine the index")}

    def secrets(
        self, collections: Sequence[str] = (), *, on_step: OnStep = lambda _: None
    ) -> list[SecretPlace]:
        """List the places of the secrets that agents see masked, by path and line.

        `collections` are names; all, if none is named. `on_step` is called before each collection. Raises
        `CollectionNotFoundError`.
        """
        config = self._workspace.config
        names = collections_of(config, collections) if collections else tuple(config.collections)
        return list(_places(self._workspace, names, on_step))
