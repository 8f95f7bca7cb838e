"""Masks for agents, which a feature makes. Without it, agents get nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from qmd.plugins import Table

if TYPE_CHECKING:
    from typing import Protocol

    from qmd.store.base import Store
    from qmd.types import Commit, Config, SourceText

    class Masker(Protocol):
        """Masks the secrets of texts, and of values that come from documents."""

        def mask(self, text: str) -> str:
            """Return a text with the secrets masked."""

        def parts(self, value: Any) -> Any:
            """Return a value of JSON whose strings are masked, but not the names of members."""

        def commits(self, commits: Sequence[Commit]) -> list[Commit]:
            """Return commits with the secrets of their authors, subjects and paths masked."""

        def source(self, source: SourceText) -> SourceText:
            """Return the text of a file, masked, without its fields and links."""


#: `masks` is what agents need: a module with `masker_with` and `AgentStore`.
_AGENTS = Table("qmd.agents", {}, object)


def masker(more: tuple[str, ...] = ()) -> Masker:
    """Return what masks secrets, and `more` of `qmd.types.Mask`.

    Raises:
        PluginError: If this installation lacks masks.
    """
    return cast("Masker", _masks().masker_with(more))


def masker_of(config: Config) -> Masker:
    """Return the masks of secrets that a configuration asks for. Raises as `masker`."""
    return masker(config.masks)


def store_for_agents(store: Store, masker: Callable[[], Masker]) -> Store:
    """Return a store as agents may read it, by what `masker` returns at the time. Raises as `masker`."""
    return cast("Store", _masks().AgentStore(store, masker))


def _masks() -> Any:
    return _AGENTS.load("masks")
