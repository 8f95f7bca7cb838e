"""From a model's name to its backend, imported on use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.models.base import Embedder, Expander, Reranker
from qmd.models.catalog import CARDS, DEFAULTS, Installation, Leftover, ModelCard, Role, find

Progress = Callable[[str], None]

#: (role, backend) to the "module:function" that loads it. A card whose backend is not here can be shown but
#: not used.
BACKENDS: dict[tuple[str, str], str] = {
    ("embed", "e5"): "qmd.models.e5:load_embedder",
    ("rerank", "e5"): "qmd.models.e5:load_reranker",
    ("embed", "llama"): "qmd.models.llama:load_embedder",
    ("rerank", "llama"): "qmd.models.llama:load_reranker",
    ("generate", "llama"): "qmd.models.llama:load_expander",
    ("embed", "openai"): "qmd.models.openai:load_embedder",
    ("rerank", "openai"): "qmd.models.openai:load_reranker",
    ("generate", "openai"): "qmd.models.openai:load_expander",
}

#: Backend to the module that knows its files: `inspect` and `leftovers`.
INSPECTORS: dict[str, str] = {"e5": "qmd.models.e5.installation", "llama": "qmd.models.llama.files"}


_NO_SETTINGS = Settings()


class Loader(Protocol):
    def __call__(
        self, card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Progress | None
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


def lasting_name(spec: str | None, role: Role) -> str:
    """What names the same model for as long as there is one, however it was written and whatever the default.

    Raises ModelError as `resolve` does; empty for a role without a model.
    """
    card = resolve(spec, role)
    if card is None:
        return ""
    return card.name if card in CARDS else card.source


def inspect(card: ModelCard, cache_dir: Path, *, thorough: bool = False) -> Installation:
    """What is on this machine of a model. `thorough` reads every byte and compares checksums.

    Writes nothing, and loads nothing.
    """
    if card.backend == "openai":
        return Installation("remote")
    module = INSPECTORS.get(card.backend)
    if module is None:
        return Installation("unsupported", reason=_unsupported(card), hint=_instead(card.role))
    function = import_module(module).inspect
    return cast(Installation, function(card, cache_dir, thorough=thorough))


def server_of(spec: str | None) -> str | None:
    """The other machine that texts go to for the model `spec` names; None where they stay on this one."""
    if spec is None or not spec.casefold().startswith("openai:"):
        return None
    from qmd.models.openai.address import parse_address

    address = parse_address(spec)
    return None if address.is_local else address.host


def leftovers(cache_dir: Path, before: float) -> list[Leftover]:
    """What earlier versions, and runs that were killed before the time `before`, left in the cache."""
    found: list[Leftover] = []
    for module in INSPECTORS.values():
        found += import_module(module).leftovers(cache_dir, before)
    return found


def load_embedder(
    spec: str | None,
    *,
    cache_dir: Path,
    settings: Settings = _NO_SETTINGS,
    progress: Progress | None = None,
) -> Embedder:
    """The embedder that `spec` names; weights are read at its first use.

    `settings` say how many threads it may take, and how a server is asked. `progress` gets a line before
    anything slow. Raises ModelError if the model is unknown, not installed or of a backend this version has
    not.
    """
    return cast(Embedder, _load(spec, "embed", cache_dir, settings, progress))


def load_reranker(
    spec: str | None,
    *,
    cache_dir: Path,
    settings: Settings = _NO_SETTINGS,
    progress: Progress | None = None,
) -> Reranker:
    """The reranker that `spec` names; as `load_embedder`, whose loaded weights the default shares."""
    return cast(Reranker, _load(spec, "rerank", cache_dir, settings, progress))


def load_expander(
    spec: str | None,
    *,
    cache_dir: Path,
    settings: Settings = _NO_SETTINGS,
    progress: Progress | None = None,
) -> Expander | None:
    """The expander that `spec` names, None where it names none: there is no default expander."""
    return cast("Expander | None", _load(spec, "generate", cache_dir, settings, progress))


def _load(
    spec: str | None, role: Role, cache_dir: Path, settings: Settings, progress: Progress | None
) -> object | None:
    card = resolve(spec, role)
    if card is None:
        return None
    target = BACKENDS.get((role, card.backend))
    if target is None:
        raise ModelError(_unsupported(card), _instead(role))
    module, _, name = target.partition(":")
    loader = cast(Loader, getattr(import_module(module), name))
    return loader(card, cache_dir=cache_dir, settings=settings, progress=progress)


def _unsupported(card: ModelCard) -> str:
    return f"Model '{card.name}' needs the backend '{card.backend}', which this version does not have"


def _instead(role: Role) -> str:
    default = DEFAULTS.get(role)
    return f"Use the default, '{default.name}'." if default else "Leave the setting out."
