"""From a model's name to its backend, imported on use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from qmd.errors import ModelError
from qmd.models.base import Embedder, Expander, Reranker
from qmd.models.catalog import CARDS, DEFAULTS, ModelCard, Role, find

Progress = Callable[[str], None]

#: (role, backend) to the "module:function" that loads it. A card whose backend is not here can be shown but
#: not used.
BACKENDS: dict[tuple[str, str], str] = {
    ("embed", "e5"): "qmd.models.e5:load_embedder",
    ("rerank", "e5"): "qmd.models.e5:load_reranker",
}


class Loader(Protocol):
    def __call__(
        self, card: ModelCard, *, cache_dir: Path, threads: int | None, progress: Progress | None
    ) -> object: ...


def resolve(spec: str | None, role: Role) -> ModelCard | None:
    """The card of what `spec` names, None or "default" being the role's default (None if it has none).

    Raises ModelError for a name nothing is known of.
    """
    if spec is None or spec.casefold() == "default":
        return DEFAULTS.get(role)
    card = find(spec, role)
    if card is None:
        known = ", ".join(card.name for card in CARDS if card.role == role)
        raise ModelError(f"Unknown model '{spec}' for the role '{role}'", f"Known: {known}.")
    return card


def load_embedder(
    spec: str | None,
    *,
    cache_dir: Path,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Embedder:
    """The embedder that `spec` names; weights are read at its first use.

    `threads` is None for the model's own choice. `progress` gets a line before anything slow. Raises
    ModelError if the model is unknown, not installed or of a backend this version has not.
    """
    return cast(Embedder, _load(spec, "embed", cache_dir, threads, progress))


def load_reranker(
    spec: str | None,
    *,
    cache_dir: Path,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Reranker:
    """The reranker that `spec` names; as `load_embedder`, whose loaded weights the default shares."""
    return cast(Reranker, _load(spec, "rerank", cache_dir, threads, progress))


def load_expander(
    spec: str | None,
    *,
    cache_dir: Path,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Expander | None:
    """The expander that `spec` names, None where it names none: there is no default expander."""
    return cast("Expander | None", _load(spec, "generate", cache_dir, threads, progress))


def _load(
    spec: str | None, role: Role, cache_dir: Path, threads: int | None, progress: Progress | None
) -> object | None:
    card = resolve(spec, role)
    if card is None:
        return None
    target = BACKENDS.get((role, card.backend))
    if target is None:
        default = DEFAULTS.get(role)
        raise ModelError(
            f"Model '{card.name}' needs the backend '{card.backend}', which this version does not have",
            f"Use the default, '{default.name}'." if default else "Leave the setting out.",
        )
    module, _, name = target.partition(":")
    loader = cast(Loader, getattr(import_module(module), name))
    return loader(card, cache_dir=cache_dir, threads=threads, progress=progress)
