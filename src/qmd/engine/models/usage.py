"""The models that an index uses, by role: their state on this machine, and which can be downloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from qmd.config.settings import Settings
from qmd.config.validate import require_unicode
from qmd.engine.models.provider import model_setting
from qmd.errors import ModelError
from qmd.models import registry
from qmd.models.catalog import CARDS, Condition, Installation, ModelCard, Role, find_card
from qmd.models.downloads import parse_source

RoleName = Literal["embed", "rerank", "expand"]

#: The user's names for the roles, and the names in the configuration.
ROLES: Mapping[RoleName, Role] = {"embed": "embed", "rerank": "rerank", "expand": "generate"}
_ROLES: Mapping[str, Role] = {"generate": "generate", **{str(name): role for name, role in ROLES.items()}}


class ModelUse(Struct, frozen=True):
    """A role and its model.

    Attributes:
        setting: The value in the configuration; None for the default model.
        card: The model's card; None for a role without a model and for an unknown model.
        installation: The model's state on this machine; None for a role without a model.
    """

    role: RoleName
    setting: str | None
    card: ModelCard | None
    installation: Installation | None

    @property
    def name(self) -> str | None:
        """The model's name, or None if the role has no model."""
        if self.card is not None:
            return self.card.name
        return None if self.installation is None else self.setting

    @property
    def condition(self) -> Condition | Literal["none"]:
        """The model's condition, or `none` if the role has no model."""
        return "none" if self.installation is None else self.installation.condition


def models(settings: Settings, cache_dir: str, *, thorough: bool = False) -> tuple[ModelUse, ...]:
    """Return every role's model without loading it; `thorough` compares checksums."""
    packages: dict[str, Installation] = {}

    def inspect(card: ModelCard) -> Installation:
        if not card.source.startswith("pypi:"):
            return registry.inspect(card, Path(cache_dir), thorough=thorough)
        # The roles of a package share its files, and checksums of large files take long.
        if card.source not in packages:
            packages[card.source] = registry.inspect(card, Path(cache_dir), thorough=thorough)
        return packages[card.source]

    uses = []
    for name, role in ROLES.items():
        setting = model_setting(settings, role)
        try:
            card = registry.resolve(setting, role)
        except ModelError as error:
            unknown = Installation("unknown", reason=error.message, hint=error.hint)
            uses.append(ModelUse(name, setting, None, unknown))
        else:
            uses.append(ModelUse(name, setting, card, inspect(card) if card else None))
    return tuple(uses)


def select(settings: Settings, names: Sequence[str]) -> list[ModelCard]:
    """Select the models to download by role or by model name; all roles if `names` is empty.

    Models that come with an installed package, are the user's own files, or run on a server are left out.
    Raises `ModelError` for a name that is neither a role nor a model.
    """
    require_unicode(*names)
    cards: dict[str, ModelCard] = {}
    for name in names or ROLES:
        role = _ROLES.get(name.casefold())
        card = _named(name) if role is None else registry.resolve(model_setting(settings, role), role)
        if card is not None and registry.is_downloadable(card):
            cards.setdefault(card.source, card)
    return list(cards.values())


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
    raise ModelError(f"Unknown model '{name}'", f"known: {known}; or write hf:owner/repository/file.gguf")
