"""`POST /grep`: the lines that match a pattern, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from qmd.api.arguments import MAX_LIMIT, MAX_TIMEOUT, SearchArguments, search_arguments
from qmd.api.operation import Operation
from qmd.api.results import SearchResults
from qmd.engine.index import Index
from qmd.engine.requests import SearchRequest
from qmd.features.grep.grepping import LINES, SECONDS
from qmd.search_options import CONDITIONS, names_of
from qmd.types.cancelling import Cancelled

_OWN: dict[str, tuple[Any, Any]] = {
    "fixed": (Annotated[bool, Meta(description="The query is a text, not an expression.")], False),
    "ignore_case": (Annotated[bool, Meta(description="Upper and lower case are the same.")], False),
    "limit": (Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="The most lines.")], LINES),
    "timeout": (
        Annotated[float, Meta(gt=0, le=MAX_TIMEOUT, description="The seconds that it may take.")],
        SECONDS,
    ),
}
GrepBody = search_arguments(
    "search",
    "GrepBody",
    "A regular expression of Python's, as `query`, and filters.",
    without=[name for name in names_of("search") if name not in CONDITIONS],
    more=_OWN,
)


def grep(index: Index, body: SearchArguments, cancelled: Cancelled) -> SearchResults:
    """List the lines of documents that match a regular expression, a result each, in the order of paths."""
    request: SearchRequest = body.request()
    options = {name: getattr(body, name) for name in _OWN}
    response = index.grep(
        request.query, collections=request.collections, where=request.where, cancelled=cancelled, **options
    )
    return SearchResults.of(response, request, index.indexed_at())


GREP = Operation(
    "POST /grep",
    grep,
    body={"query": "rate.?limit", "ignore_case": True},
    given=GrepBody,
    query=("query",),
    missing=True,
    slow=True,
    apart=True,
    command="grep",
    after="POST /query",
)
