"""Downloading models, only when the user asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from qmd.config.settings import Settings
from qmd.config.validate import require_unicode
from qmd.engine.models.provider import model_setting
from qmd.engine.models.usage import ROLES
from qmd.errors import ModelError
from qmd.models import registry
from qmd.models.catalog import CARDS, ModelCard, Role, find_card
from qmd.models.downloads import DEFAULT_ENDPOINT, Download, Hub, OnBytes, download, parse_source

_ROLES: Mapping[str, Role] = {"generate": "generate", **{str(name): role for name, role in ROLES.items()}}


def select(settings: Settings, names: Sequence[str]) -> list[ModelCard]:
    """Select the models to download by role or by model name; all roles if `names` is empty.

    Models that come with a package, are the user's own files, or run on a server are left out. Raises
    `ModelError` for a name that is neither a role nor a model.
    """
    require_unicode(*names)
    cards: dict[str, ModelCard] = {}
    for name in names or ROLES:
        role = _ROLES.get(name.casefold())
        card = _named(name) if role is None else registry.resolve(model_setting(settings, role), role)
        if card is not None and card.source.startswith("hf:"):
            cards[card.source] = card
    return list(cards.values())


def pull(card: ModelCard, cache_dir: str, environ: Mapping[str, str], on_bytes: OnBytes) -> Download:
    """Download a model's file if it is missing. `HF_ENDPOINT` names a mirror."""
    endpoint = environ.get("HF_ENDPOINT", "").strip() or DEFAULT_ENDPOINT
    hub = Hub(endpoint, environ.get("HF_TOKEN", "").strip() or None)
    return download(card.source, Path(cache_dir), hub, on_bytes)


def _named(name: str) -> ModelCard:
    if name.startswith("hf:"):
        parse_source(name)
    for role in ROLES.values():
        card = find_card(name, role)
        if card is not None:
            return card
    if name.startswith("hf:"):
        return ModelCard(name.rpartition("/")[2], "embed", "llama", name)
    known = ", ".join(card.name for card in CARDS if card.source.startswith("hf:"))
    raise ModelError(f"Unknown model '{name}'", f"Known: {known}; or write hf:owner/repository/file.gguf")
