"""The sessions of documents that are transcripts of coding agents."""

from __future__ import annotations

from collections.abc import Iterable

from qmd.engine.documents.notes import Kind
from qmd.store.base import Store
from qmd.types import Config, Document
from qmd.types.sessions import AgentSession


def _sessions_of(store: Store, config: Config, documents: Iterable[Document]) -> dict[int, AgentSession]:
    """Return the sessions of documents by id, without documents that are no transcripts."""
    ids = [document.id for document in documents if _may_be_one(document.path)]
    if not ids:
        return {}
    from qmd.text.sessions import session_of  # searches of notes start without it

    found = {identity: session_of(fields) for identity, fields in store.fields.of(ids).items()}
    return {identity: session for identity, session in found.items() if session is not None}


def _may_be_one(path: str) -> bool:
    """Return whether a path is that of a file, or in a file, that a format of transcripts reads."""
    return path.lower().endswith((".jsonl", ".json")) or ".db#" in path.lower()


SESSION = Kind(AgentSession, _sessions_of)
