"""The notes of documents: what the core, features and other packages have to say of those that are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from qmd.errors import PluginError
from qmd.plugins import Table, package_of
from qmd.store.base import Store
from qmd.types import Config, Document, Hit
from qmd.types.notes import OF_SEARCHES, Note


class Kind(Struct, frozen=True):
    """A kind of note, and the function that returns the notes of documents by their ids.

    `find` is called for the documents of each answer, so it must be quick if there are none. The store has
    only what the caller may see.
    """

    note: type[Note]
    find: Callable[[Store, Config, Sequence[Document]], Mapping[int, Note]]


#: The kinds of notes that documents have wherever they are shown, by their keys.
NOTES = Table(
    "qmd.notes",
    {"state": "qmd.engine.documents.stated:STATE", "stale": "qmd.engine.documents.stated:STALE"},
    Kind,
)


def kinds() -> list[type[Note]]:
    """Return the kinds of notes that documents have."""
    return [found.note for found in _loaded()[0]]


def kinds_of_hits() -> list[type[Note]]:
    """Return the kinds of notes that hits have: those of documents, and those that searches make."""
    return [*kinds(), *OF_SEARCHES]


def broken_kinds() -> list[PluginError]:
    """Return an error for each kind of note of another package that cannot be used."""
    return _loaded()[1]


def notes_of(store: Store, config: Config, documents: Sequence[Document]) -> dict[int, tuple[Note, ...]]:
    """Return the notes of documents by id."""
    found = [kind.find(store, config, documents) for kind in _loaded()[0]]
    return {
        document.id: tuple(notes[document.id] for notes in found if document.id in notes)
        for document in documents
    }


@cache
def _loaded() -> tuple[list[Kind], list[PluginError]]:
    found: list[Kind] = []
    broken: list[PluginError] = []
    for name in NOTES.names():
        try:
            kind = NOTES.load(name)
            assert isinstance(kind, Kind)
            entry = NOTES.entry(name)
            if entry is not None and (kind.note.key != name or hasattr(Hit, name)):
                reason = f"the key '{kind.note.key}' of its notes is taken, or is not their name"
                raise PluginError(f"the package '{package_of(entry)}' is broken: {reason}", "uninstall it")
            found.append(kind)
        except PluginError as error:
            broken.append(error)
    return found, broken
