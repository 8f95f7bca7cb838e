"""The models that an index uses: by role, and what is on this machine of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.models import registry
from qmd.models.catalog import Condition, Installation, ModelCard, Role

#: As the user knows the roles; the configuration calls the last one `generate`.
RoleName = Literal["embed", "rerank", "expand"]


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A role and its model.

    `setting` is what the configuration says, None where it leaves the choice to us. `card` is None for a role
    without a model, and for a model that nothing is known of; `installation` is None for the former alone.
    """

    role: RoleName
    setting: str | None
    card: ModelCard | None
    installation: Installation | None

    @property
    def name(self) -> str | None:
        """What to call the model; None where the role has none."""
        if self.card is not None:
            return self.card.name
        return None if self.installation is None else self.setting

    @property
    def condition(self) -> Condition | Literal["none"]:
        """How the model is."""
        return "none" if self.installation is None else self.installation.condition


def models(settings: Settings, cache_dir: str, *, thorough: bool = False) -> tuple[ModelUse, ...]:
    """Every role's model. Loads nothing and writes nothing; `thorough` compares checksums."""
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
    found = None if card is None else registry.inspect(card, cache_dir, thorough=thorough)
    return ModelUse(name, setting, card, found)
