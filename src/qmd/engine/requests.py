"""The values that a search takes, with their defaults and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, get_args

from msgspec import Struct
from msgspec.structs import replace

from qmd.config.settings import Settings
from qmd.config.validate import require_unicode
from qmd.errors import CollectionNotFoundError, UsageError
from qmd.text import filters
from qmd.text.dates import MAX_DAYS
from qmd.text.predicates import Predicate, both, comparisons
from qmd.types import Config, Ranking, ScoreScale, SortOrder, TypedSearch

DEFAULT_LIMIT = 10
DEFAULT_CANDIDATES = 30
DEFAULT_TIMEOUT = 30.0
#: Ranks better than "contract" with the embedded models (see bench/README.md).
DEFAULT_RANKING: Ranking = "tuned"
DEFAULT_SCORES: ScoreScale = "calibrated"
#: Length of a list of documents if the request has no limit.
ALL = 100_000
#: Files above this many bytes are skipped by `multi_get`.
DEFAULT_MAX_BYTES = 10 * 1024
MAX_QUERY = 10_000
MAX_SEARCHES = 10
MAX_CANDIDATES = 1000
MAX_PASSAGES = 10
MAX_CONTEXT_LINES = 100
MAX_FACETS = 20

SearchKind = Literal["search", "vsearch", "query"]


class SearchRequest(Struct, frozen=True):
    """A search."""

    query: str = ""  #: A question or keywords; for the hybrid search also a query document of typed lines
    limit: int | None = DEFAULT_LIMIT  #: The highest number of hits; None for all
    min_score: float = 0.0  #: Leave out hits with a lower score, 0..1
    #: Names of the collections to search; empty for all that are not excluded.
    collections: tuple[str, ...] = ()
    searches: tuple[TypedSearch, ...] = ()  #: Typed searches in place of a query
    intent: str | None = None  #: What the user wants to know; changes what ranks first
    candidate_limit: int = DEFAULT_CANDIDATES  #: How many documents are reranked, 1..1000
    rerank: bool = True
    expand: bool = True  #: Whether to add variants of the query
    ranking: Ranking | None = None  #: How scores are combined; None for the ranking of the settings
    scores: ScoreScale | None = None  #: The scale of scores; None for that of the settings
    explain: bool = False  #: Whether hits tell how their score came about
    full: bool = False  #: Whether hits contain the whole text
    #: Seconds until the search answers with what it has; None for no limit.
    timeout: float | None = DEFAULT_TIMEOUT
    where: Predicate | None = None  #: Search only documents whose fields satisfy this
    passages: int = 1  #: How many passages a hit shows, 1..10
    in_order: bool = False  #: Whether passages are in reading order; otherwise the best is first
    #: Lines to show before and after the line of a passage, 0..100; None for about 300 characters.
    context_lines: int | None = None
    facets: tuple[str, ...] = ()  #: Fields whose values are counted among the matching documents
    recent: bool | None = None  #: Whether newer documents rank higher; None for what is configured
    #: Days in which the weight of a document's date halves; `recent` must not be False.
    half_life: float | None = None
    sort: SortOrder = "relevance"  #: The order of the hits
    fold: bool | None = None  #: Whether documents with the same text are one hit; None for what is configured
    marks: bool = True  #: Whether the user's pins and marks count

    def checked(self) -> SearchRequest:
        """Return the request. Raises `UsageError` if a value is out of range."""
        self._check_texts()
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit must be at least 1, not {self.limit}")
        if not 0.0 <= self.min_score <= 1.0:
            raise UsageError(f"min_score must be from 0 to 1, not {self.min_score}")
        if not 1 <= self.candidate_limit <= MAX_CANDIDATES:
            raise UsageError(
                f"candidate_limit must be from 1 to {MAX_CANDIDATES}, not {self.candidate_limit}"
            )
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise UsageError(f"timeout must be more than 0 seconds, not {self.timeout}")
        if self.ranking is not None and self.ranking not in get_args(Ranking):
            raise UsageError(f"ranking must be one of {', '.join(get_args(Ranking))}, not {self.ranking}")
        if self.scores is not None and self.scores not in get_args(ScoreScale):
            raise UsageError(f"scores must be one of {', '.join(get_args(ScoreScale))}, not {self.scores}")
        if not 1 <= self.passages <= MAX_PASSAGES:
            raise UsageError(f"passages must be from 1 to {MAX_PASSAGES}, not {self.passages}")
        if self.context_lines is not None and not 0 <= self.context_lines <= MAX_CONTEXT_LINES:
            raise UsageError(f"context_lines must be from 0 to {MAX_CONTEXT_LINES}, not {self.context_lines}")
        if self.half_life is not None and not 0 < self.half_life <= MAX_DAYS:
            raise UsageError(f"half_life must be more than 0 and at most {MAX_DAYS:g} days")
        if self.sort not in get_args(SortOrder):
            raise UsageError(f"sort must be one of {', '.join(get_args(SortOrder))}, not {self.sort}")
        if len(self.facets) > MAX_FACETS:
            raise UsageError(f"too many facets ({len(self.facets)} > {MAX_FACETS})")
        return self

    def completed(self, settings: Settings) -> SearchRequest:
        """Return the request with the ranking and the scale of scores of the settings if it names none."""
        ranking = self.ranking or settings.ranking or DEFAULT_RANKING
        return replace(self, ranking=ranking, scores=self.scores or settings.scores or DEFAULT_SCORES)

    def _check_texts(self) -> None:
        if self.query.strip() and self.searches:
            raise UsageError("give a query or searches, not both")
        # A filter without words lists the documents.
        if not (self.query.strip() or self.searches or self.where):
            raise UsageError("the query is empty")
        require_unicode(*self.facets)
        for comparison in () if self.where is None else comparisons(self.where):
            require_unicode(comparison.field, str(comparison.value))
        for text in (self.query, self.intent or "", *(search.query for search in self.searches)):
            require_unicode(text)
            if len(text) > MAX_QUERY:
                raise UsageError(f"the query is too long ({len(text)} > {MAX_QUERY} characters)")
        if len(self.searches) > MAX_SEARCHES:
            raise UsageError(f"too many searches ({len(self.searches)} > {MAX_SEARCHES})")
        if any(not search.query.strip() for search in self.searches):
            raise UsageError("a search without a query")


class FilterOptions(TypedDict, total=False):
    """Options that limit a search to documents that pass all of them.

    `where` is one condition or several, such as `status=draft`, and `filter` a tree of conditions as in JSON.
    """

    tag: str | Sequence[str] | None
    path: str | Sequence[str] | None
    author: str | None
    after: str | None
    before: str | None
    where: str | Sequence[str] | None
    filter: Predicate | Mapping[str, Any] | str | None


class SearchOptions(FilterOptions, total=False):
    """The options of every search; see `SearchRequest`."""

    limit: int | None
    min_score: float
    collections: Sequence[str]
    facets: Sequence[str]
    recent: bool | None
    half_life: float | None
    sort: SortOrder
    fold: bool | None
    marks: bool
    passages: int
    in_order: bool
    context_lines: int | None
    scores: ScoreScale | None
    explain: bool
    full: bool


class VectorSearchOptions(SearchOptions, total=False):
    """The options of a search by meaning."""

    expand: bool
    timeout: float | None


class HybridSearchOptions(VectorSearchOptions, total=False):
    """The options of a hybrid search."""

    searches: Sequence[TypedSearch]
    intent: str | None
    candidate_limit: int
    rerank: bool
    ranking: Ranking | None


_OPTIONS: dict[SearchKind, Any] = {
    "search": SearchOptions,
    "vsearch": VectorSearchOptions,
    "query": HybridSearchOptions,
}
#: Options that become the filter of a request.
FILTERS = (*filters.OPTIONS, "filter")
#: Options that are stored as tuples.
_LISTS = ("collections", "searches", "facets")


def make_request(kind: SearchKind, query: str | SearchRequest, options: Mapping[str, Any]) -> SearchRequest:
    """Make the request of a search from its query and options.

    A `query` that is a request itself is used with the options in place of its values. Raises `TypeError` for
    an option that this kind of search does not have.
    """
    for name in options:
        if name not in _OPTIONS[kind].__optional_keys__:
            raise TypeError(f"{kind}() got an unexpected keyword argument '{name}'")
    values = {name: value for name, value in options.items() if name not in FILTERS}
    values |= {name: tuple(values[name]) for name in _LISTS if name in values}
    where = filters.from_options(options)
    if isinstance(query, SearchRequest):
        return replace(query, **values, where=both(query.where, where))
    return SearchRequest(query, **values, where=where)


def collections_of(config: Config, names: Sequence[str]) -> tuple[str, ...]:
    """Return the collections that a search covers: those named, otherwise all that are not excluded.

    Raises `CollectionNotFoundError`, which lists the existing ones.
    """
    for name in names:
        if name not in config.collections:
            raise unknown_collection(config, name)
    if names:
        return tuple(dict.fromkeys(names))
    return tuple(name for name, item in config.collections.items() if item.include_by_default)


def unknown_collection(config: Config, name: str) -> CollectionNotFoundError:
    """Return the error for a name that no collection has. Its hint lists a similar name, and all names."""
    require_unicode(name)
    from difflib import get_close_matches

    close = get_close_matches(name, config.collections, n=1)
    suggestion = f"did you mean '{close[0]}'? " if close else ""
    names = ", ".join(config.collections) or "none yet: see 'qmd collection add'"
    return CollectionNotFoundError(f"Collection not found: {name}", f"{suggestion}known collections: {names}")
