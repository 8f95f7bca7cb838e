"""The request of a search, made of its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, TypedDict

from msgspec import Struct
from msgspec.structs import asdict, replace

from qmd.config.settings import Settings
from qmd.config.validate import require_unicode
from qmd.engine.calls import check_values
from qmd.errors import CollectionNotFoundError, UsageError
from qmd.search_options import (
    CONDITIONS,
    DEFAULT_CANDIDATES,
    DEFAULT_LIMIT,
    DEFAULT_TIMEOUT,
    MAX_FACETS,
    MAX_QUERY,
    MAX_SEARCHES,
    SEARCH_OPTIONS,
    OptionValue,
    SearchKind,
    names_of,
)
from qmd.text import filters
from qmd.text.predicates import Predicate, both, comparisons
from qmd.types import Config, Ranking, ScoreScale, SortOrder, TypedSearch

#: The most tokens of a pack.
DEFAULT_TOKENS = 4_000
#: Ranks better than "contract" with the embedded models (see bench/README.md).
DEFAULT_RANKING: Ranking = "tuned"
DEFAULT_SCORES: ScoreScale = "calibrated"
#: Files above this many bytes are skipped by `multi_get`.
DEFAULT_MAX_BYTES = 10 * 1024
#: The most tokens of the passages that a hook gives an agent for a prompt.
PROMPT_TOKENS = 600


class SearchRequest(Struct, frozen=True):
    """A search."""

    query: str = ""  #: A question or keywords; for the hybrid search also a query document of typed lines
    limit: int | None = DEFAULT_LIMIT  #: The highest number of hits; None for all
    #: How many hits to skip, which earlier pages have: that of the next page is in the response.
    offset: int = 0
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
    #: The most tokens of the whole answer as it is printed: the last hits are left out. None for no limit.
    tokens: int | None = None
    unlinked: bool = False  #: Whether similar documents are left out if a link joins the two

    def checked(self) -> SearchRequest:
        """Return the request. Raises `UsageError` if a value is out of range."""
        self._check_texts()
        for name, option in SEARCH_OPTIONS.items():
            value = getattr(self, name, None)
            if value is not None and option.value.is_number:
                _check_number(name, value, option.value)
            if value is not None and option.value.words and value not in option.value.words:
                raise UsageError(f"{name} must be one of {', '.join(option.value.words)}, not {value}")
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


def _check_number(name: str, value: float, of: OptionValue) -> None:
    """Raise `UsageError` if a number is not in the range of an option."""
    low, high = of.least or of.above or 0, inf if of.most is None else of.most
    if (low < value <= high and value < inf) or value == of.least:
        return
    if of.least is None:
        allowed = f"more than {low:g}" + (f" and at most {high:g}" if high < inf else "")
    else:
        allowed = f"at least {low:g}" if high == inf else f"from {low:g} to {high:g}"
    raise UsageError(f"{name} must be {allowed}, not {value}")


class FilterOptions(TypedDict, total=False):
    """Options that limit a search to documents that pass all of them.

    `where` is one condition or several, such as `status=draft`, `state` one state or several alternatives,
    `ext` one suffix of files or several alternatives, `lang` the same of languages, `current` the same as the
    state `current`, and `filter` a tree of conditions as in JSON.
    """

    tag: str | Sequence[str] | None
    path: str | Sequence[str] | None
    ext: str | Sequence[str] | None
    lang: str | Sequence[str] | None
    author: str | None
    after: str | None
    before: str | None
    where: str | Sequence[str] | None
    state: str | Sequence[str] | None
    current: bool
    filter: Predicate | Mapping[str, Any] | str | None


class SearchOptions(FilterOptions, total=False):
    """The options of every search; see `SearchRequest`."""

    limit: int | None
    offset: int
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
    tokens: int | None


class VectorSearchOptions(SearchOptions, total=False):
    """The options of a search by meaning."""

    intent: str | None
    expand: bool
    timeout: float | None


class HybridSearchOptions(VectorSearchOptions, total=False):
    """The options of a hybrid search."""

    searches: Sequence[TypedSearch]
    candidate_limit: int
    rerank: bool
    ranking: Ranking | None


class SimilarOptions(FilterOptions, total=False):
    """The options of a search for similar documents."""

    limit: int | None
    offset: int
    min_score: float
    collections: Sequence[str]
    unlinked: bool
    context_lines: int | None
    fold: bool | None
    explain: bool
    full: bool
    tokens: int | None


#: Options that are stored as tuples.
_LISTS = tuple(name for name, option in SEARCH_OPTIONS.items() if option.value.reader == "names")


def make_request(kind: SearchKind, query: str | SearchRequest, options: Mapping[str, Any]) -> SearchRequest:
    """Make the request of a search from its query and options.

    A `query` that is a request itself is used with the options in place of its values. Raises `TypeError` for
    an option that this kind of search does not have.
    """
    for name in options:
        if name not in names_of(kind):
            raise TypeError(f"{kind}() got an unexpected keyword argument '{name}'")
    check_values(HybridSearchOptions.__annotations__ | SimilarOptions.__annotations__, options)
    values = {name: value for name, value in options.items() if name not in CONDITIONS}
    values |= {name: tuple(values[name]) for name in _LISTS if name in values}
    where = filters.from_options(options)
    if isinstance(query, SearchRequest):
        check_values(SearchRequest.__annotations__, asdict(query))
        return replace(query, **values, where=both(query.where, where))
    return SearchRequest(query, **values, where=where)


def of_document(request: SearchRequest) -> SearchRequest:
    """Return the request for documents that are similar to the one that the query names.

    Pins and marks are of other queries.
    """
    return replace(request, marks=False, scores="raw")


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
    from qmd.text.similar import did_you_mean  # few names are wrong

    require_unicode(name)
    names = ", ".join(config.collections) or "none yet: see 'qmd add'"
    suggestion = did_you_mean(name, config.collections)
    return CollectionNotFoundError(f"Collection not found: {name}", f"{suggestion}known collections: {names}")
