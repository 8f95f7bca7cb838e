"""The fields in an index: which there are, their values, and filters that name one that does not exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.access.rules import READ
from qmd.engine.documents.references import References
from qmd.engine.documents.scopes import resolved
from qmd.engine.documents.states import states_of
from qmd.engine.parts import Part
from qmd.engine.requests import FilterOptions, collections_of
from qmd.engine.workspace import Workspace
from qmd.errors import FieldNotFoundError
from qmd.search_options import ALL
from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.text.date_filters import with_days
from qmd.text.filters import from_options
from qmd.text.predicates import (
    BUILT_IN,
    OF_FILE,
    TAG,
    Comparison,
    Predicate,
    Written,
    both,
    comparisons,
    describe,
    field_name,
    parts,
)
from qmd.text.similar import did_you_mean, nearest
from qmd.text.values import fold, shown
from qmd.types import Config, FieldSummary, ValueCount

#: Fields for `--facets`, beside all fields.
FACETS = ("tag", "author", "ext", "lang", "year", "collection", "path", "state")
_MAX_NAMED = 12


class FieldValues(Struct, frozen=True):
    """A field with its most frequent values."""

    summary: FieldSummary
    values: tuple[ValueCount, ...]


class FieldMethods(Part, rule=READ):
    """List the fields of documents and their values."""

    def fields_of(self, references: Sequence[str]) -> dict[str, Mapping[str, tuple[str | float | bool, ...]]]:
        """Return the values of the fields of documents, by display path and name, without missing ones."""
        finder = References(self._workspace.store, self._workspace.config)
        documents = [finder.find(reference) for reference in references]
        files = {document.id: document.file for document in documents if document is not None}
        values = self._workspace.store.fields.of([*files])
        return {file: values.get(identity, {}) for identity, file in files.items()}

    def fields(
        self,
        collections: Sequence[str] = (),
        *,
        values: int = 10,
        detailed: int | None = None,
        **filters: Unpack[FilterOptions],
    ) -> list[FieldValues]:
        """List the fields of documents, most frequent first, each with its most frequent values.

        Args:
            collections: Names of collections; those searched by default, if none is named.
            values: The most values of a field.
            detailed: The number of fields that are listed with values; None for all.
            filters: Count only in documents that pass these; see `search`.

        Raises:
            CollectionNotFoundError: If there is no such collection.
        """
        fields, scope = self._workspace.store.fields, filtered(self._workspace, collections, filters)
        summaries = fields.summaries(scope)
        with_values = {summary.name for summary in summaries[:detailed]}
        return [
            FieldValues(
                summary,
                tuple(fields.values(scope, summary.name, values)) if summary.name in with_values else (),
            )
            for summary in summaries
        ]

    def field_values(
        self,
        name: str,
        collections: Sequence[str] = (),
        *,
        limit: int = 100,
        **filters: Unpack[FilterOptions],
    ) -> FieldValues:
        """List the values of one field, most frequent first. Raises `FieldNotFoundError` if none has it."""
        fields, scope = self._workspace.store.fields, filtered(self._workspace, collections, filters)
        name = field_name(name)
        if name in OF_FILE or name == "year":
            ids = fields.newest(scope, ALL)
            values = fields.facet(ids, name, ALL)
            summary = FieldSummary(name, (OF_FILE.get(name, "date"),), len(ids), len(values))
            return FieldValues(summary, tuple(values[:limit]))
        summaries = {summary.name: summary for summary in fields.summaries(scope)}
        if name == "state" and name not in summaries:
            states, ids = states_of(self._workspace.store, self._workspace.config), fields.newest(scope, ALL)
            counts = states.counts(ids)
            return FieldValues(FieldSummary(name, ("text",), len(ids), len(counts)), counts[:limit])
        if name not in summaries:
            raise unknown_field(name, [*summaries])
        return FieldValues(summaries[name], tuple(fields.values(scope, name, limit)))

    def tags(self, collections: Sequence[str] = ()) -> list[ValueCount]:
        """List the tags, each before the tags below it, with the documents that have it or one below it.

        Siblings are in the order of their documents. `collections` are names; those searched by default, if
        none is named. Raises `CollectionNotFoundError`.
        """
        fields, scope = self._workspace.store.fields, filtered(self._workspace, collections, {})
        counts: dict[str, int] = {}
        written: dict[str, str] = {}
        for each in fields.values(scope, TAG, ALL):
            name = shown(each.value)
            counts[fold(name)] = each.documents
            while name:
                written.setdefault(fold(name), name)
                name = name.rpartition("/")[0]
        for above in {tag.rpartition("/")[0] for tag in written} - {""}:
            within = both(scope.where, Comparison(TAG, "eq", above))
            counts[above] = fields.count(replace(scope, where=within))

        def order(tag: str) -> list[tuple[int, str]]:
            ends = [at for at, char in enumerate(tag) if char == "/"]
            return [(-counts[tag[:end]], tag[:end]) for end in (*ends, len(tag))]

        return [ValueCount(written[tag], counts[tag]) for tag in sorted(written, key=order)]


def filtered(workspace: Workspace, collections: Sequence[str], filters: Mapping[str, Any]) -> Scope:
    """Return the documents of collections (those searched, if none is named) that pass filters."""
    config, where = workspace.config, from_options(filters)
    where = None if where is None else with_days(where)
    scope = Scope(collections_of(config, collections), where, config.population)
    return resolved(workspace.store, config, scope)


def check_fields(store: Store, config: Config, where: Predicate | None) -> None:
    """Raise `FieldNotFoundError` if a filter names a field that no document has, in whatever collection."""
    asked = [] if where is None else [each.field for each in comparisons(where) if each.field not in BUILT_IN]
    if not asked:
        return
    names = [summary.name for summary in store.fields.summaries(Scope((*config.collections,)))]
    for name in asked:
        if name not in names:
            raise unknown_field(name, names)


def unknown_field(name: str, names: Sequence[str]) -> FieldNotFoundError:
    """Return the error for a field that no document has, with the nearest one."""
    known = [each for each in dict.fromkeys((*names, *BUILT_IN)) if each != name]
    shown = ", ".join(known[:_MAX_NAMED]) + (", ..." if len(known) > _MAX_NAMED else "")
    return FieldNotFoundError(
        f"no document has the field '{name[:60]}'", f"{did_you_mean(name, known)}fields: {shown}"
    )


def explain_empty(store: Store, scope: Scope) -> str:
    """Say how many documents satisfy each part of a filter that no document satisfies as a whole."""
    assert scope.where is not None
    counted: list[str] = []
    suggestion = ""
    conditions = [*parts(scope.where)]
    for part in conditions:
        count = store.fields.count(Scope(scope.collections, part))
        counted.append(f"{describe(part)} {count}")
        if not count and not suggestion:
            suggestion = _nearest_value(store, scope, part)
    if len(conditions) == 1:
        return f"No document passes the filter {describe(conditions[0])}.{suggestion}"
    return f"No documents: {', '.join(counted)}.{suggestion}"


def _nearest_value(store: Store, scope: Scope, part: Predicate) -> str:
    """Return a question with the value that is most similar to that of a comparison; empty if none is."""
    if not isinstance(part, Comparison) or part.operator not in ("eq", "word"):
        return ""
    if not isinstance(part.value, str | Written):
        return ""
    values = store.fields.values(Scope(scope.collections), part.field, 1_000)
    names = {text.casefold(): text for text in (shown(each.value) for each in values)}
    close = nearest(str(part.value).casefold(), names)
    return "" if close is None else f" Did you mean {names[close]}?"
