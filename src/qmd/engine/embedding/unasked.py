"""Vectors that updates and watchers make without being asked: of which collections, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd._version import __version__
from qmd.engine.models.egress import allowed, local_only
from qmd.store.values import Scope

if TYPE_CHECKING:
    from qmd.engine.models.provider import ModelProvider
    from qmd.store.base import Store
    from qmd.types import Collection, Config


def embeds_unasked(collection: Collection, models: ModelProvider) -> bool:
    """Return whether updates and watchers make the vectors of a collection; see `embed` in index.yml."""
    if collection.embed is not None:
        return collection.embed == "auto"
    # Texts are not sent to another machine unasked.
    return models.server("embed") is None


def lacking_vectors(
    store: Store, config: Config, models: ModelProvider, collections: Sequence[str]
) -> tuple[str, ...]:
    """Return those of some collections whose vectors are made unasked, and that have texts without vectors.

    The model is not asked who it is, which would import much: the last embedding has recorded that. Before
    the first one every text lacks vectors.
    """
    embedder = store.answers.get(_key(models)) or ""
    names = [name for name in collections if embeds_unasked(config.collections[name], models)]
    names = [*allowed(names, local_only(config, models, "embed"))]
    return tuple(name for name in names if store.pending.count(embedder, Scope((name,))))


def record_embedder(store: Store, models: ModelProvider) -> None:
    """Record the fingerprint of the configured embedder in the index, for `lacking_vectors`."""
    key, fingerprint = _key(models), models.fingerprint
    if store.answers.get(key) != fingerprint:
        store.answers.put({key: fingerprint})


def _key(models: ModelProvider) -> str:
    """Return what decides about the fingerprint: the program, and the model that the settings name."""
    return f"embedder:{__version__}:{models.setting('embed') or ''}"
