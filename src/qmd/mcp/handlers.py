"""What the tools do: each asks the index once and has the answer written down."""

from __future__ import annotations

from qmd.api import results
from qmd.api.arguments import (
    GetArguments,
    MultiGetArguments,
    QueryArguments,
    SearchArguments,
    StatusArguments,
)
from qmd.api.results import Result
from qmd.engine.index import Index
from qmd.engine.requests import SearchRequest
from qmd.models.base import Cancelled


def search(index: Index, given: SearchArguments, cancelled: Cancelled) -> Result:
    return _found(index, "search", given.request(), cancelled)


def vsearch(index: Index, given: SearchArguments, cancelled: Cancelled) -> Result:
    return _found(index, "vsearch", given.request(), cancelled)


def query(index: Index, given: QueryArguments, cancelled: Cancelled) -> Result:
    return _found(index, "query", given.request(), cancelled)


def get(index: Index, given: GetArguments, cancelled: Cancelled) -> Result:
    page = index.get(given.file, from_line=given.from_line, max_lines=given.max_lines)
    return results.document(page, line_numbers=given.line_numbers)


def multi_get(index: Index, given: MultiGetArguments, cancelled: Cancelled) -> Result:
    pages = index.multi_get(
        given.pattern,
        max_lines=given.max_lines,
        max_bytes=given.max_bytes,
        cancelled=cancelled,
        max_total=given.max_bytes,
    )
    return results.documents(pages, line_numbers=given.line_numbers)


def status(index: Index, given: StatusArguments, cancelled: Cancelled) -> Result:
    return results.status(index.status())


def _found(index: Index, kind: str, request: SearchRequest, cancelled: Cancelled) -> Result:
    response = index.run(kind, request, cancelled=cancelled)
    return results.found(response, index.indexed_at(request.collections))
