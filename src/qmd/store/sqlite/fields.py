"""Fields and links of documents as rows, and predicates as SQL conditions.

Each distinct value of a field is stored once, and documents refer to it by number. A condition first finds
the numbers of the values that satisfy it, so that a document is checked by looking up numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import apsw

from qmd.text.link_targets import target_name
from qmd.text.predicates import (
    And,
    Comparison,
    Fields,
    Not,
    Or,
    Predicate,
    Value,
    holds,
    is_pattern,
    key_of,
    spans,
    text_matches,
)
from qmd.types import Link

TABLES = """
CREATE TABLE field_names (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

-- key is the value as it is compared: folded text, a date, or a number. value is it as written.
CREATE TABLE field_values (
  id INTEGER PRIMARY KEY,
  field_id INTEGER NOT NULL REFERENCES field_names(id),
  type TEXT NOT NULL,
  key NOT NULL,
  value NOT NULL
);
CREATE UNIQUE INDEX field_values_key ON field_values(field_id, type, key, value);

CREATE TABLE document_fields (
  document_id INTEGER NOT NULL,
  value_id INTEGER NOT NULL REFERENCES field_values(id),
  PRIMARY KEY (document_id, value_id)
) WITHOUT ROWID;
CREATE INDEX document_fields_value ON document_fields(value_id, document_id);

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
        numbers = {self._value(name, value) for name, values in fields.items() for value in values}
        self._db.executemany(
            "INSERT INTO document_fields VALUES (?, ?)", [(document, number) for number in sorted(numbers)]
        )
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
            field = self._name(name)
            kind, key = key_of(value)
            row = (field, kind, key, value if isinstance(value, str) else key)
            number = self._values[cached] = self._number(
                "SELECT id FROM field_values WHERE field_id = ? AND type = ? AND key = ? AND value = ?",
                "INSERT INTO field_values (field_id, type, key, value) VALUES (?, ?, ?, ?)",
                row,
            )
        return number

    def _name(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = self._number(
                "SELECT id FROM field_names WHERE name = ?",
                "INSERT INTO field_names (name) VALUES (?)",
                (name,),
            )
        return self._names[name]

    def _number(self, select: str, insert: str, values: tuple[str | int | float, ...]) -> int:
        row = self._db.execute(select, values).fetchone()
        if row is not None:
            return int(row[0])
        self._db.execute(insert, values)
        return int(self._db.last_insert_rowid())


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


def fields_of(db: apsw.Connection, documents: Sequence[int]) -> dict[int, dict[str, tuple[Value, ...]]]:
    """Return the fields that are rows, by document."""
    found: dict[int, dict[str, list[Value]]] = {}
    for document, name, kind, value in db.execute(
        "SELECT df.document_id, n.name, v.type, v.value FROM document_fields df "
        "JOIN field_values v ON v.id = df.value_id JOIN field_names n ON n.id = v.field_id "
        "WHERE df.document_id IN (SELECT value FROM json_each(?)) ORDER BY df.document_id, n.name, v.id",
        (json.dumps([*documents]),),
    ):
        typed = bool(value) if kind == "boolean" else float(value) if kind == "number" else value
        found.setdefault(document, {}).setdefault(name, []).append(typed)
    return {key: {name: tuple(values) for name, values in each.items()} for key, each in found.items()}


def links_of(db: apsw.Connection, documents: Sequence[int]) -> Iterator[tuple[int, Link]]:
    """Yield (document, link) of documents, in order. The texts of links are not stored."""
    for document, line, kind, target in db.execute(
        "SELECT document_id, line, kind, target FROM links "
        "WHERE document_id IN (SELECT value FROM json_each(?)) ORDER BY document_id, number",
        (json.dumps([*documents]),),
    ):
        yield document, Link(target, "", line, kind)


_ = Mapping
