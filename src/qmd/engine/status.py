"""What there is: the index, its collections, its vectors, its models."""

from __future__ import annotations

from dataclasses import dataclass


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
    """Vectors of one embedder; `current` where it is the one that searches use."""

    model: str
    chunks: int
    current: bool


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an index. `notes` are things the user should know, a line each."""

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
    notes: tuple[str, ...] = ()
