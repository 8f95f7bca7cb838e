"""The collections that a caller may see, and whether the caller may change them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from qmd.config.contexts import mapped, only
from qmd.engine.access.masks import masker_of
from qmd.errors import ConfigError, ForbiddenError
from qmd.types import Config


class Permissions(Struct, frozen=True):
    """The access of a caller to an index.

    Attributes:
        collections: The visible collections; None for all.
        read_only: Whether it may change nothing.
        contexts: Whether it is shown the contexts.
        agent: Whether it is an agent, which is not shown secrets, nor what is kept from agents.
    """

    collections: frozenset[str] | None = None
    read_only: bool = False
    contexts: bool = True
    agent: bool = False

    @property
    def write(self) -> bool:
        """Whether the caller may change the index."""
        return not self.read_only

    @property
    def everything(self) -> bool:
        """Whether nothing is hidden from the caller."""
        return self.collections is None and not self.agent

    @property
    def manage(self) -> bool:
        """Whether the caller may also do what concerns everyone."""
        return self.write and self.everything

    def narrowed(
        self,
        collections: Collection[str] | None,
        *,
        read_only: bool,
        contexts: bool = True,
        agent: bool = False,
    ) -> Permissions:
        """Return these permissions with further restrictions. They can never be widened."""
        names = None if collections is None else frozenset(collections)
        if self.collections is not None:
            names = self.collections if names is None else self.collections & names
        return Permissions(
            names, self.read_only or read_only, self.contexts and contexts, self.agent or agent
        )

    def visible(self, config: Config) -> Config:
        """Return a configuration without the collections and contexts that are not visible."""
        if not self.contexts:
            config = only(config, ())
        elif self.agent:
            config = mapped(config, masker_of(config).mask)
        collections = {
            name: item
            for name, item in config.collections.items()
            if (self.collections is None or name in self.collections) and (item.agents or not self.agent)
        }
        if self.collections is None and len(collections) == len(config.collections):
            return config
        return replace(config, collections=collections, restricted=True)

    def require_write(self) -> None:
        """Raise `ForbiddenError` if the caller may change nothing."""
        if self.read_only:
            raise ForbiddenError("this access is read-only")

    def require_all(self, action: str) -> None:
        """Raise `ForbiddenError` if something may be hidden from the caller. `action` completes "may not"."""
        if self.agent:
            raise ForbiddenError(f"access for agents may not {action}")
        if self.collections is not None:
            names = ", ".join(sorted(self.collections))
            raise ForbiddenError(f"access that is limited to collections ({names}) may not {action}")

    @contextmanager
    def hide_names(self, reason: str) -> Iterator[None]:
        """Replace the message of a `ConfigError`, which may name collections that are not visible."""
        try:
            yield
        except ConfigError as error:
            if self.collections is None and not self.agent:
                raise
            raise ConfigError(reason) from error
