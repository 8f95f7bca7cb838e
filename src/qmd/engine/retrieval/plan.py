"""The kinds of search as values, and reading a request by its plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.requests import SearchRequest
from qmd.text.query import parse_document, refuse_exclusions

if TYPE_CHECKING:
    from qmd.types import SearchType

#: Documents of each list that is fused or reranked.
LIST_LENGTH = 100


class Plan(Struct, frozen=True):
    """The plan of a kind of search; `pipeline` has the steps in order.

    Attributes:
        words: Whether it searches by words (BM25).
        meaning: Whether it searches by meaning (vectors). With `words`, the lists are fused and reranked.
        least: The least length of the lists.
        document: Whether the query names a document, and others that are similar to it are found.
    """

    words: bool
    meaning: bool
    least: int = LIST_LENGTH
    document: bool = False

    @property
    def hybrid(self) -> bool:
        """True if lists of both kinds are fused and reranked, and typed searches are possible."""
        return self.words and self.meaning

    @property
    def complete(self) -> bool:
        """True if the list may have all matches: by meaning, every document is a match."""
        return not self.meaning


PLANS: Mapping[str, Plan] = {
    "search": Plan(words=True, meaning=False, least=1),
    "vsearch": Plan(words=False, meaning=True),
    "query": Plan(words=True, meaning=True),
    "similar": Plan(words=False, meaning=True, least=1, document=True),
}


class SubQuery(Struct, frozen=True):
    """A query text for the retriever of its type, for both if it has none. `weight` is 2 for the original."""

    name: str
    query: str
    type: SearchType | None = None
    weight: float = 1.0

    @property
    def lexical(self) -> bool:
        return self.type in (None, "lex")

    @property
    def dense(self) -> bool:
        return self.type != "lex"


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


def subqueries(request: SearchRequest) -> list[SubQuery]:
    """Return the typed searches of a request, or its query."""
    return [
        SubQuery(f"{search.type} {number}", search.query, search.type, 2.0 if number == 1 else 1.0)
        for number, search in enumerate(request.searches, 1)
    ] or [SubQuery("original", request.query, weight=2.0)]


def main_query(request: SearchRequest) -> str:
    """Return the text for the reranker and the snippets: the query, or the first typed search.

    Of typed searches, `vec` takes precedence over `lex`, and `lex` over `hyde`.
    """
    if not request.searches:
        return request.query
    by_type = {search.type: search.query for search in reversed(request.searches)}
    return by_type.get("vec") or by_type.get("lex") or by_type["hyde"]
