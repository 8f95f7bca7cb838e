"""The models that an index uses, by role, and their state on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from qmd.config.settings import Settings
from qmd.engine.models.provider import model_setting
from qmd.errors import ModelError
from qmd.models import registry
from qmd.models.catalog import Condition, Installation, ModelCard, Role

RoleName = Literal["embed", "rerank", "expand"]

#: The user's names for the roles, and the names in the configuration.
ROLES: Mapping[RoleName, Role] = {"embed": "embed", "rerank": "rerank", "expand": "generate"}


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
