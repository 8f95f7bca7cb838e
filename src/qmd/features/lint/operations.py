"""`POST /lint`: the faults of documents, over HTTP."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from msgspec import Meta, Struct

from qmd.api.arguments import FieldsArguments
from qmd.api.operation import Operation
from qmd.engine.index import Index
from qmd.features.lint.fault import Fault, Kind
from qmd.types.cancelling import Cancelled, stop_if_cancelled


class LintArguments(FieldsArguments):
    """The collection to check, the kind of faults, and how many."""

    only: Annotated[Kind, Meta(description="Only this kind of faults, such as broken.")] | None = None


class Faults(Struct, frozen=True):
    """Faults by path and line, the numbers of each kind, and how many faults are left out of the list."""

    faults: tuple[Fault, ...]
    counts: dict[str, int]
    left_out: int


def lint(index: Index, body: LintArguments, cancelled: Cancelled) -> Faults:
    """List what is wrong with documents as pages of a wiki: broken links, orphans, stubs, twins and more."""
    collections = () if body.collection is None else (body.collection,)
    only = () if body.only is None else (body.only,)
    found = index.lint(collections, only=only, on_step=lambda _: stop_if_cancelled(cancelled))
    counts = Counter(str(fault.kind) for fault in found)
    return Faults(tuple(found[body.offset : body.end]), dict(counts), max(0, len(found) - body.end))


LINT = Operation(
    "POST /lint",
    lint,
    body={"collection": "notes", "only": "broken"},
    missing=True,
    whole=True,
    command="lint",
    after="GET /documents/{path:path}/links",
)
