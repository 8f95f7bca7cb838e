"""What there is: the index, its collections, its vectors, its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qmd.engine.embedding.active_vectors import choose, share
from qmd.engine.models.egress import allowed, local_only
from qmd.engine.models.provider import ModelProvider
from qmd.errors import ModelError, VectorIndexMissingError
from qmd.store.base import Scope, Store
from qmd.types import Config


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """One collection, as configured and as indexed. `last_updated` is ISO 8601 in UTC, None before a scan."""

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
    """The vectors of one embedder, and the share of the texts that have them, 0..1.

    `current` where searches use them, `configured` where they are by the model that the settings name: after
    a change of model, one set answers while the other is being made.
    """

    model: str
    chunks: int
    current: bool
    configured: bool
    share: float


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an index.

    `size` are bytes on the disk, 0 before the index is made. `needs_embedding` counts texts. `last_updated`
    is the newest scan of any collection. `notes` are things the user should know, a line each.
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


def gather(store: Store, config: Config, roles: ModelProvider, ranking: str, notes: Sequence[str]) -> Status:
    """Look everything up. Reads only."""
    collections = _collections(store, config)
    scope = Scope(tuple(config.collections))
    total = sum(each.documents for each in collections)
    try:
        fingerprint = roles.fingerprint
        sent = Scope(allowed(scope.collections, local_only(config, roles, "embed")))
        pending = store.pending_count(fingerprint, sent)
    except ModelError:
        fingerprint, pending = "", total
    models = (
        ("embed", _named(lambda: roles.embedder.name)),
        ("rerank", _named(lambda: roles.reranker.name)),
        ("expand", _named(lambda: roles.expander.name if roles.expander else "none")),
    )
    vectors = _vectors(store, config, roles, fingerprint)
    return Status(
        index=store.location,
        config=config.path,
        size=store.size(),
        total_documents=total,
        needs_embedding=pending,
        has_vector_index=any(each.current for each in vectors),
        collections=collections,
        vectors=vectors,
        models=models,
        ranking=ranking,
        last_updated=max((each.last_updated for each in collections if each.last_updated), default=None),
        notes=tuple(notes),
    )


def _collections(store: Store, config: Config) -> tuple[CollectionStatus, ...]:
    stats = store.collection_stats()
    found = []
    for each in config.collections.values():
        known = stats.get(each.name)
        found.append(
            CollectionStatus(
                each.name,
                each.path,
                each.pattern,
                known.documents if known else 0,
                known.bytes if known else 0,
                known.updated_at if known else None,
                each.include_by_default,
                len(each.context),
            )
        )
    return tuple(found)


def _vectors(
    store: Store, config: Config, roles: ModelProvider, configured: str
) -> tuple[VectorsStatus, ...]:
    """The sets, the one that answers first."""
    try:
        answers = choose(store, config, roles, Scope(tuple(config.collections))).fingerprint
    except (ModelError, VectorIndexMissingError):
        answers = ""
    chunks = store.chunk_counts()
    found = [
        VectorsStatus(
            each.name,
            chunks.get(each.fingerprint, 0),
            each.fingerprint == answers,
            each.fingerprint == configured,
            round(share(store, config, roles, each.fingerprint), 4),
        )
        for each in store.vector_sets()
    ]
    return tuple(sorted(found, key=lambda each: not each.current))


def _named(name: Callable[[], str]) -> str:
    """A model's name, or why it cannot be had."""
    try:
        return name()
    except ModelError as error:
        return error.in_one_line()
