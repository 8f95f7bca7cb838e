"""Fields and links of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import apsw

from qmd.store import base
from qmd.store.records import ANCHOR, LinkRow, anchors_of, links_of
from qmd.store.sqlite.conditions import COLUMNS, register, value_numbers
from qmd.store.sqlite.database import LISTED, Cache, Database, SqlitePart, listed
from qmd.store.sqlite.field_rows import FIELD_SHIFT, TYPE_SHIFT
from qmd.store.sqlite.scope_filter import (
    DocumentFilter,
    collection_ids,
    condition,
    filter_of,
    select,
    within,
)
from qmd.store.values import Scope
from qmd.text.link_targets import NAME_FIELDS
from qmd.text.predicates import Comparison
from qmd.text.values import VALUE_TYPES, Value, typed
from qmd.types import Anchor, FieldSummary, Link, ValueCount

_FACET_COLUMNS = {**COLUMNS, "year": "substr({d}.date, 1, 4)"}


class Fields(SqlitePart, base.Fields):
    """Fields and links, read. Every method sees only the documents of its scope or its ids."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._counts = Cache()

    def count(self, scope: Scope) -> int:
        with self._database.snapshot() as db:
            documents = filter_of(self._database, scope)
            # Searches ask for it, and SQLite counts by reading every row.
            counts: dict[DocumentFilter, int] = self._counts.of(db)
            if documents not in counts:
                if documents.where is not None:
                    query, values = select(documents, "count(*)")
                else:
                    clause, values = condition(documents, "d")
                    query = f"SELECT count(*) FROM documents d WHERE 1 {clause}"
                counts[documents] = int(db.execute(query, values).get)
            return counts[documents]

    def newest(self, scope: Scope, limit: int) -> list[int]:
        with self._database.snapshot() as db:
            clause, values = within(self._database, scope)
            rows = db.execute(
                "SELECT d.id FROM documents d JOIN collections c ON c.id = d.collection_id "
                f"WHERE 1 {clause} ORDER BY d.date DESC, c.name, d.path LIMIT ?",
                (*values, limit),
            )
            return [identity for (identity,) in rows]

    def summaries(self, scope: Scope) -> list[FieldSummary]:
        with self._database.snapshot() as db:
            names = dict(db.execute("SELECT id, name FROM field_names"))
            source, values = self._counted(scope)
            rows = db.execute(
                f"SELECT value_id >> {TYPE_SHIFT}, sum(firsts), count(*) "
                f"FROM ({source} GROUP BY 1) GROUP BY 1",
                values,
            )
            found: dict[str, FieldSummary] = {}
            for number, documents, distinct in rows:
                field, kind = divmod(number, 1 << (FIELD_SHIFT - TYPE_SHIFT))
                name = names[field]
                before = found.get(name, FieldSummary(name, (), 0, 0))
                types = (*before.types, VALUE_TYPES[kind])
                found[name] = FieldSummary(
                    name, types, before.documents + documents, before.values + distinct
                )
        return sorted(found.values(), key=lambda each: (-each.documents, each.name))

    def existing(self, collections: Sequence[str], names: Sequence[str]) -> frozenset[str]:
        rows = self._database.rows(
            f"SELECT n.name FROM field_names n WHERE n.name IN {LISTED} AND EXISTS ("
            f"SELECT 1 FROM field_counts WHERE value_id >= n.id << {FIELD_SHIFT} "
            f"AND value_id < (n.id + 1) << {FIELD_SHIFT} "
            f"AND collection_id IN {LISTED})",
            (listed(names), listed(collection_ids(self._database, collections))),
        )
        return frozenset(name for (name,) in rows)

    def stated(
        self, collections: Sequence[str], conditions: Sequence[Comparison]
    ) -> dict[int, dict[str, tuple[Value, ...]]]:
        with self._database.snapshot() as db:
            asked = listed({each.field for each in conditions})
            existing = {
                name
                for (name,) in db.execute(f"SELECT name FROM field_names WHERE name IN {LISTED}", (asked,))
            }
            numbers = [
                number for each in conditions if each.field in existing for number in value_numbers(db, each)
            ]
            if not numbers:
                return {}
            clause, values = condition(
                DocumentFilter(tuple(collection_ids(self._database, collections))), "d"
            )
            rows = db.execute(
                "SELECT df.document_id, n.name, v.type, v.value FROM document_fields df "
                "JOIN field_values v ON v.id = df.value_id JOIN field_names n ON n.id = v.field_id "
                "JOIN documents d ON d.id = df.document_id "
                f"WHERE df.value_id IN {LISTED} {clause} ORDER BY df.document_id, df.first DESC, v.id",
                (listed(numbers), *values),
            )
            found: dict[int, dict[str, list[Value]]] = {}
            for document, name, kind, value in rows:
                found.setdefault(document, {}).setdefault(name, []).append(typed(value, kind))
        return {key: {name: tuple(values) for name, values in each.items()} for key, each in found.items()}

    def values(self, scope: Scope, field: str, limit: int) -> list[ValueCount]:
        with self._database.snapshot() as db:
            return _value_counts(db, field, *self._counted(scope), limit)

    def facet(self, documents: Sequence[int], field: str, limit: int) -> list[ValueCount]:
        with self._database.snapshot() as db:
            ids = (listed(documents),)
            if field not in _FACET_COLUMNS:
                return _value_counts(db, field, f"{_DIRECTLY} WHERE document_id IN {LISTED}", ids, limit)
            register(db)
            rows = db.execute(
                f"SELECT {_FACET_COLUMNS[field].format(d='d')}, count(*) FROM documents d "
                f"WHERE d.id IN {LISTED} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
                (*ids, limit),
            )
            return [ValueCount(value, count) for value, count in rows]

    def of(self, documents: Sequence[int]) -> dict[int, dict[str, tuple[Value, ...]]]:
        ids = (listed(documents),)
        with self._database.snapshot() as db:
            register(db)
            found: dict[int, dict[str, list[Value]]] = {}
            columns = ", ".join(column.format(d="d") for column in COLUMNS.values())
            of_file = db.execute(f"SELECT d.id, {columns} FROM documents d WHERE d.id IN {LISTED}", ids)
            for document, *values in of_file:
                found[document] = {
                    name: [float(value) if name == "size" else value]
                    for name, value in zip(COLUMNS, values, strict=True)
                }
            for document, name, kind, value in db.execute(
                "SELECT df.document_id, n.name, v.type, v.value FROM document_fields df "
                "JOIN field_values v ON v.id = df.value_id JOIN field_names n ON n.id = v.field_id "
                f"WHERE df.document_id IN {LISTED} ORDER BY df.document_id, n.name, df.first DESC, v.id",
                ids,
            ):
                found[document].setdefault(name, []).append(typed(value, kind))
        return {key: {name: tuple(values) for name, values in each.items()} for key, each in found.items()}

    def links(self, documents: Sequence[int]) -> dict[int, list[Link]]:
        return {document: links_of(rows) for document, rows in self._links(documents, "<>").items()}

    def anchors(self, documents: Sequence[int]) -> dict[int, list[Anchor]]:
        return {document: anchors_of(rows) for document, rows in self._links(documents, "=").items()}

    def _links(self, documents: Sequence[int], sign: Literal["=", "<>"]) -> dict[int, list[LinkRow]]:
        """Return the anchors of documents, or the links if `sign` is `<>`."""
        found: dict[int, list[LinkRow]] = {}
        for document, line, kind, target in self._database.rows(
            f"SELECT document_id, line, kind, target FROM links WHERE document_id IN {LISTED} "
            f"AND kind {sign} ? ORDER BY document_id, number",
            (listed(documents), ANCHOR),
        ):
            found.setdefault(document, []).append((line, kind, target))
        return found

    def linking(self, collection: str, names: Sequence[str]) -> list[int]:
        with self._database.snapshot() as db:
            clause, values = within(self._database, Scope((collection,)))
            rows = db.execute(
                f"SELECT DISTINCT l.document_id FROM links l JOIN documents d ON d.id = l.document_id "
                f"WHERE l.name IN {LISTED} AND l.name <> '' {clause} ORDER BY 1",
                (listed(names), *values),
            )
            return [document for (document,) in rows]

    def targets(self, collection: str) -> list[tuple[int, str, tuple[str, ...]]]:
        with self._database.snapshot() as db:
            clause, values = within(self._database, Scope((collection,)))
            aliases: dict[int, list[str]] = {}
            for document, alias in db.execute(
                "SELECT df.document_id, v.value FROM field_values v "
                "JOIN document_fields df ON df.value_id = v.id "
                f"WHERE v.field_id IN (SELECT id FROM field_names WHERE name IN {LISTED}) ORDER BY v.id",
                (listed(NAME_FIELDS),),
            ):
                aliases.setdefault(document, []).append(str(alias))
            rows = db.execute(
                f"SELECT d.id, d.path FROM documents d WHERE 1 {clause} ORDER BY d.path", values
            )
            return [(document, path, tuple(aliases.get(document, ()))) for document, path in rows]

    def _counted(self, scope: Scope) -> tuple[str, tuple[Any, ...]]:
        """Return a query for (value_id, documents, firsts), to be grouped by value, and its values."""
        if scope.where is None:
            collections = listed(collection_ids(self._database, scope.collections))
            sums = "SELECT value_id, sum(documents) AS documents, sum(firsts) AS firsts FROM field_counts"
            return f"{sums} WHERE collection_id IN {LISTED}", (collections,)
        clause, values = within(self._database, scope)
        return f"{_DIRECTLY} WHERE document_id IN (SELECT d.id FROM documents d WHERE 1 {clause})", values


#: Counts documents in the rows of `document_fields`.
_DIRECTLY = "SELECT value_id, count(*) AS documents, sum(first) AS firsts FROM document_fields"


def _value_counts(
    db: apsw.Connection, field: str, source: str, values: tuple[Any, ...], limit: int
) -> list[ValueCount]:
    identity: int | None = db.execute("SELECT id FROM field_names WHERE name = ?", (field,)).get
    if identity is None:
        return []
    low = identity << FIELD_SHIFT
    rows = db.execute(
        f"WITH counted AS ({source} AND value_id BETWEEN ? AND ? GROUP BY 1) "
        "SELECT v.type, min(v.value), sum(c.documents) FROM counted c JOIN field_values v "
        "ON v.id = c.value_id GROUP BY v.type, v.key ORDER BY 3 DESC, v.key LIMIT ?",
        (*values, low, low + (1 << FIELD_SHIFT) - 1, limit),
    )
    return [ValueCount(typed(value, kind), documents) for kind, value, documents in rows]
