"""The status of an index: its collections, vectors and models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from qmd.config.paths import ALTERNATIVE_INDEX
from qmd.engine.access.kept import KeptDocuments
from qmd.engine.access.rules import READ
from qmd.engine.documents.dated import origins, unread_dates
from qmd.engine.documents.stated import states_in
from qmd.engine.embedding.active_vectors import embeddable, embedded_share, select
from qmd.engine.indexing.unread import describe
from qmd.engine.models.provider import ModelProvider
from qmd.engine.parts import Part
from qmd.engine.requests import DEFAULT_RANKING, collections_of
from qmd.engine.watching.election import WatchState, find_watcher
from qmd.engine.workspace import Workspace
from qmd.errors import ModelError, VectorIndexMissingError
from qmd.store.base import Store
from qmd.store.values import LEFT_OUT, CollectionStats, Scope
from qmd.text.values import LANGUAGE, shown
from qmd.text.wording import plain, plural
from qmd.types import Config
from qmd.types.clock import now


class CollectionStatus(Struct, frozen=True):
    """One collection, as configured and as indexed.

    `last_updated` is an ISO 8601 time in UTC, None before the first scan. `contexts` is their number.
    """

    name: str
    path: str
    pattern: str
    documents: int
    bytes: int
    last_updated: str | None
    include_by_default: bool
    contexts: int
    agents: bool = True  #: Whether agents may have its documents


class VectorsStatus(Struct, frozen=True):
    """The vectors of one embedder, and the share of the texts that have them (0 to 1).

    `current` is true if searches use the vectors. `configured` is true if the settings name their embedder.
    After a change of model, searches use the earlier vectors until the new ones are complete.
    """

    model: str
    chunks: int
    current: bool
    configured: bool
    share: float


#: The most languages that are told.
_MOST_LANGUAGES = 20


class Status(Struct, frozen=True):
    """The state of an index."""

    index: str
    config: str
    size: int  #: Bytes on disk, 0 before the index exists
    total_documents: int
    needs_embedding: int  #: The number of texts without vectors
    has_vector_index: bool
    collections: tuple[CollectionStatus, ...]
    vectors: tuple[VectorsStatus, ...]
    models: tuple[tuple[str, str], ...]  #: (role, model name or the reason why it is not available)
    ranking: str
    last_updated: str | None = None  #: The time of the latest scan of any collection
    notes: tuple[str, ...] = ()  #: Messages for the user, one line each
    watcher: WatchState | None = None  #: The process that keeps the index as the files are
    portable: bool = False  #: Whether the index is a portable file, which is only read
    texts: bool = True  #: Whether the index has the texts of its documents
    #: The number of documents by the origin of their date: `text`, `name`, `git`, `file`, or "" if unknown
    dates: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)  #: The number of documents by language

    @property
    def watching(self) -> Literal["events", "polling", "off"]:
        """The way in which changes are noticed: `events`, `polling`, or `off`."""
        if self.watcher is None:
            return "off"
        return "polling" if self.watcher.polled else "events"


class StatusMethods(Part, rule=READ):
    """Describe the state of an index."""

    def status(self) -> Status:
        """Return the state of the index, its collections, vectors and models. Reads only."""
        workspace = self._workspace
        store, config, provider = workspace.store, workspace.config, workspace.models
        mark = _mark(store)
        collections = self.collection_statuses()
        total = sum(collection.documents for collection in collections)
        try:
            fingerprint = provider.fingerprint
            pending = store.pending.count(fingerprint, embeddable(config, provider))
        except ModelError:
            fingerprint, pending = "", total
        vectors = _vectors(store, config, provider, fingerprint)
        return Status(
            index=store.location,
            config=config.path,
            size=store.size(),
            total_documents=total,
            needs_embedding=pending,
            has_vector_index=any(vector_set.current for vector_set in vectors),
            collections=collections,
            vectors=vectors,
            models=(
                ("embed", _name(lambda: provider.embedder.name)),
                ("rerank", _name(lambda: provider.reranker.name)),
                ("expand", _name(lambda: provider.expander.name if provider.expander else "none")),
            ),
            ranking=workspace.settings.ranking or DEFAULT_RANKING,
            last_updated=max((item.last_updated for item in collections if item.last_updated), default=None),
            notes=(*workspace.notes, *workspace.configuration.trust.notes(), *_notes(workspace)),
            watcher=None if mark is not None else find_watcher(workspace.locations.index),
            portable=mark is not None,
            texts=mark is None or mark.texts,
            dates=origins(store, config, total),
            languages={
                shown(each.value): each.documents
                for each in store.fields.values(Scope((*config.collections,)), LANGUAGE, _MOST_LANGUAGES)
            },
        )

    def collection_statuses(self) -> tuple[CollectionStatus, ...]:
        """Return the state of each collection, as `status` does, without that of vectors and models."""
        stats, config = self._workspace.store.collections.stats(), self._workspace.config
        found = []
        for name, collection in config.collections.items():
            indexed = stats.get(name, CollectionStats(0, 0, None))
            found.append(
                CollectionStatus(
                    name,
                    collection.path,
                    collection.selection,
                    indexed.documents,
                    indexed.bytes,
                    indexed.updated_at,
                    collection.include_by_default,
                    len(collection.context),
                    collection.agents,
                )
            )
        return tuple(found)

    def indexed_at(self, collections: Sequence[str] = ()) -> str | None:
        """Return the time of the oldest last scan of collections (those searched, if none is named).

        If a process watches the collections, and the index has all changes, it is the present time. ISO 8601
        in UTC; None if one was never scanned. Results do not show later changes on disk.
        """
        scans = self._workspace.store.collections.last_scans()
        watcher, moment = find_watcher(self._workspace.locations.index), now()
        times = []
        for name in collections_of(self._workspace.config, collections):
            scanned = scans.get(name) or ""
            checked = watcher.indexed_at(name, moment) if watcher and scanned else ""
            times.append(max(scanned, checked))
        return min(times, default="") or None


def _mark(store: Store) -> Any:
    """Return what a portable file says of itself; None of another index."""
    return getattr(getattr(store, "behind", store), "mark", None)


def _notes(workspace: Workspace) -> Iterator[str]:
    """Yield what the owner of an index should know of it."""
    store, config, mark = workspace.store, workspace.config, _mark(workspace.store)
    if os.path.basename(store.location) == ALTERNATIVE_INDEX:
        yield "the default index file belongs to another program: this one stands beside it"
    if mark is not None:
        yield f"this portable file was made at {plain(mark.created)[:40]} and is only read"
        if not mark.texts:
            yield LEFT_OUT
    for name, collection in config.collections.items():
        for line in describe(collection, store.collections.last_root(name)):
            yield f"{name}: {line}"
    states = states_in(store, config)
    if states is not None and (states.sink or states.cycles):
        yield f"states of documents: {states.summary()}; 'qmd doctor --stale' lists what to mend"
    if not workspace.permissions.agent and (kept := len(KeptDocuments(store).ids())):
        yield f"agents do not have {plural(kept, 'document')} with 'agents: false'"
    if mark is None and (waiting := store.documents.without_structures()):
        yield f"{plural(waiting, 'text')} without structure: 'qmd update' makes searches in them faster"
    if unread := unread_dates(store, config):
        yield f"{plural(unread, 'document')} with a date that cannot be read; 'qmd doctor' names them"


def _vectors(
    store: Store, config: Config, provider: ModelProvider, configured: str
) -> tuple[VectorsStatus, ...]:
    """Return the vector sets, first the one that searches use."""
    try:
        active = select(store, config, provider, Scope(tuple(config.collections))).fingerprint
    except (ModelError, VectorIndexMissingError):
        active = ""
    chunks = store.vector_sets.chunk_counts()
    statuses = [
        VectorsStatus(
            vector_set.name,
            chunks.get(vector_set.fingerprint, 0),
            vector_set.fingerprint == active,
            vector_set.fingerprint == configured,
            round(embedded_share(store, config, provider, vector_set.fingerprint), 4),
        )
        for vector_set in store.vector_sets.all()
    ]
    return tuple(sorted(statuses, key=lambda status: not status.current))


def _name(name: Callable[[], str]) -> str:
    """Return a model's name, or the reason why it is not available."""
    try:
        return name()
    except ModelError as error:
        return error.in_one_line()
