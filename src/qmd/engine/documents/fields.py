"""The fields in an index: which there are, their values, and filters that name one that does not exist."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.requests import ALL
from qmd.errors import FieldNotFoundError
from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.text.extraction import OF_FILE
from qmd.text.predicates import (
    TAG,
    Comparison,
    Predicate,
    Written,
    both,
    comparisons,
    describe,
    field_name,
    fold,
    parts,
)
from qmd.types import FieldSummary, ValueCount

#: Fields that documents may lack, and that a filter may name in any index.
KNOWN = (*OF_FILE, "author", "tag", "alias", "link", "ext", "format")
#: Fields for `--facets`, beside all fields.
FACETS = ("tag", "author", "ext", "year", "collection")
DEFAULT_VALUES = 10
_MAX_NAMED = 12


class FieldValues(Struct, frozen=True):
    """A field with its most frequent values."""

    summary: FieldSummary
    values: tuple[ValueCount, ...]


def list_fields(
    store: Store, scope: Scope, limit: int = DEFAULT_VALUES, detailed: int | None = None
) -> list[FieldValues]:
    """Return the fields of documents, most frequent first, the first `detailed` with up to `limit` values."""
    summaries = store.fields.summaries(scope)
    return [
        FieldValues(summary, tuple(store.fields.values(scope, summary.name, limit)))
        for summary in summaries[:detailed]
    ] + [FieldValues(summary, ()) for summary in summaries[len(summaries[:detailed]) :]]


def list_values(store: Store, scope: Scope, name: str, limit: int) -> FieldValues:
    """Return one field with up to `limit` values.

    Raises:
        FieldNotFoundError: If no document has the field.
    """
    name = field_name(name)
    if name in OF_FILE or name == "year":
        ids = store.fields.newest(scope, ALL)
        values = store.fields.facet(ids, name, ALL)
        summary = FieldSummary(name, (OF_FILE.get(name, "date"),), len(ids), len(values))
        return FieldValues(summary, tuple(values[:limit]))
    summaries = store.fields.summaries(scope)
    for summary in summaries:
        if summary.name == name:
            return FieldValues(summary, tuple(store.fields.values(scope, name, limit)))
    raise unknown_field(name, [summary.name for summary in summaries])


def list_tags(store: Store, scope: Scope) -> list[ValueCount]:
    """Return the tags of documents as a tree: each before the tags below it, siblings most frequent first.

    A tag is counted in the documents that have it or one below it.
    """
    counts: dict[str, int] = {}
    written: dict[str, str] = {}
    for each in store.fields.values(scope, TAG, ALL):
        name = str(each.value)
        counts[fold(name)] = each.documents
        while name:
            written.setdefault(fold(name), name)
            name = name.rpartition("/")[0]
    for above in {tag.rpartition("/")[0] for tag in written} - {""}:
        within = both(scope.where, Comparison(TAG, "eq", above))
        counts[above] = store.fields.count(replace(scope, where=within))

    def order(tag: str) -> list[tuple[int, str]]:
        ends = [at for at, char in enumerate(tag) if char == "/"]
        return [(-counts[tag[:end]], tag[:end]) for end in (*ends, len(tag))]

    return [ValueCount(written[tag], counts[tag]) for tag in sorted(written, key=order)]


def check_fields(store: Store, scope: Scope) -> None:
    """Raise `FieldNotFoundError` if the filter of a scope names a field that no document has."""
    if scope.where is None:
        return
    asked = [each.field for each in comparisons(scope.where) if each.field not in KNOWN]
    if not asked:
        return
    names = [summary.name for summary in store.fields.summaries(Scope(scope.collections))]
    for name in asked:
        if name not in names:
            raise unknown_field(name, names)


def unknown_field(name: str, names: Sequence[str]) -> FieldNotFoundError:
    """Return the error for a field that no document has, with the nearest one."""
    from difflib import get_close_matches

    known = [each for each in dict.fromkeys((*names, *KNOWN)) if each != name]
    close = get_close_matches(name, known, n=1)
    suggestion = f"did you mean '{close[0]}'? " if close else ""
    shown = ", ".join(known[:_MAX_NAMED]) + (", ..." if len(known) > _MAX_NAMED else "")
    return FieldNotFoundError(f"no document has the field '{name[:60]}'", f"{suggestion}fields: {shown}")


def explain_empty(store: Store, scope: Scope) -> str:
    """Say how many documents satisfy each part of a filter that no document satisfies as a whole."""
    assert scope.where is not None
    counted: list[str] = []
    suggestion = ""
    for part in parts(scope.where):
        count = store.fields.count(Scope(scope.collections, part))
        counted.append(f"{describe(part)} {count}")
        if not count and not suggestion:
            suggestion = _nearest_value(store, scope, part)
    return f"No documents: {', '.join(counted)}.{suggestion}"


def _nearest_value(store: Store, scope: Scope, part: Predicate) -> str:
    """Return a question with the value that is most similar to that of a comparison; empty if none is."""
    if not isinstance(part, Comparison) or part.operator != "eq" or not isinstance(part.value, str | Written):
        return ""
    from difflib import get_close_matches

    values = store.fields.values(Scope(scope.collections), part.field, 1_000)
    names = {str(each.value).casefold(): str(each.value) for each in values}
    close = get_close_matches(str(part.value).casefold(), names, n=1)
    return f" Did you mean {names[close[0]]}?" if close else ""
