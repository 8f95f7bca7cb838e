"""The queries of a search: those of its retrievers, and those of a query document."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.requests import SearchRequest
from qmd.text.query import as_prose, parse_document, refuse_exclusions
from qmd.text.question import Question
from qmd.types import SearchType

#: Documents of each list that is fused or reranked.
LIST_LENGTH = 100
#: The reranker and the snippets go by the first typed search of the first of these types.
_PRECEDENCE: Sequence[SearchType] = ("vec", "lex", "hyde")


class SubQuery(Struct, frozen=True):
    """A query for the retriever of its type, or for both without one. `weight` is 2 for the original."""

    name: str
    question: Question
    type: SearchType | None = None
    weight: float = 1.0

    @property
    def query(self) -> str:
        return self.question.words

    @property
    def meaning(self) -> str:
        """The query as it is embedded."""
        return as_prose(" ".join((self.query, *self.question.also)))

    @property
    def lexical(self) -> bool:
        return self.type in (None, "lex")

    @property
    def dense(self) -> bool:
        return self.type != "lex"


def without_searches(request: SearchRequest) -> SearchRequest:
    """Return a request for a kind of search that has no typed searches."""
    return replace(request, searches=())


def read_query_document(request: SearchRequest) -> SearchRequest:
    """Move the typed lines of a query document to `searches`. Raises `QueryError` if it cannot be read."""
    if request.searches:
        refuse_exclusions(request.searches)
        return request
    if not request.query.strip():
        return request  # its filters list documents
    document = parse_document(request.query)
    if document.expand is not None:
        return replace(request, query=document.expand)
    refuse_exclusions(document.searches)
    return replace(request, query="", searches=document.searches, intent=request.intent or document.intent)


def main_search(types: Sequence[SearchType]) -> int:
    """Return which of typed searches the reranker and the snippets go by."""
    return min(range(len(types)), key=lambda number: _PRECEDENCE.index(types[number]))
