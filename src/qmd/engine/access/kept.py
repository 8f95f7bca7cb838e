"""The documents that are kept from agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from qmd.search_options import ALL
from qmd.store.values import Scope
from qmd.text.predicates import Comparison, Fields, Not, Operand, Or, Predicate, Written, both, matches

if TYPE_CHECKING:
    from qmd.store.base import Store
    from qmd.types import Config, Document

#: The field by which a document says whether agents may have it.
FIELD = "agents"
_NO: tuple[Operand, ...] = (False, *(Written(word) for word in ("false", "no", "off", "none", "0")))
KEPT: Predicate = Or(tuple(Comparison(FIELD, "eq", value) for value in _NO))


class KeptDocuments:
    """The documents of a store that are kept from agents."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def ids(self, collections: tuple[str, ...] | None = None) -> frozenset[int]:
        """Return the ids of the documents that say `agents: false`, by default in all collections."""
        if collections is None:
            collections = tuple(self._store.collections.last_scans())
        if not self._store.fields.existing(collections, [FIELD]):
            return frozenset()
        return frozenset(self._store.fields.newest(Scope(collections, KEPT), ALL))

    def without(self, scope: Scope) -> Scope:
        """Return a scope without these documents, which do not count in its statistics either."""
        ids = self.ids(scope.population)
        if not ids:
            return scope
        return replace(scope, where=both(scope.where, Not(KEPT)), without=tuple(sorted(ids)))


def reasons(config: Config, document: Document, fields: Fields) -> list[str]:
    """Say to people why agents do not have a document; nothing if they have it."""
    found = []
    if not config.collections[document.collection].agents:
        found.append(f"agents do not have it: the collection '{document.collection}' is kept from them")
    if matches(KEPT, fields):
        found.append("agents do not have it: its front matter says 'agents: false'")
    return found
