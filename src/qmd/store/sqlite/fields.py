"""Fields and links of documents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from qmd import types  # values are loaded when they are used
from qmd.store import base
from qmd.store.sqlite.conditions import COLUMNS, register
from qmd.store.sqlite.database import LISTED, Database
from qmd.store.sqlite.field_rows import ANCHOR, FIELD_SHIFT, TYPE_SHIFT
from qmd.store.sqlite.scope_filter import collection_ids, condition, filter_of
from qmd.store.values import Scope
from qmd.text.predicates import VALUE_TYPES, Value, ValueType

_FACET_COLUMNS = {**COLUMNS, "year": "substr({d}.date, 1, 4)"}


class Fields(base.Fields):
    """Fields and links, read. Every method sees only the documents of its scope or its ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self, scope: Scope) -> int:
        """Return the number of documents of a scope."""
        with self._database.snapshot() as db:
            clause, values = _within(self._database, db, scope)
            row = db.execute(f"SELECT count(*) FROM documents d WHERE 1 {clause}", values).fetchone()
            return int(row[0]) if row else 0

    def newest(self, scope: Scope, limit: int) -> list[int]:
        """Return the ids of up to `limit` documents, those with the latest dates first."""
        with self._database.snapshot() as db:
            clause, values = _within(self._database, db, scope)
            rows = db.execute(
                f"SELECT d.id FROM documents d WHERE 1 {clause} ORDER BY d.date DESC, d.id LIMIT ?",
                (*values, limit),
            )
            return [row[0] for row in rows]

    def summaries(self, scope: Scope) -> list[types.FieldSummary]:
        """Return the fields of documents, without those of the file itself, most frequent first."""
        with self._database.snapshot() as db:
            names = dict(db.execute("SELECT id, name FROM field_names"))
            source, values = _counted(self._database, db, scope)
            rows = db.execute(
                f"SELECT value_id >> {TYPE_SHIFT}, sum(firsts), count(*) "
                f"FROM ({source} GROUP BY 1) GROUP BY 1",
                values,
            )
            found: dict[str, types.FieldSummary] = {}
            for number, documents, distinct in rows:
                field, kind = divmod(number, 1 << (FIELD_SHIFT - TYPE_SHIFT))
                name = names[field]
                before = found.get(name, types.FieldSummary(name, (), 0, 0))
                found[name] = types.FieldSummary(
                    name,
                    (*before.types, VALUE_TYPES[kind]),
                    before.documents + documents,
                    before.values + distinct,
                )
        return sorted(found.values(), key=lambda each: (-each.documents, each.name))

    def values(self, scope: Scope, field: str, limit: int) -> list[types.ValueCount]:
        """Return the values of a field with the number of documents, most frequent first."""
        with self._database.snapshot() as db:
            source, values = _counted(self._database, db, scope)
            return _value_counts(db, field, source, values, limit)

    def facet(self, documents: Sequence[int], field: str, limit: int) -> list[types.ValueCount]:
        """Return the values of a field among some documents, most frequent first."""
        with self._database.snapshot() as db:
            register(db)
            listed = (json.dumps([*documents]),)
            if field in _FACET_COLUMNS:
                rows = db.execute(
                    f"SELECT {_FACET_COLUMNS[field].format(d='d')}, count(*) FROM documents d "
                    f"WHERE d.id IN {LISTED} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
                    (*listed, limit),
                )
                return [types.ValueCount(value, count) for value, count in rows]
            source = f"{_DIRECTLY} WHERE document_id IN {LISTED}"
            return _value_counts(db, field, source, listed, limit)

    def of(self, documents: Sequence[int]) -> dict[int, dict[str, tuple[Value, ...]]]:
        """Return the fields of documents by id, with those of the file itself."""
        with self._database.snapshot() as db:
            register(db)
            found: dict[int, dict[str, list[Value]]] = {}
            columns = ", ".join(column.format(d="d") for column in COLUMNS.values())
            for document, *values in db.execute(
                f"SELECT d.id, {columns} FROM documents d WHERE d.id IN {LISTED}",
                (json.dumps([*documents]),),
            ):
                found[document] = {
                    name: [float(value) if name == "size" else value]
                    for name, value in zip(COLUMNS, values, strict=True)
                }
            for document, name, kind, value in db.execute(
                "SELECT df.document_id, n.name, v.type, v.value FROM document_fields df "
                "JOIN field_values v ON v.id = df.value_id JOIN field_names n ON n.id = v.field_id "
                f"WHERE df.document_id IN {LISTED} ORDER BY df.document_id, n.name, df.first DESC, v.id",
                (json.dumps([*documents]),),
            ):
                found[document].setdefault(name, []).append(_typed(kind, value))
        return {key: {name: tuple(values) for name, values in each.items()} for key, each in found.items()}

    def links(self, documents: Sequence[int]) -> dict[int, list[types.Link]]:
        """Return the links of documents by id, in order. Their texts are not stored."""
        with self._database.snapshot() as db:
            found: dict[int, list[types.Link]] = {}
            for document, line, kind, target in db.execute(
                f"SELECT document_id, line, kind, target FROM links WHERE document_id IN {LISTED} "
                "AND kind != ? ORDER BY document_id, number",
                (json.dumps([*documents]), ANCHOR),
            ):
                found.setdefault(document, []).append(types.Link(target, "", line, kind))
            return found

    def anchors(self, documents: Sequence[int]) -> dict[int, list[types.Anchor]]:
        """Return the anchors of documents by id, in order."""
        found: dict[int, list[types.Anchor]] = {}
        for document, line, target in self._database.rows(
            f"SELECT document_id, line, target FROM links WHERE document_id IN {LISTED} "
            "AND kind = ? ORDER BY document_id, number",
            (json.dumps([*documents]), ANCHOR),
        ):
            kind, _, value = target.rpartition(" ")
            found.setdefault(document, []).append(types.Anchor(line, kind, int(value)))
        return found

    def linking(self, collection: str, names: Sequence[str]) -> list[int]:
        """Return the ids of documents with a link whose target has one of these names."""
        with self._database.snapshot() as db:
            clause, values = _within(self._database, db, Scope((collection,)))
            rows = db.execute(
                f"SELECT DISTINCT l.document_id FROM links l JOIN documents d ON d.id = l.document_id "
                f"WHERE l.name IN {LISTED} AND l.name <> '' {clause} ORDER BY 1",
                (json.dumps([*names]), *values),
            )
            return [row[0] for row in rows]

    def targets(self, collection: str) -> list[tuple[int, str, tuple[str, ...]]]:
        """Return (id, path, aliases) of the documents of a collection, in order of path."""
        with self._database.snapshot() as db:
            clause, values = _within(self._database, db, Scope((collection,)))
            aliases: dict[int, list[str]] = {}
            for document, alias in db.execute(
                "SELECT df.document_id, v.value FROM field_values v "
                "JOIN document_fields df ON df.value_id = v.id "
                "WHERE v.field_id = (SELECT id FROM field_names WHERE name = 'alias') ORDER BY v.id"
            ):
                aliases.setdefault(document, []).append(str(alias))
            rows = db.execute(
                f"SELECT d.id, d.path FROM documents d WHERE 1 {clause} ORDER BY d.path", values
            )
            if not aliases:
                return [(document, path, ()) for document, path in rows]
            return [(document, path, tuple(aliases.get(document, ()))) for document, path in rows]


def _within(database: Database, db: apsw.Connection, scope: Scope) -> tuple[str, tuple[Any, ...]]:
    """Return `AND …` on the documents `d` of a scope, and its values."""
    return condition(filter_of(database, scope), "d")


#: Counts documents in the rows of `document_fields`.
_DIRECTLY = "SELECT value_id, count(*) AS documents, sum(first) AS firsts FROM document_fields"


def _counted(database: Database, db: apsw.Connection, scope: Scope) -> tuple[str, tuple[Any, ...]]:
    """Return a query for (value_id, documents, firsts) of a scope, to be grouped by value, and its values."""
    if scope.where is None:
        collections = json.dumps(collection_ids(database, scope.collections))
        sums = "SELECT value_id, sum(documents) AS documents, sum(firsts) AS firsts FROM field_counts"
        return f"{sums} WHERE collection_id IN {LISTED}", (collections,)
    within, values = _within(database, db, scope)
    return f"{_DIRECTLY} WHERE document_id IN (SELECT d.id FROM documents d WHERE 1 {within})", values


def _value_counts(
    db: apsw.Connection, field: str, source: str, values: tuple[Any, ...], limit: int
) -> list[types.ValueCount]:
    row = db.execute("SELECT id FROM field_names WHERE name = ?", (field,)).fetchone()
    if row is None:
        return []
    low = int(row[0]) << FIELD_SHIFT
    rows = db.execute(
        f"WITH counted AS ({source} AND value_id BETWEEN ? AND ? GROUP BY 1) "
        "SELECT v.type, min(v.value), sum(c.documents) FROM counted c JOIN field_values v "
        "ON v.id = c.value_id GROUP BY v.type, v.key ORDER BY 3 DESC, v.key LIMIT ?",
        (*values, low, low + (1 << FIELD_SHIFT) - 1, limit),
    )
    return [types.ValueCount(_typed(kind, value), documents) for kind, value, documents in rows]


def _typed(kind: ValueType, value: Any) -> Value:
    return bool(value) if kind == "boolean" else float(value) if kind == "number" else str(value)
