"""The models that need no download: multilingual-e5-small embeds and, by its token vectors, reranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qmd.config.settings import Settings
    from qmd.models.catalog import ModelCard
    from qmd.models.e5.embedder import E5Embedder
    from qmd.models.e5.reranker import LateInteractionReranker


def load_embedder(
    card: ModelCard,
    *,
    cache_dir: Path,
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> E5Embedder:
    """The embedder, its weights not yet read. Raises ModelError if they are not installed."""
    from qmd.models.e5 import convert, weights
    from qmd.models.e5.embedder import E5Embedder
    from qmd.models.e5.model import shared_model

    if not convert.is_ready(cache_dir):
        weights.locate()
    return E5Embedder(shared_model(cache_dir, settings.threads if settings else None, progress))


def load_reranker(
    card: ModelCard,
    *,
    cache_dir: Path,
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> LateInteractionReranker:
    """The reranker, over the same weights in memory as the embedder's."""
    from qmd.models.e5.reranker import LateInteractionReranker

    return LateInteractionReranker(
        load_embedder(card, cache_dir=cache_dir, settings=settings, progress=progress)
    )
