"""Scopes with conditions on links and states, which no store knows."""

from __future__ import annotations

from msgspec.structs import replace

from qmd.engine.documents.links import Links
from qmd.engine.documents.references import References
from qmd.engine.documents.states import states_of
from qmd.errors import UsageError
from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.text.predicates import Among, And, Comparison, Not, Or, Predicate, describe, replaced
from qmd.text.values import CHANGED, fold
from qmd.types import Config
from qmd.types.states import STATE_NAMES


def resolved(store: Store, config: Config, scope: Scope) -> Scope:
    """Return a scope in which conditions on links and states are replaced by documents that satisfy them.

    Raises `NotFoundError` if a filter names no document, and `UsageError` for another comparison with links.
    """
    if scope.where is None:
        return scope
    links, references = Links(store), References(store, config)

    def resolve(comparison: Comparison) -> Predicate:
        if comparison.field == "state":
            return _of_state(store, config, comparison)
        if comparison.field == CHANGED and comparison.operator != "exists":
            # A document that does not say when it was changed was changed with its file.
            silent = Not(Comparison(CHANGED, "exists"))
            return Or((comparison, And((silent, replace(comparison, field="modified")))))
        if comparison.field != "link":
            return comparison
        if comparison.operator != "eq":
            raise UsageError(f"wrong filter: {describe(comparison)}", "write link:notes/a.md")
        document = references.resolve(str(comparison.value))
        return Among(tuple(links.linking(document)), describe(comparison))

    return replace(scope, where=replaced(scope.where, resolve))


def _of_state(store: Store, config: Config, comparison: Comparison) -> Predicate:
    """Return a condition on the state of documents as one on their ids.

    Documents may have a field `state` themselves: it counts as well, and all other values are meant for it.
    """
    name = fold(str(comparison.value)) if comparison.operator == "eq" else ""
    if name not in STATE_NAMES and comparison.operator != "exists":
        return comparison
    marked = states_of(store, config).marked()
    ids = tuple(document for document, state in marked if name in ("", "current", state.name))
    found = Among(ids, describe(comparison))
    return Not(found) if name == "current" else Or((found, comparison))
