"""The kinds of search as values, and reading a request by its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.requests import SearchRequest
from qmd.text.query import parse_document, refuse_exclusions
from qmd.text.question import Question
from qmd.types import SearchType

#: Documents of each list that is fused or reranked.
LIST_LENGTH = 100
#: The reranker and the snippets go by the first typed search of the first of these types.
_PRECEDENCE: Sequence[SearchType] = ("vec", "lex", "hyde")


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
    """A query for the retriever of its type, or for both without one. `weight` is 2 for the original."""

    name: str
    question: Question
    type: SearchType | None = None
    weight: float = 1.0

    @property
    def query(self) -> str:
        return self.question.words

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


def main_search(types: Sequence[SearchType]) -> int:
    """Return which of typed searches the reranker and the snippets go by."""
    return min(range(len(types)), key=lambda number: _PRECEDENCE.index(types[number]))
