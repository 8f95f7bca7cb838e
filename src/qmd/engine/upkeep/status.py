"""The status of an index: its collections, vectors and models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qmd.engine.embedding.active_vectors import embedded_share, select
from qmd.engine.models.egress import allowed, local_only
from qmd.engine.models.provider import ModelProvider
from qmd.errors import ModelError, VectorIndexMissingError
from qmd.store.base import Scope, Store
from qmd.types import Config


@dataclass(frozen=True, slots=True)
class CollectionStatus:
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


@dataclass(frozen=True, slots=True)
class VectorsStatus:
    """The vectors of one embedder, and the share of the texts that have them (0 to 1).

    `current` is true if searches use the vectors. `configured` is true if the settings name their embedder.
    After a change of model, searches use the earlier vectors until the new ones are complete.
    """

    model: str
    chunks: int
    current: bool
    configured: bool
    share: float


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an index.

    Attributes:
        size: Bytes on disk, 0 before the index exists.
        needs_embedding: The number of texts without vectors.
        models: (role, model name or the reason why it is not available).
        last_updated: The time of the latest scan of any collection.
        notes: Messages for the user, one line each.
    """

    index: str
    config: str
    size: int
    total_documents: int
    needs_embedding: int
    has_vector_index: bool
    collections: tuple[CollectionStatus, ...]
    vectors: tuple[VectorsStatus, ...]
    models: tuple[tuple[str, str], ...]
    ranking: str
    last_updated: str | None = None
    notes: tuple[str, ...] = ()


def gather(
    store: Store, config: Config, provider: ModelProvider, ranking: str, notes: Sequence[str]
) -> Status:
    """Collect the status of an index without changing it."""
    collections = _collections(store, config)
    scope = Scope(tuple(config.collections))
    total = sum(collection.documents for collection in collections)
    try:
        fingerprint = provider.fingerprint
        embeddable = Scope(allowed(scope.collections, local_only(config, provider, "embed")))
        pending = store.pending.count(fingerprint, embeddable)
    except ModelError:
        fingerprint, pending = "", total
    models = (
        ("embed", _name(lambda: provider.embedder.name)),
        ("rerank", _name(lambda: provider.reranker.name)),
        ("expand", _name(lambda: provider.expander.name if provider.expander else "none")),
    )
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
        models=models,
        ranking=ranking,
        last_updated=max((item.last_updated for item in collections if item.last_updated), default=None),
        notes=tuple(notes),
    )


def _collections(store: Store, config: Config) -> tuple[CollectionStatus, ...]:
    stats = store.collections.stats()
    statuses = []
    for collection in config.collections.values():
        indexed = stats.get(collection.name)
        statuses.append(
            CollectionStatus(
                collection.name,
                collection.path,
                collection.pattern,
                indexed.documents if indexed else 0,
                indexed.bytes if indexed else 0,
                indexed.updated_at if indexed else None,
                collection.include_by_default,
                len(collection.context),
            )
        )
    return tuple(statuses)


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
