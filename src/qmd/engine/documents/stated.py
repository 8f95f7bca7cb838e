"""Whether any document of an index says something of its state: a look at the names of fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qmd.store.base import Store
from qmd.types import Config

if TYPE_CHECKING:
    from qmd.engine.documents.states import States


def states_in(store: Store, config: Config) -> States | None:
    """Return the states of the documents of an index; None if none of them says anything of its state."""
    kept, key = store.computed(), ("stated", config.digest, *config.collections)
    if key not in kept:
        kept[key] = store.fields.existing([*config.collections], [*config.state_fields])
    if not kept[key]:
        return None
    from qmd.engine.documents.states import states_of

    return states_of(store, config)
