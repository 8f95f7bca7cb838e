"""Filters that do not hold for a document because of a secret in its fields.

Else an agent could ask for `[password>m]` or `title:AKIA` until it knows all characters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from msgspec.structs import replace

from qmd.search_options import ALL
from qmd.store.values import Scope
from qmd.text.predicates import (
    Among,
    And,
    Comparison,
    Not,
    Or,
    Predicate,
    comparisons,
    describe,
    holds,
    replaced,
)
from qmd.text.values import Value, fold

if TYPE_CHECKING:
    from qmd.features.secrets.masker import Masker
    from qmd.store.base import Store

#: Fields that come from the file, whose values are dates, numbers or names of the user's own.
_NO_SECRETS = frozenset({"collection", "date", "modified", "size", "ext", "format", "link"})
_NAMES = frozenset({"path", "title", "file"})
#: The beginning of a mask, by which what names one is known.
MASK = "[secret"
#: Values of a field that are looked at.
_MOST_VALUES = 100_000


class SecretFilters:
    """Replaces comparisons that a secret could satisfy."""

    def __init__(self, store: Store, masker: Callable[[], Masker]) -> None:
        self._store = store
        self._masker = masker
        self._lock = Lock()
        self._state: object = None
        self._named: dict[int, Mapping[str, Sequence[Value]]] = {}

    def without_secrets(self, scope: Scope) -> Scope:
        """Return a scope whose filter goes by the values as an agent reads them."""
        where = scope.where
        if where is None or not any(_can_tell(each) for each in comparisons(where)):
            return scope
        everywhere = Scope(tuple(self._store.collections.last_scans()))

        def safe(comparison: Comparison) -> Predicate:
            if not _can_tell(comparison):
                return comparison
            read = (
                self._by_name(everywhere)
                if comparison.field in _NAMES
                else self._by_value(comparison, everywhere)
            )
            if not read:
                return comparison
            still = tuple(
                document
                for document, fields in read.items()
                if any(holds(comparison, value) for value in fields.get(comparison.field, ()))
            )
            written = describe(comparison)
            others = And((comparison, Not(Among(tuple(read), written))))
            return Or((others, Among(still, written))) if still else others

        return replace(scope, where=replaced(where, safe))

    def _by_value(self, comparison: Comparison, scope: Scope) -> Mapping[int, Mapping[str, Sequence[Value]]]:
        """Return the masked values of the documents that have a secret in the field of a comparison.

        If it asks for a value, only secrets that are this value matter, unless it is a mask.
        """
        field, fields, masker = comparison.field, self._store.fields, self._masker()
        equal = comparison.operator == "eq" and MASK not in fold(str(comparison.value))
        asked = replace(scope, where=comparison) if equal else scope
        values = [each.value for each in fields.values(asked, field, _MOST_VALUES)]
        if equal:
            values = [value for value in values if holds(comparison, value)]
        secret = [
            Comparison(field, "eq", value)
            for value, masked in zip(values, masker.values(field, values), strict=True)
            if masked != value
        ]
        if not secret:
            return {}
        ids = fields.newest(replace(scope, where=Or(tuple(secret))), ALL)
        return {
            document: {field: masker.values(field, found.get(field, ()))}
            for document, found in fields.of(ids).items()
        }

    def _by_name(self, scope: Scope) -> Mapping[int, Mapping[str, Sequence[Value]]]:
        """Return the masked names of the documents that have a secret in their path or title."""
        masker = self._masker()
        state = tuple(self._store.collections.last_scans().items()), self._store.fields.count(scope), masker
        with self._lock:
            if state != self._state:
                documents = [*self._store.documents.listing()]
                self._named = {
                    shown.id: {
                        "path": (shown.path,),
                        "title": (shown.title,),
                        "file": (shown.path.rpartition("/")[2],),
                    }
                    for document, shown in zip(documents, masker.documents(documents), strict=True)
                    if shown != document
                }
                self._state = state
            return self._named


def _can_tell(comparison: Comparison) -> bool:
    return comparison.operator != "exists" and comparison.field not in _NO_SECRETS
