"""The states of documents if any states one, and files that are not as they were indexed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from qmd.engine.documents.notes import Kind
from qmd.store.base import Store
from qmd.types import Collection, Config, Document, Fingerprint, Hit
from qmd.types.notes import Stale
from qmd.types.states import CURRENT, DocumentState

if TYPE_CHECKING:
    from qmd.engine.documents.states import States


def states_in(store: Store, config: Config) -> States | None:
    """Return the states of the documents of an index; None if none of them says anything of its state."""
    kept, key = store.computed(), ("stated", config.digest, *config.collections)
    if key not in kept:
        kept[key] = store.fields.existing([*config.collections], [*config.state_fields])
    if not kept[key]:
        return None
    from qmd.engine.documents.states import states_of

    return states_of(store, config)


def _states_of(store: Store, config: Config, documents: Sequence[Document]) -> dict[int, DocumentState]:
    """Return the states of documents by id, without those that are current."""
    states = states_in(store, config)
    if states is None:
        return {}
    found = {document.id: states.of(document.id) for document in documents}
    return {identity: state for identity, state in found.items() if state is not CURRENT}


STATE = Kind(DocumentState, _states_of)


def _stale(store: Store, config: Config, documents: Sequence[Document]) -> dict[int, Stale]:
    """Return the documents whose files are gone or have changed, as far as their state says it."""
    behind: Store | None = getattr(store, "behind", None)
    if behind is not None:  # what agents read of a name may be masked
        documents = [*behind.documents.by_id([document.id for document in documents]).values()]
    found = {}
    for document in documents:
        collection = config.collections.get(document.collection)
        file = "" if collection is None else _on_disk(collection, document)
        if file and not unread_since(store, document):  # its stage says more
            found[document.id] = Stale(file)
    return found


STALE = Kind(Stale, _stale)


def _on_disk(collection: Collection, document: Document) -> Literal["gone", "changed", ""]:
    """Return how the file of a document differs from the one that was indexed; "" if it seems the same."""
    indexed = document.size, document.modified_ns
    try:
        if "#" not in document.path and _state(os.path.join(collection.path, document.path)) == indexed:
            return ""
    except (OSError, ValueError):
        pass
    from qmd.sources.walk import state_of  # most files are unchanged

    try:
        state = state_of(collection, document.path)
    except (OSError, ValueError):
        return ""  # it may be as it was
    if state is None:
        return "gone" if os.path.isdir(collection.path) else ""
    if state[:2] == indexed:
        return ""
    if state.size == document.size:  # it may only have been touched, as by a copy or a checkout
        from qmd.sources.reading import has_text

        return "" if has_text(collection, document.path, document.hash) else "changed"
    return "changed"


def _state(path: str) -> tuple[int, int]:
    return Fingerprint.of(os.stat(path))[:2]


def unread_since(store: Store, document: Document | Hit) -> str:
    """Return since when the file of a document could not be read and its text is that of before; else ""."""
    files = unread_files(store, document.collection)
    return (files and (files.get(document.path) or files.get(document.path.rpartition("#")[0]))) or ""


def unread_files(store: Store, collection: str) -> Mapping[str, str]:
    """Return the files of a collection that could not be read any more, by path, and since when."""
    kept, key = store.computed(), ("unread", collection)
    if key not in kept:
        # Agents may know this of a document that they may have.
        collections = getattr(store, "behind", store).collections
        kept[key] = _unread(collections.last_root(collection))
    files: Mapping[str, str] = kept[key]
    return files


def _unread(root: str | None) -> Mapping[str, str]:
    if not root or '"since": "' not in root:
        return {}
    from qmd.engine.indexing.record import ScanRecord

    return ScanRecord.read(root).kept
