"""The methods of `Index` about its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qmd.engine.access.rules import READ, Rule
from qmd.engine.models import usage
from qmd.engine.parts import Part
from qmd.models import registry
from qmd.models.catalog import ModelCard
from qmd.models.downloads import Download, OnBytes


class ModelMethods(Part, rule=READ):
    """List, fetch and release models."""

    _rules: Mapping[str, Rule] = {
        "pull": Rule(changes=True, action="fetch models, which everyone's searches use")
    }

    @property
    def model_loaded(self) -> bool:
        """True if the embedder is in memory."""
        return self._workspace.models.loaded

    def release_models(self) -> None:
        """Free the memory of the models. The next call that needs them loads them again."""
        self._workspace.models.release()

    def models(self) -> tuple[usage.ModelUse, ...]:
        """List the model of each role, and its files on this machine. Reads only, and loads nothing."""
        return usage.models(self._workspace.settings, self._workspace.cache_dir)

    def pullable(self, names: Sequence[str] = ()) -> list[ModelCard]:
        """List the models that `pull` can fetch; see `usage.select`."""
        return usage.select(self._workspace.settings, names)

    def pull(self, card: ModelCard, *, on_bytes: OnBytes = lambda done, total: None) -> Download:
        """Fetch the file of a model. Raises `ModelError`, and `BusyError` if another process fetches it."""
        workspace = self._workspace
        return registry.download(card, workspace.cache_dir, workspace.environ, on_bytes)
