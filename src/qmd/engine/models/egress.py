"""The texts that may be sent to models on other machines, and the notice before the first transfer."""

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

_TEXT_SENT: dict[str, str] = {
    "embed": "the text of your documents and queries",
    "rerank": "your queries and passages of your documents",
    "generate": "your queries",
    "ask": "your questions and passages of your documents",
}


def disclose(store: Store, models: ModelProvider, role: Role, use: str | None = None) -> None:
    """Tell the user, once per remote model, which text is sent to which server.

    `use` names another use of the model than that of its role. The index records that the user was told. If
    the index is read-only, the notice is repeated.
    """
    server = models.server(role)
    if server is None:
        return
    key = f"said:{use or role}:{models.setting(role)}"
    if store.answers.get(key) is not None:
        return
    models.report(
        f"from now on {_TEXT_SENT[use or role]} are sent to {server}; "
        "set 'models: {remote: deny}' on a collection to keep its text on this machine"
    )
    with suppress(QmdError):
        store.answers.put({key: server})


def local_only(config: Config, models: ModelProvider, role: Role) -> frozenset[str]:
    """Return the collections whose text must not be sent to a role's model; none if it runs here."""
    private = frozenset(name for name, collection in config.collections.items() if not collection.remote)
    return private if private and models.server(role) is not None else frozenset()


def allowed(names: Iterable[str], local: frozenset[str]) -> tuple[str, ...]:
    """Return the collections whose text may be sent: `names` without `local`."""
    return tuple(name for name in names if name not in local)


def explain_local(names: Sequence[str]) -> str:
    """Explain in one line why some collections are left out."""
    return f"{', '.join(sorted(names))}: the text stays on this machine (models: {{remote: deny}})"
