"""Scopes as filter expressions on documents and chunks.

An expression can say conditions on dates and lists of documents. Other conditions are evaluated here for the
documents of the scope, and become a list of documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from qmd.features.milvus.client import Row, StoreClient, literal, quoted
from qmd.features.milvus.field_rows import ADDRESS, DocumentFields, FieldRows
from qmd.features.milvus.schema import DOCUMENTS
from qmd.features.milvus.state import MilvusState
from qmd.store.records import bounds
from qmd.store.values import Scope
from qmd.text import dates
from qmd.text.predicates import (
    OF_FILE,
    Among,
    And,
    Comparison,
    Not,
    Or,
    Predicate,
    both,
    comparisons,
    is_pattern,
    matches,
    on_file,
    parts,
    spans,
)

#: The fields of a document's row from which all its fields are read.
COLUMNS = (*ADDRESS, "collection", "title", "date")


class MilvusFilter(Struct, frozen=True):
    """The documents of a scope: a filter expression, and a condition that `expression` can say."""

    within: str
    where: Predicate | None = None

    @property
    def documents(self) -> str:
        """The expression on rows of `DOCUMENTS`."""
        return self._on("id")

    @property
    def chunks(self) -> str:
        """The expression on chunks."""
        return self._on("document")

    def _on(self, key: str) -> str:
        return self.within if self.where is None else f"{self.within} and {expression(self.where, key)}"


class Filters(Struct):
    """Evaluates the conditions of scopes."""

    _client: StoreClient
    _state: MilvusState
    _rows: FieldRows

    def of(self, scope: Scope) -> MilvusFilter | None:
        """Return the filter for the documents of a scope, or None if nothing can match."""
        within = self._state.within(scope.collections)
        if within is None or scope.where is None:
            return None if within is None else MilvusFilter(within)
        stated = [part for part in parts(scope.where) if _is_expressible(part)]
        rest = [part for part in parts(scope.where) if not _is_expressible(part)]
        if not rest:
            return MilvusFilter(within, scope.where)
        passing, failing = self._split(MilvusFilter(within, both(*stated)), And(tuple(rest)))
        if not passing:
            return None
        listed: Predicate | None = None
        if failing:
            few = len(passing) <= len(failing)
            listed = _among(passing) if few else Not(_among(failing))
        return MilvusFilter(within, both(*stated, listed))

    def fields(self, documents: Iterable[Row], *, stored: bool = True) -> dict[int, DocumentFields]:
        """Return the fields of documents by id, those of the file alone unless `stored`."""
        rows = list(documents)
        names = {key: str(fields["name"]) for key, fields in self._state.collections().items()}
        stored_fields = self._rows.fields(rows) if stored else {}
        return {
            row["id"]: {
                **stored_fields.get(row["id"], {}),
                **_file_fields(row, names.get(row["collection"], "")),
            }
            for row in rows
        }

    def _split(self, candidates: MilvusFilter, where: Predicate) -> tuple[list[int], list[int]]:
        """Return the ids of the documents that satisfy a condition, and of those that do not."""
        rows = self._client.all(DOCUMENTS, candidates.documents, COLUMNS, reading="fresh")
        stored = any(comparison.field not in OF_FILE for comparison in comparisons(where))
        passing: list[int] = []
        failing: list[int] = []
        for document, fields in self.fields(rows, stored=stored).items():
            (passing if matches(where, {**fields, "id": (document,)}) else failing).append(document)
        return passing, failing


def expression(predicate: Predicate, key: str) -> str:
    """Return a filter expression for a condition on dates and lists of documents.

    Args:
        predicate: A condition for which `_is_expressible` holds.
        key: The field with the id of the document.
    """
    match predicate:
        case Not(operand):
            return f"not ({expression(operand, key)})"
        case And(operands):
            return " and ".join(f"({expression(operand, key)})" for operand in operands)
        case Or(operands):
            return " or ".join(f"({expression(operand, key)})" for operand in operands)
        case Among(documents):
            return f"{key} in {literal(documents)}" if documents else f"{key} == 0"
        case Comparison():
            return " or ".join(_ranges(predicate)) or f"{key} == 0"


def _ranges(comparison: Comparison) -> Iterator[str]:
    """Yield expressions for the dates that satisfy a comparison."""
    for span in spans(comparison):
        if span.type == "date":
            limits = ['date > ""', *(f"date {sign} {quoted(str(date))}" for sign, date in bounds(span))]
            yield f"({' and '.join(limits)})"


def _is_expressible(predicate: Predicate) -> bool:
    match predicate:
        case Not(operand):
            return _is_expressible(operand)
        case And(operands) | Or(operands):
            return bool(operands) and all(map(_is_expressible, operands))
        case Comparison(field, operator):
            written = operator != "exists" and not is_pattern(predicate) and on_file(predicate) is None
            return field == "date" and written
        case Among():
            return True


def _among(documents: Iterable[int]) -> Among:
    return Among(tuple(sorted(documents)), "")


def _file_fields(row: Row, collection: str) -> DocumentFields:
    path = row["path"]
    texts = {
        "collection": collection,
        "path": path,
        "file": path.rpartition("/")[2],
        "title": row["title"],
        "date": row["date"],
        "modified": dates.of_mtime(row["mtime_ns"]),
    }
    return {**{name: (text,) for name, text in texts.items() if text}, "size": (float(row["size"]),)}
