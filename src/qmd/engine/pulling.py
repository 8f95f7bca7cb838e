"""Fetching models, when a user asks for it, and never else (E46)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.models import registry
from qmd.models.catalog import CARDS, ModelCard, Role, find
from qmd.models.fetching import DEFAULT_ENDPOINT, Fetched, OnBytes, Origin, fetch
from qmd.models.store import parse_remote

#: As the user knows the roles, to the name the configuration has for them.
_ROLES: Mapping[str, Role] = {
    "embed": "embed",
    "rerank": "rerank",
    "expand": "generate",
    "generate": "generate",
}


def wanted(settings: Settings, names: Sequence[str]) -> list[ModelCard]:
    """The models to fetch: of all roles where none is named, else of roles, or by their own names.

    Those that come inside a package, lie in a file of the user's or are on a server are left out. Raises
    `ModelError` for a name that is neither a role nor a model.
    """
    found: dict[str, ModelCard] = {}
    for name in names or ("embed", "rerank", "expand"):
        role = _ROLES.get(name.casefold())
        card = _named(name) if role is None else registry.resolve(_setting(settings, role), role)
        if card is not None and card.source.startswith("hf:"):
            found[card.source] = card
    return list(found.values())


def pull(card: ModelCard, cache_dir: str, environ: Mapping[str, str], on_bytes: OnBytes) -> Fetched:
    """Have a model's file on this machine; see `fetch`. `HF_ENDPOINT` names a mirror."""
    endpoint = environ.get("HF_ENDPOINT", "").strip() or DEFAULT_ENDPOINT
    return fetch(
        card.source, Path(cache_dir), Origin(endpoint, environ.get("HF_TOKEN", "").strip() or None), on_bytes
    )


def _named(name: str) -> ModelCard:
    if name.startswith("hf:"):
        parse_remote(name)
    for role in get_args(Role):
        card = find(name, role)
        if card is not None:
            return card
    if name.startswith("hf:"):
        return ModelCard(name.rpartition("/")[2], "embed", "llama", name, "", 0, 0, "")
    known = ", ".join(card.name for card in CARDS if card.source.startswith("hf:"))
    raise ModelError(f"Unknown model '{name}'", f"Known: {known}; or write hf:owner/repository/file.gguf")


def _setting(settings: Settings, role: Role) -> str | None:
    match role:
        case "embed":
            return settings.embed_model
        case "rerank":
            return settings.rerank_model
        case "generate":
            return settings.generate_model
