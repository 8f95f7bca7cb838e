"""The states of documents if any states one, and files that could not be read any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qmd.engine.documents.notes import Kind
from qmd.store.base import Store
from qmd.types import Config, Document, Hit
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


def unread_since(store: Store, document: Document | Hit) -> str:
    """Return since when the file of a document could not be read and its text is that of before; else ""."""
    kept, key = store.computed(), ("unread", document.collection)
    if key not in kept:
        # Agents may know this of a document that they may have.
        collections = getattr(store, "behind", store).collections
        kept[key] = _unread(collections.last_root(document.collection))
    files: Mapping[str, str] = kept[key]
    return (files and (files.get(document.path) or files.get(document.path.rpartition("#")[0]))) or ""


def _unread(root: str | None) -> Mapping[str, str]:
    if not root or '"kept": {"' not in root:
        return {}
    from qmd.engine.indexing.record import ScanRecord

    return ScanRecord.read(root).unread.kept
