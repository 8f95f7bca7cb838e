"""What goes to models on other machines: said before the first time, and never what is to stay at home."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from qmd.engine.models.provider import ModelProvider
from qmd.errors import QmdError
from qmd.store.base import Store
from qmd.types import Config

if TYPE_CHECKING:
    from qmd.models.catalog import Role

_WHAT: dict[Role, str] = {
    "embed": "the text of your documents and queries",
    "rerank": "your queries and passages of your documents",
    "generate": "your queries",
}


def announce(store: Store, roles: ModelProvider, role: Role) -> None:
    """Say, before the first time, what is sent to another machine for a role, and to which.

    The index remembers that it was said, in so far as it can be written.
    """
    server = roles.server(role)
    if server is None:
        return
    key = f"said:{role}:{roles.setting(role)}"
    if store.cache_get(key) is not None:
        return
    roles.report(
        f"from now on {_WHAT[role]} are sent to {server}; "
        "'models: {remote: deny}' on a collection keeps its text here"
    )
    with suppress(QmdError):
        store.cache_put({key: server})


def kept(config: Config, roles: ModelProvider, role: Role) -> frozenset[str]:
    """The collections whose text may not go where the model of a role is."""
    private = frozenset(name for name, each in config.collections.items() if not each.remote)
    return private if private and roles.server(role) is not None else frozenset()


def sendable(names: Iterable[str], kept_here: frozenset[str]) -> tuple[str, ...]:
    """Those of some collections whose text may be sent."""
    return tuple(name for name in names if name not in kept_here)


def staying(names: Sequence[str]) -> str:
    """Why some collections are left out, in a line."""
    return f"{', '.join(sorted(names))}: the text stays on this machine (models: {{remote: deny}})"
