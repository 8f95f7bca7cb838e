"""Fields and links of documents, counted and listed in this process from their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from qmd.features.milvus.client import Row
from qmd.features.milvus.field_rows import ADDRESS, DocumentFields, stamp
from qmd.features.milvus.parts import MilvusPart
from qmd.features.milvus.schema import DOCUMENTS
from qmd.features.milvus.scope_filter import COLUMNS
from qmd.store import base
from qmd.store.records import anchors_of, links_of
from qmd.store.values import Scope
from qmd.text.link_targets import NAME_FIELDS
from qmd.text.predicates import OF_FILE, Comparison, holds
from qmd.text.values import VALUE_TYPES, Value, ValueType, key_of
from qmd.types import Anchor, FieldSummary, Link, ValueCount


class Fields(MilvusPart, base.Fields):
    """Fields and links, read. Every method sees only the documents of its scope or its ids."""

    def count(self, scope: Scope) -> int:
        documents = self._filters.of(scope)
        return self._client.count(DOCUMENTS, documents.documents) if documents is not None else 0

    def newest(self, scope: Scope, limit: int) -> list[int]:
        names = {identity: each["name"] for identity, each in self._state.collections().items()}
        rows = sorted(
            self._select(scope, ["id", "date", "collection", "path"]),
            key=lambda row: (names.get(row["collection"], ""), row["path"]),
        )
        # Sorting is stable: documents of one date stay in order of their paths.
        rows.sort(key=lambda row: row["date"], reverse=True)
        return [row["id"] for row in rows[:limit]]

    def summaries(self, scope: Scope) -> list[FieldSummary]:
        documents: Counter[str] = Counter()
        types: dict[str, set[ValueType]] = {}
        values: dict[str, set[tuple[ValueType, Value]]] = {}
        for fields in self._field_rows.fields(self._select(scope, ADDRESS)).values():
            documents.update(fields.keys())
            for name, listed in fields.items():
                typed = {(key_of(value)[0], value) for value in listed}
                types.setdefault(name, set()).update(kind for kind, _ in typed)
                values.setdefault(name, set()).update(typed)
        summaries = [
            FieldSummary(name, tuple(sorted(types[name], key=VALUE_TYPES.index)), count, len(values[name]))
            for name, count in documents.items()
        ]
        return sorted(summaries, key=lambda each: (-each.documents, each.name))

    def existing(self, collections: Sequence[str], names: Sequence[str]) -> frozenset[str]:
        return frozenset(
            name for fields in self._having(collections, names).values() for name in fields if name in names
        )

    def stated(
        self, collections: Sequence[str], conditions: Sequence[Comparison]
    ) -> dict[int, dict[str, tuple[Value, ...]]]:
        by_name: dict[str, list[Comparison]] = {}
        for each in conditions:
            by_name.setdefault(each.field, []).append(each)
        found: dict[int, dict[str, tuple[Value, ...]]] = {}
        for document, fields in self._having(collections, [*by_name]).items():
            for name in by_name.keys() & fields.keys():
                values = [
                    value for value in fields[name] if any(holds(each, value) for each in by_name[name])
                ]
                if values:
                    found.setdefault(document, {})[name] = tuple(values)
        return found

    def values(self, scope: Scope, field: str, limit: int) -> list[ValueCount]:
        if field in OF_FILE:
            return []
        fields = self._field_rows.fields(self._select(scope, ADDRESS))
        return _counted((each.get(field, ()) for each in fields.values()), limit)

    def facet(self, documents: Sequence[int], field: str, limit: int) -> list[ValueCount]:
        if field == "year":
            listed = ((row["date"][:4],) for row in self._live("id", documents, ["date"]))
            return _counted(listed, limit)
        return _counted((each.get(field, ()) for each in self.of(documents).values()), limit)

    def of(self, documents: Sequence[int]) -> dict[int, dict[str, tuple[Value, ...]]]:
        fields = self._filters.fields(self._live("id", documents, COLUMNS))
        return {document: dict(each) for document, each in fields.items()}

    def links(self, documents: Sequence[int]) -> dict[int, list[Link]]:
        rows = self._field_rows.links(self._live("id", documents, ADDRESS))
        return {document: found for document, each in rows.items() if (found := links_of(each))}

    def anchors(self, documents: Sequence[int]) -> dict[int, list[Anchor]]:
        rows = self._field_rows.links(self._live("id", documents, ADDRESS))
        return {document: found for document, each in rows.items() if (found := anchors_of(each))}

    def linking(self, collection: str, names: Sequence[str]) -> list[int]:
        found: dict[int, int] = {}
        for identity in self._state.collection_ids([collection]):
            found |= self._field_rows.linking(identity, names)
        rows = self._live("id", found.values(), ADDRESS)
        return sorted(row["id"] for row in rows if stamp(row) in found)

    def targets(self, collection: str) -> list[tuple[int, str, tuple[str, ...]]]:
        rows = sorted(self._select(Scope((collection,)), ADDRESS), key=lambda row: row["path"])
        aliases = {
            document: tuple(str(alias) for name in NAME_FIELDS for alias in fields.get(name, ()))
            for document, fields in self._field_rows.fields(rows).items()
        }
        return [(row["id"], row["path"], aliases[row["id"]]) for row in rows]

    def _having(self, collections: Sequence[str], names: Sequence[str]) -> Mapping[int, DocumentFields]:
        """Return all fields of the documents that have one of some fields, without those of the file."""
        found = self._field_rows.naming(self._state.collection_ids(collections), names)
        rows = self._live("id", found.values(), ADDRESS)
        return self._field_rows.fields(row for row in rows if stamp(row) in found)

    def _select(self, scope: Scope, columns: Sequence[str]) -> Iterator[Row]:
        documents = self._filters.of(scope)
        if documents is not None:
            yield from self._client.all(DOCUMENTS, documents.documents, columns, reading="fresh")


def _counted(documents: Iterable[Sequence[Value]], limit: int) -> list[ValueCount]:
    """Count the documents with each value, most frequent first. Values that compare as equal are one."""
    counts: Counter[tuple[ValueType, str | float]] = Counter()
    written: dict[tuple[ValueType, str | float], Value] = {}
    for values in documents:
        for value in values:
            key = key_of(value)
            counts[key] += 1
            written[key] = min(written.get(key, value), value, key=str)
    ordered = sorted(counts, key=lambda key: (-counts[key], isinstance(key[1], str), key[1], key[0]))
    return [ValueCount(written[key], counts[key]) for key in ordered[:limit]]
