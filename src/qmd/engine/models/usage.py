"""The models that an index uses, by role, and their state on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.models import registry
from qmd.models.catalog import Condition, Installation, ModelCard, Role

#: The user's names for the roles. In the configuration, `expand` is called `generate`.
RoleName = Literal["embed", "rerank", "expand"]


@dataclass(frozen=True, slots=True)
class ModelUse:
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
    folder = Path(cache_dir)
    return (
        _use("embed", "embed", settings.embed_model, folder, thorough),
        _use("rerank", "rerank", settings.rerank_model, folder, thorough),
        _use("expand", "generate", settings.generate_model, folder, thorough),
    )


def _use(name: RoleName, role: Role, setting: str | None, cache_dir: Path, thorough: bool) -> ModelUse:
    try:
        card = registry.resolve(setting, role)
    except ModelError as error:
        return ModelUse(name, setting, None, Installation("unknown", reason=error.message, hint=error.hint))
    installation = None if card is None else registry.inspect(card, cache_dir, thorough=thorough)
    return ModelUse(name, setting, card, installation)
