"""`/fields`: the fields of documents and their values."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel

from qmd.api.arguments import FieldsArguments
from qmd.api.results import FieldState
from qmd.engine.index import Index
from qmd.http.routing import Router
from qmd.models.base import Cancelled

routes = Router()


class FieldList(BaseModel):
    """Fields, most frequent first. `left_out` says how many are not listed."""

    fields: list[FieldState]
    left_out: int


@routes.endpoint("GET", "/fields", 404)
def fields(index: Index, cancelled: Cancelled, asked: Annotated[FieldsArguments, Query()]) -> FieldList:
    """List the fields of documents, each with its most frequent values."""
    found = index.fields(_collections(asked), detailed=asked.limit)
    listed = [FieldState.of(field) for field in found[: asked.limit]]
    return FieldList(fields=listed, left_out=len(found) - len(listed))


@routes.endpoint("GET", "/fields/{name:path}", 404)
def field(
    index: Index,
    cancelled: Cancelled,
    name: Annotated[str, Path(description="The name of a field, in upper or lower case.")],
    asked: Annotated[FieldsArguments, Query()],
) -> FieldState:
    """List the values of a field, most frequent first. `distinct` is the number of all its values."""
    return FieldState.of(index.field_values(name, _collections(asked), limit=asked.limit))


def _collections(asked: FieldsArguments) -> tuple[str, ...]:
    return () if asked.collection is None else (asked.collection,)
