"""Fields and links of documents as rows, and predicates as SQL conditions.

Each distinct value of a field is stored once, and documents refer to it by number. A condition first finds
the numbers of the values that satisfy it, so that a document is checked by looking up numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw

from qmd.store.base import Scope
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.scope_filter import condition, filter_of
from qmd.text.link_targets import target_name
from qmd.text.predicates import (
    Among,
    And,
    Comparison,
    Fields,
    Not,
    Or,
    Predicate,
    Value,
    ValueType,
    holds,
    is_pattern,
    key_of,
    spans,
    text_matches,
)
from qmd.types import FieldSummary, Link, ValueCount

TABLES = """
CREATE TABLE field_names (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

-- The id is that of the field and of the type, see _FIELD_SHIFT, plus a number. key is the value as it is
-- compared: folded text, a date, or a number. value is it as written.
CREATE TABLE field_values (
  id INTEGER PRIMARY KEY,
  field_id INTEGER NOT NULL REFERENCES field_names(id),
  type TEXT NOT NULL,
  key NOT NULL,
  value NOT NULL
);
CREATE UNIQUE INDEX field_values_key ON field_values(field_id, type, key, value);

-- first is 1 for one value of each field of a document, so that documents are counted once.
CREATE TABLE document_fields (
  document_id INTEGER NOT NULL,
  value_id INTEGER NOT NULL,
  first INTEGER NOT NULL,
  PRIMARY KEY (document_id, value_id)
) WITHOUT ROWID;
CREATE INDEX document_fields_value ON document_fields(value_id, document_id, first);

-- name is what the target shares with the name of the document that it leads to; empty for a URL. Links are
-- resolved when they are asked for, so nothing is outdated when files come and go.
CREATE TABLE links (
  document_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  line INTEGER NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (document_id, number)
) WITHOUT ROWID;
CREATE INDEX links_name ON links(name, document_id);
"""

_TYPES: tuple[ValueType, ...] = ("text", "number", "boolean", "date")
_TYPE_SHIFT = 40
_FIELD_SHIFT = 44
#: Fields that are columns of `documents`, as expressions on the table `d`. All others are rows.
_COLUMNS = {
    "collection": "(SELECT name FROM collections WHERE id = {d}.collection_id)",
    "path": "{d}.path",
    "file": "qmd_file_name({d}.path)",
    "title": "{d}.title",
    "date": "{d}.date",
    "modified": "strftime('%Y-%m-%dT%H:%M:%S', {d}.mtime_ns / 1000000000, 'unixepoch')",
    "size": "{d}.size",
}
#: Columns whose values are dates or numbers, so that SQL compares them as `spans` does.
_ORDERED = {"date": "date", "modified": "date", "size": "number"}
#: More value numbers of one condition are passed as JSON.
_INLINE = 50


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate as SQL on a row of `documents`, whose alias replaces `{d}`.

    `values` are the values of its parameters. `rare` are value numbers of which each document has at least
    one, for finding the documents through an index; None if there is no such condition.
    """

    sql: str
    values: tuple[str | int | float, ...] = ()
    rare: tuple[int, ...] | None = None


class FieldWriter:
    """Writes fields and links inside a transaction. Caches the numbers of fields and values."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._names: dict[str, int] = {}
        self._values: dict[tuple[str, type, Value], int] = {}

    def put(self, document: int, fields: Fields, links: Iterable[Link]) -> None:
        """Replace the fields and links of a document."""
        forget(self._db, document)
        rows: list[tuple[int, int, bool]] = []
        for name, values in fields.items():
            numbers = dict.fromkeys(self._value(name, value) for value in values)
            rows.extend((document, number, at == 0) for at, number in enumerate(numbers))
        self._db.executemany("INSERT INTO document_fields VALUES (?, ?, ?)", rows)
        self._db.executemany(
            "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    document,
                    number,
                    link.line,
                    link.kind,
                    link.target,
                    "" if link.kind == "url" else target_name(link.target),
                )
                for number, link in enumerate(links)
            ],
        )

    def _value(self, name: str, value: Value) -> int:
        cached = (name, type(value), value)
        number = self._values.get(cached)
        if number is None:
            kind, key = key_of(value)
            number = self._values[cached] = self._number(
                self._name(name), kind, key, value if isinstance(value, str) else key
            )
        return number

    def _number(self, field: int, kind: ValueType, key: str | float, value: str | float) -> int:
        row = self._db.execute(
            "SELECT id FROM field_values WHERE field_id = ? AND type = ? AND key = ? AND value = ?",
            (field, kind, key, value),
        ).fetchone()
        if row is not None:
            return int(row[0])
        first = (field << _FIELD_SHIFT) + (_TYPES.index(kind) << _TYPE_SHIFT)
        self._db.execute(
            "INSERT INTO field_values SELECT coalesce(max(id), ?1 - 1) + 1, ?2, ?3, ?4, ?5 "
            "FROM field_values WHERE id BETWEEN ?1 AND ?6",
            (first, field, kind, key, value, first + (1 << _TYPE_SHIFT) - 1),
        )
        return int(self._db.last_insert_rowid())

    def _name(self, name: str) -> int:
        if name not in self._names:
            self._db.execute("INSERT OR IGNORE INTO field_names (name) VALUES (?)", (name,))
            row = self._db.execute("SELECT id FROM field_names WHERE name = ?", (name,)).fetchone()
            assert row is not None
            self._names[name] = int(row[0])
        return self._names[name]


def forget(db: apsw.Connection, document: int) -> None:
    """Delete the fields and links of a document."""
    db.execute("DELETE FROM document_fields WHERE document_id = ?", (document,))
    db.execute("DELETE FROM links WHERE document_id = ?", (document,))


def drop_unused_values(db: apsw.Connection) -> None:
    """Drop the values and fields that no document has."""
    db.execute("DELETE FROM field_values WHERE id NOT IN (SELECT value_id FROM document_fields)")
    db.execute("DELETE FROM field_names WHERE id NOT IN (SELECT field_id FROM field_values)")


def register(db: apsw.Connection) -> None:
    """Register the functions that conditions use."""
    comparisons: dict[str, Comparison] = {}

    def check(text: str, value: Value) -> bool:
        comparison = comparisons.get(text)
        if comparison is None:
            if len(comparisons) > 1_000:
                comparisons.clear()
            field, operator, operand = json.loads(text)
            comparison = comparisons[text] = Comparison(field, operator, operand)
        return holds(comparison, value)

    db.create_scalar_function("qmd_holds", check, 2, deterministic=True)
    db.create_scalar_function("qmd_file_name", _file_name, 1, deterministic=True)


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def compile_predicate(db: apsw.Connection, predicate: Predicate) -> Condition:
    """Return the condition for a predicate. It holds for the current state of the index."""
    match predicate:
        case Not(operand):
            inner = compile_predicate(db, operand)
            return Condition(f"NOT {inner.sql}", inner.values)
        case And(operands):
            return _joined([compile_predicate(db, operand) for operand in operands], " AND ")
        case Or(operands):
            return _joined([compile_predicate(db, operand) for operand in operands], " OR ")
        case Among(documents):
            return Condition("{d}.id IN (SELECT value FROM json_each(?))", (json.dumps(documents),))
        case Comparison(field) if field in _COLUMNS:
            return _column(predicate)
        case Comparison():
            return _rows(value_numbers(db, predicate))


def _joined(conditions: Sequence[Condition], word: str) -> Condition:
    values = tuple(value for condition in conditions for value in condition.values)
    found = [condition.rare for condition in conditions if condition.rare is not None]
    rare: tuple[int, ...] | None = None
    if found and word == " AND ":
        rare = min(found, key=len)
    elif len(found) == len(conditions):
        rare = tuple({number for numbers in found for number in numbers})
    return Condition(f"({word.join(condition.sql for condition in conditions)})", values, rare)


def _rows(numbers: Sequence[int]) -> Condition:
    if not numbers:
        return Condition("0", (), ())
    if len(numbers) <= _INLINE:
        listed, values = ", ".join(map(str, numbers)), ()
    else:
        listed, values = "SELECT value FROM json_each(?)", (json.dumps(numbers),)
    return Condition(
        "EXISTS (SELECT 1 FROM document_fields df WHERE df.document_id = {d}.id "
        f"AND df.value_id IN ({listed}))",
        values,
        tuple(numbers),
    )


def _column(comparison: Comparison) -> Condition:
    column = _COLUMNS[comparison.field]
    if comparison.operator == "exists":
        return Condition(f"{column} <> ''")
    kind = _ORDERED.get(comparison.field)
    if kind is None or is_pattern(comparison):
        packed = json.dumps([comparison.field, comparison.operator, comparison.value])
        return Condition(f"qmd_holds(?, {column})", (packed,))
    found = [(span.low, span.high, span) for span in spans(comparison) if span.type == kind]
    clauses, values = [], []
    for low, high, span in found:
        bounds = []
        if low is not None:
            bounds.append(f"{column} {'>' if span.low_open else '>='} ?")
            values.append(low)
        if high is not None:
            bounds.append(f"{column} {'<' if span.high_open else '<='} ?")
            values.append(high)
        clauses.append(" AND ".join(bounds))
    return Condition(f"({' OR '.join(clauses)})" if clauses else "0", tuple(values))


def value_numbers(db: apsw.Connection, comparison: Comparison) -> list[int]:
    """Return the numbers of the stored values that satisfy a comparison, of documents anywhere."""
    select = "SELECT id FROM field_values WHERE field_id = (SELECT id FROM field_names WHERE name = ?)"
    if comparison.operator == "exists":
        return [row[0] for row in db.execute(select, (comparison.field,))]
    if is_pattern(comparison):
        rows = db.execute(
            select.replace("SELECT id FROM field_values", "SELECT id, key FROM field_values", 1)
            + " AND type IN ('text', 'date')",
            (comparison.field,),
        )
        return [number for number, key in rows if text_matches(comparison, str(key))]
    found: list[int] = []
    for span in spans(comparison):
        sql, values = f"{select} AND type = ?", [comparison.field, span.type]
        low, high = (">" if span.low_open else ">="), ("<" if span.high_open else "<=")
        for bound, sign in ((span.low, low), (span.high, high)):
            if bound is not None:
                sql += f" AND key {sign} ?"
                values.append(bound)
        found.extend(row[0] for row in db.execute(sql, tuple(values)))
    return sorted(set(found))


class FieldTables:
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

    def summaries(self, scope: Scope) -> list[FieldSummary]:
        """Return the fields of documents, without those of the file itself, most frequent first."""
        with self._database.snapshot() as db:
            names = dict(db.execute("SELECT id, name FROM field_names"))
            clause, values = _counted(self._database, db, scope)
            rows = db.execute(
                f"SELECT value_id >> {_TYPE_SHIFT}, sum(first), count(DISTINCT value_id) "
                f"FROM document_fields df WHERE 1 {clause} GROUP BY 1",
                values,
            )
            found: dict[str, FieldSummary] = {}
            for number, documents, distinct in rows:
                field, kind = divmod(number, 1 << (_FIELD_SHIFT - _TYPE_SHIFT))
                name = names[field]
                before = found.get(name, FieldSummary(name, (), 0, 0))
                found[name] = FieldSummary(
                    name,
                    (*before.types, _TYPES[kind]),
                    before.documents + documents,
                    before.values + distinct,
                )
        return sorted(found.values(), key=lambda each: (-each.documents, each.name))

    def values(self, scope: Scope, field: str, limit: int) -> list[ValueCount]:
        """Return the values of a field with the number of documents, most frequent first."""
        with self._database.snapshot() as db:
            clause, values = _counted(self._database, db, scope)
            return _value_counts(db, field, f"FROM document_fields df WHERE 1 {clause}", values, limit)

    def facet(self, documents: Sequence[int], field: str, limit: int) -> list[ValueCount]:
        """Return the values of a field among some documents, most frequent first."""
        with self._database.snapshot() as db:
            listed = (json.dumps([*documents]),)
            if field in _FACET_COLUMNS:
                rows = db.execute(
                    f"SELECT {_FACET_COLUMNS[field].format(d='d')}, count(*) FROM documents d "
                    f"WHERE d.id IN {_LISTED} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
                    (*listed, limit),
                )
                return [ValueCount(value, count) for value, count in rows]
            source = f"FROM document_fields df WHERE df.document_id IN {_LISTED}"
            return _value_counts(db, field, source, listed, limit)

    def fields_of(self, documents: Sequence[int]) -> dict[int, dict[str, tuple[Value, ...]]]:
        """Return the fields of documents by id, with those of the file itself."""
        with self._database.snapshot() as db:
            found: dict[int, dict[str, list[Value]]] = {}
            columns = ", ".join(column.format(d="d") for column in _COLUMNS.values())
            for document, *values in db.execute(
                f"SELECT d.id, {columns} FROM documents d WHERE d.id IN {_LISTED}",
                (json.dumps([*documents]),),
            ):
                found[document] = {
                    name: [float(value) if name == "size" else value]
                    for name, value in zip(_COLUMNS, values, strict=True)
                }
            for document, name, kind, value in db.execute(
                "SELECT df.document_id, n.name, v.type, v.value FROM document_fields df "
                "JOIN field_values v ON v.id = df.value_id JOIN field_names n ON n.id = v.field_id "
                f"WHERE df.document_id IN {_LISTED} ORDER BY df.document_id, n.name, df.first DESC, v.id",
                (json.dumps([*documents]),),
            ):
                found[document].setdefault(name, []).append(_typed(kind, value))
        return {key: {name: tuple(values) for name, values in each.items()} for key, each in found.items()}

    def links_of(self, documents: Sequence[int]) -> dict[int, list[Link]]:
        """Return the links of documents by id, in order. Their texts are not stored."""
        with self._database.snapshot() as db:
            found: dict[int, list[Link]] = {}
            for document, line, kind, target in db.execute(
                f"SELECT document_id, line, kind, target FROM links WHERE document_id IN {_LISTED} "
                "ORDER BY document_id, number",
                (json.dumps([*documents]),),
            ):
                found.setdefault(document, []).append(Link(target, "", line, kind))
            return found

    def linking(self, collection: str, names: Sequence[str]) -> list[int]:
        """Return the ids of documents with a link whose target has one of these names."""
        with self._database.snapshot() as db:
            clause, values = _within(self._database, db, Scope((collection,)))
            rows = db.execute(
                f"SELECT DISTINCT l.document_id FROM links l JOIN documents d ON d.id = l.document_id "
                f"WHERE l.name IN {_LISTED} {clause} ORDER BY 1",
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
            return [(document, path, tuple(aliases.get(document, ()))) for document, path in rows]


#: Documents by id, bound as a JSON array.
_LISTED = "(SELECT value FROM json_each(?))"
_FACET_COLUMNS = {**_COLUMNS, "year": "substr({d}.date, 1, 4)"}


def _within(database: Database, db: apsw.Connection, scope: Scope) -> tuple[str, tuple[Any, ...]]:
    """Return `AND …` on the documents `d` of a scope, and its values."""
    return condition(filter_of(database, db, scope), "d")


def _counted(database: Database, db: apsw.Connection, scope: Scope) -> tuple[str, tuple[Any, ...]]:
    """Return `AND …` on the rows `df` of `document_fields` of a scope, and its values."""
    clause, values = condition(filter_of(database, db, replace(scope, where=None)), "d")
    clause = clause.replace("d.id", "df.document_id")
    if scope.where is not None:
        within, more = _within(database, db, scope)
        clause += f" AND df.document_id IN (SELECT d.id FROM documents d WHERE 1 {within})"
        values = (*values, *more)
    return clause, values


def _value_counts(
    db: apsw.Connection, field: str, source: str, values: tuple[Any, ...], limit: int
) -> list[ValueCount]:
    row = db.execute("SELECT id FROM field_names WHERE name = ?", (field,)).fetchone()
    if row is None:
        return []
    low = int(row[0]) << _FIELD_SHIFT
    rows = db.execute(
        f"WITH counted AS (SELECT df.value_id, count(*) AS documents {source} "
        "AND df.value_id BETWEEN ? AND ? GROUP BY df.value_id) "
        "SELECT v.type, min(v.value), sum(c.documents) FROM counted c JOIN field_values v "
        "ON v.id = c.value_id GROUP BY v.type, v.key ORDER BY 3 DESC, v.key LIMIT ?",
        (*values, low, low + (1 << _FIELD_SHIFT) - 1, limit),
    )
    return [ValueCount(_typed(kind, value), documents) for kind, value, documents in rows]


def _typed(kind: ValueType, value: Any) -> Value:
    return bool(value) if kind == "boolean" else float(value) if kind == "number" else str(value)
