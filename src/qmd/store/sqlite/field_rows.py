"""Rows of fields and links: writing those of a document, and dropping them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import apsw

from qmd.store.records import link_rows, name_of
from qmd.text.predicates import Fields as FieldValues
from qmd.text.values import VALUE_TYPES, Date, Value, ValueType, WrittenNumber, key_of

if TYPE_CHECKING:
    from qmd.types import Anchor, Link

#: An id of a value is the id of its field, shifted by FIELD_SHIFT, plus the number of its type, shifted by
#: TYPE_SHIFT, plus a number. The values of a field are then a range.
TYPE_SHIFT = 40
FIELD_SHIFT = 44
#: A writer that knows more values than this forgets them.
_CACHED_VALUES = 20_000


#: The name of a field, the class of a value, and the value, or its text: values that are equal may differ in
#: their class, as 1.0 and True, or in how they are written.
_Given: TypeAlias = tuple[str, type, Value]
#: The classes of values that are stored as they are written.
_WRITTEN: frozenset[type] = frozenset({WrittenNumber, Date})
#: A row of `field_values` without its id.
_Row: TypeAlias = tuple[int, ValueType, str | float, str | float]


class FieldWriter:
    """Writes fields and links inside a transaction. Caches the numbers of fields and values.

    The next transaction may use it again if nothing else was written in between.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._names: dict[str, int] = {}
        self._values: dict[_Given, int] = {}
        #: The next number by the first of each field and type.
        self._next: dict[int, int] = {}
        #: The documents of each value: twice their ids, plus 1 if it is their first value of the field. Pairs
        #: would be objects that the garbage collector looks at.
        self._documents: defaultdict[_Given, list[int]] = defaultdict(list)
        self._links: list[tuple[int, int, int, str, str, str]] = []

    def put(
        self, document: int, fields: FieldValues, links: Iterable[Link], anchors: Iterable[Anchor]
    ) -> None:
        """Add the fields, as `stored_fields` returns them, links and anchors of a document without rows.

        They are written by `flush`.
        """
        for name, values in fields.items():
            first = 1
            for value in values:
                kind = value.__class__
                given: _Given = (name, kind, str(value) if kind in _WRITTEN else value)
                self._documents[given].append(2 * document + first)
                first = 0
        self._links.extend(
            (document, number, line, kind, target, name_of(kind, target))
            for number, (line, kind, target) in enumerate(link_rows(links, anchors))
        )

    def flush(self, collection: int) -> None:
        """Write the rows of all documents, and count those of each value for their collection."""
        self._add(given for given in self._documents if given not in self._values)
        # In the order of the index, whose pages are far more than those of the new documents.
        values = sorted((self._values[given], listed) for given, listed in self._documents.items())
        self._db.executemany(
            "INSERT INTO document_fields VALUES (?, ?, ?)",
            ((each >> 1, value, each & 1) for value, listed in values for each in listed),
        )
        self._db.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)", self._links)
        self._db.executemany(
            "INSERT INTO field_counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET documents = documents + excluded.documents, firsts = firsts + excluded.firsts",
            ((value, collection, len(listed), sum(each & 1 for each in listed)) for value, listed in values),
        )
        self._documents, self._links = defaultdict(list), []
        if len(self._values) > _CACHED_VALUES:
            self._values = {}

    def _add(self, values: Iterable[_Given]) -> None:
        """Get the numbers of values. Those that are new are stored."""
        rows: dict[_Given, _Row] = {}
        for given in values:
            name, made, value = given
            kind, key = key_of(made(value))
            rows[given] = self._name(name), kind, key, value if isinstance(value, str) else key
        distinct = [*dict.fromkeys(rows.values())]
        found = self._db.executemany(
            "SELECT (SELECT id FROM field_values WHERE field_id = ? AND type = ? AND key = ? AND value = ?)",
            distinct,
        )
        numbers = {row: number for row, (number,) in zip(distinct, found, strict=True)}
        new = [row for row, number in numbers.items() if number is None]
        numbers.update((row, self._new_number(*row[:2])) for row in new)
        self._db.executemany(
            "INSERT INTO field_values VALUES (?, ?, ?, ?, ?)", [(numbers[row], *row) for row in new]
        )
        self._values.update((given, numbers[row]) for given, row in rows.items())

    def _new_number(self, field: int, kind: ValueType) -> int:
        first = (field << FIELD_SHIFT) + (VALUE_TYPES.index(kind) << TYPE_SHIFT)
        if first not in self._next:
            last = first + (1 << TYPE_SHIFT) - 1
            query = "SELECT max(id) FROM field_values WHERE id BETWEEN ? AND ?"
            highest: int | None = self._db.execute(query, (first, last)).get
            self._next[first] = first if highest is None else highest + 1
        self._next[first] += 1
        return self._next[first] - 1

    def _name(self, name: str) -> int:
        if name not in self._names:
            self._db.execute("INSERT OR IGNORE INTO field_names (name) VALUES (?)", (name,))
            query = "SELECT id FROM field_names WHERE name = ?"
            self._names[name] = int(self._db.execute(query, (name,)).get)
        return self._names[name]


def forget(db: apsw.Connection, low: int, high: int) -> None:
    """Delete the fields and links of the documents in a range of ids, both ends included."""
    db.execute("DELETE FROM document_fields WHERE document_id BETWEEN ? AND ?", (low, high))
    db.execute("DELETE FROM links WHERE document_id BETWEEN ? AND ?", (low, high))


def drop_unused_values(db: apsw.Connection) -> None:
    """Drop the values and fields that no document has."""
    db.execute("DELETE FROM field_values WHERE id NOT IN (SELECT value_id FROM field_counts)")
    db.execute("DELETE FROM field_names WHERE id NOT IN (SELECT field_id FROM field_values)")
