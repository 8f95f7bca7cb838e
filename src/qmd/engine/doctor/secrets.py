"""Where documents have secrets, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from qmd.engine.access.masking import TEXTS
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.store.values import OnStep
from qmd.text.secrets import find

#: Documents that are read at a time.
_BATCH = 200


class SecretPlace(Struct, frozen=True):
    """A secret in a document: its kind and the line where it begins, never what it is.

    `line` is 0 if it is in the path.
    """

    file: str
    line: int
    kind: str


class SecretMethods(Part):
    """Find secrets."""

    def secrets(
        self, collections: Sequence[str] = (), *, on_step: OnStep = lambda _: None
    ) -> list[SecretPlace]:
        """List the places of the secrets that agents see masked, by path and line.

        `collections` are names; all, if none is named. `on_step` is called before each collection. Raises
        `CollectionNotFoundError`.
        """
        config = self._workspace.config
        names = collections_of(config, collections) if collections else tuple(config.collections)
        return [place for name in names for place in self._in(name, on_step)]

    def _in(self, collection: str, on_step: OnStep) -> Iterator[SecretPlace]:
        on_step(f"reading the documents of {collection}")
        documents = self._workspace.store.documents
        listed = list(documents.listing(collection))
        for at in range(0, len(listed), _BATCH):
            batch = listed[at : at + _BATCH]
            texts = documents.texts([document.id for document in batch])
            for document in batch:
                text = texts.get(document.id, "")
                places = [(0, secret.kind) for secret in find(document.path)]
                places += [(text.count("\n", 0, start) + 1, kind) for start, _, kind in TEXTS.of(text)]
                yield from (SecretPlace(document.file, *place) for place in dict.fromkeys(places))
