"""Predicates as SQL conditions on the rows of `documents`.

Each distinct value of a field is stored once, and documents refer to it by number. A condition first finds
the numbers of the values that satisfy it, so that a document is checked by looking up numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast
from weakref import WeakSet

import apsw
from msgspec import Struct
from msgspec.json import decode, encode

from qmd.store.records import Bound, bounds
from qmd.store.sqlite.database import listed
from qmd.text.predicates import (
    Among,
    And,
    Comparison,
    Not,
    Or,
    Predicate,
    ValueRange,
    holds,
    is_pattern,
    on_file,
    spans,
    text_matches,
)

#: Fields that are columns of `documents`, as expressions on the table `d`. All others are rows.
COLUMNS = {
    "collection": "(SELECT name FROM collections WHERE id = {d}.collection_id)",
    "path": "{d}.path",
    "file": "qmd_file_name({d}.path)",
    "title": "{d}.title",
    "date": "{d}.date",
    "modified": "strftime('%Y-%m-%dT%H:%M:%S', {d}.mtime_ns / 1000000000, 'unixepoch')",
    "size": "{d}.size",
}
DATE = COLUMNS["date"]
#: Columns whose values are dates or numbers, so that SQL compares them as `spans` does.
_ORDERED = {"date": "date", "modified": "date", "size": "number"}
#: More value numbers of one condition are passed as JSON.
_INLINE = 50


class Condition(Struct, frozen=True):
    """A predicate as SQL on a row of `documents`, whose name replaces `{d}`.

    Attributes:
        sql: The condition.
        values: The values of its parameters, in order.
        rare: Value numbers of which each document has at least one, if there are such; an index finds the
            documents by them.
        exact: Whether every document with one of the numbers in `rare` satisfies the condition.
        dated: Whether the condition limits the date, by which an index finds the documents.
    """

    sql: str
    values: tuple[Bound, ...] = ()
    rare: tuple[int, ...] | None = None
    dated: bool = False
    exact: bool = False

    def on(self, table: str) -> str:
        """Return the condition on the rows of a table."""
        return self.sql.replace("{d}", table)

    def on_id(self, identity: str) -> str | None:
        """Return the condition on an id of a document; None if it needs other columns."""
        sql = self.sql.replace("{d}.id", identity)
        return None if "{d}" in sql else sql


def register(db: apsw.Connection) -> None:
    """Register the functions that conditions use, once for each connection."""
    if db in _REGISTERED:
        return
    _REGISTERED.add(db)
    db.create_scalar_function("qmd_holds", cast("Any", _holds), 2, deterministic=True)
    db.create_scalar_function("qmd_file_name", cast("Any", _file_name), 1, deterministic=True)


_REGISTERED: WeakSet[apsw.Connection] = WeakSet()


def _holds(packed: Any, value: Any) -> bool:
    return holds(_unpacked(packed), value)


@lru_cache(maxsize=256)
def _unpacked(packed: str) -> Comparison:
    return decode(packed, type=Comparison)


def _file_name(path: Any) -> str:
    return str(path).rpartition("/")[2]


def compile_predicate(db: apsw.Connection, predicate: Predicate) -> Condition:
    """Return the condition for a predicate. It holds for the current state of the index."""
    register(db)
    match predicate:
        case Not(operand):
            inner = compile_predicate(db, operand)
            return Condition(f"NOT {inner.sql}", inner.values)
        case And(operands):
            return _joined([compile_predicate(db, operand) for operand in operands], " AND ")
        case Or(operands):
            return _joined([compile_predicate(db, operand) for operand in operands], " OR ")
        case Among(documents):
            return Condition("{d}.id IN (SELECT value FROM json_each(?))", (listed(documents),))
        case Comparison(field) if field in COLUMNS:
            return _column(predicate)
        case Comparison():
            return _rows(value_numbers(db, predicate))


def _joined(conditions: Sequence[Condition], word: str) -> Condition:
    values = tuple(value for condition in conditions for value in condition.values)
    found = [condition.rare for condition in conditions if condition.rare is not None]
    rare: tuple[int, ...] | None = None
    dated = word == " AND " and any(condition.dated for condition in conditions)
    if found and word == " AND ":
        rare = min(found, key=len)
    elif len(found) == len(conditions):
        rare = tuple({number for numbers in found for number in numbers})
    sql = f"({word.join(condition.sql for condition in conditions)})"
    exact = word == " OR " and all(condition.exact for condition in conditions)
    return Condition(sql, values, rare, dated, exact)


def _rows(numbers: Sequence[int]) -> Condition:
    if not numbers:
        return Condition("0", (), (), exact=True)
    rows, values = ", ".join(map(str, numbers)), tuple[Bound, ...]()
    if len(numbers) > _INLINE:
        rows, values = "SELECT value FROM json_each(?)", (listed(numbers),)
    return Condition(
        "EXISTS (SELECT 1 FROM document_fields df WHERE df.document_id = {d}.id "
        f"AND df.value_id IN ({rows}))",
        values,
        tuple(numbers),
        exact=True,
    )


def _column(comparison: Comparison) -> Condition:
    column = COLUMNS[comparison.field]
    if comparison.operator == "exists":
        return Condition(f"{column} <> ''")
    kind = _ORDERED.get(comparison.field)
    if kind is None or is_pattern(comparison):
        packed = encode(comparison).decode()
        return Condition(f"qmd_holds(?, {column})", (packed,))
    of_file = on_file(comparison)
    if of_file is not None:
        return _by_date(comparison, of_file)
    return _in_spans(column, [span for span in spans(comparison) if span.type == kind], dated=column == DATE)


def _by_date(stated: Comparison, of_file: Comparison) -> Condition:
    """Return the condition on the date, which is compared as `of_file` if it is the time of the file."""
    changed = COLUMNS[of_file.field]
    kinds = [[span for span in spans(each) if span.type == "date"] for each in (stated, of_file)]
    by_text, by_file = _in_spans(DATE, kinds[0]), _in_spans(changed, kinds[1])
    # An index finds the candidates of both ways.
    either = _in_spans(DATE, [span for found in kinds for span in found], dated=True)
    return Condition(
        f"({either.sql} AND CASE WHEN {DATE} = {changed} THEN {by_file.sql} ELSE {by_text.sql} END)",
        (*either.values, *by_file.values, *by_text.values),
        dated=True,
    )


def _in_spans(column: str, found: Sequence[ValueRange], *, dated: bool = False) -> Condition:
    clauses = [" AND ".join(f"{column} {sign} ?" for sign, _ in bounds(span)) for span in found]
    values = tuple(bound for span in found for _, bound in bounds(span))
    return Condition(f"({' OR '.join(clauses)})" if clauses else "0", values, dated=dated)


def value_numbers(db: apsw.Connection, comparison: Comparison) -> list[int]:
    """Return the numbers of the stored values that satisfy a comparison, of documents anywhere."""
    select = "SELECT id, key FROM field_values WHERE field_id = (SELECT id FROM field_names WHERE name = ?)"
    if comparison.operator == "exists":
        return [number for number, _ in db.execute(select, (comparison.field,))]
    if is_pattern(comparison):
        rows = db.execute(f"{select} AND type IN ('text', 'date')", (comparison.field,))
        return [number for number, key in rows if text_matches(comparison, str(key))]
    found: set[int] = set()
    for span in spans(comparison):
        sql = " AND ".join([select, "type = ?", *(f"key {sign} ?" for sign, _ in bounds(span))])
        values = (comparison.field, span.type, *(bound for _, bound in bounds(span)))
        found.update(number for number, _ in db.execute(sql, values))
    return sorted(found)
