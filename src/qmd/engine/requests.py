"""What can be asked of a search, checked once for every edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from qmd.config.validate import require_unicode
from qmd.errors import CollectionNotFoundError, UsageError
from qmd.text import dates
from qmd.types import Config, Ranking, TypedSearch

DEFAULT_LIMIT = 10
DEFAULT_CANDIDATES = 30
DEFAULT_TIMEOUT = 30.0
#: The one that ranks better with the embedded models (bench/README.md).
DEFAULT_RANKING: Ranking = "tuned"
#: How many documents a list goes through where all are asked for.
ALL = 100_000
#: Files above this many bytes are skipped by `multi_get`.
DEFAULT_MAX_BYTES = 10 * 1024
#: A vector score below this says nothing.
VECTOR_MIN_SCORE = 0.3
MAX_QUERY = 10_000
MAX_SEARCHES = 10
#: What a date can be, for errors.
DATE = "a date, such as 2024, 2024-06 or 2024-06-30"
#: Characters of a wrong value that an error shows.
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search. `limit` None is all; `timeout` in seconds, None is no limit.

    `author`, `after` (included) and `before` (not included) filter; a date may be a part of one, `2024-06`,
    which means its first moment.
    """

    query: str = ""
    limit: int | None = DEFAULT_LIMIT
    min_score: float = 0.0
    collections: tuple[str, ...] = ()
    searches: tuple[TypedSearch, ...] = ()
    intent: str | None = None
    candidate_limit: int = DEFAULT_CANDIDATES
    rerank: bool = True
    expand: bool = True
    ranking: Ranking | None = None
    explain: bool = False
    full: bool = False
    timeout: float | None = DEFAULT_TIMEOUT
    author: str | None = None
    after: str | None = None
    before: str | None = None

    def checked(self) -> SearchRequest:
        """The request itself; raises `UsageError` for what it cannot mean."""
        if bool(self.query.strip()) == bool(self.searches):
            raise UsageError(
                "the query is empty" if not self.searches else "give a query or searches, not both"
            )
        require_unicode(self.author or "", self.after or "", self.before or "")
        for text in (self.query, self.intent or "", *(search.query for search in self.searches)):
            require_unicode(text)
            if len(text) > MAX_QUERY:
                raise UsageError(f"the query is too long ({len(text)} > {MAX_QUERY} characters)")
        if len(self.searches) > MAX_SEARCHES:
            raise UsageError(f"too many searches ({len(self.searches)} > {MAX_SEARCHES})")
        if any(not search.query.strip() for search in self.searches):
            raise UsageError("a search without a query")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit must be at least 1, not {self.limit}")
        if not 0.0 <= self.min_score <= 1.0:
            raise UsageError(f"min_score must be from 0 to 1, not {self.min_score}")
        if not 1 <= self.candidate_limit <= 1000:
            raise UsageError(f"candidate_limit must be from 1 to 1000, not {self.candidate_limit}")
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise UsageError(f"timeout must be more than 0 seconds, not {self.timeout}")
        if self.ranking is not None and self.ranking not in get_args(Ranking):
            raise UsageError(f"ranking must be one of {', '.join(get_args(Ranking))}, not {self.ranking}")
        if self.author is not None and not self.author.strip():
            raise UsageError("author is empty")
        for name, date in (("after", self.after), ("before", self.before)):
            if date is not None and dates.read(date) is None:
                raise UsageError(f"{name} must be {DATE}, not {date[:_SHOWN]!r}")
        return self


def collections_of(config: Config, named: Sequence[str]) -> tuple[str, ...]:
    """The collections that a search is about: those named, else all that are not excluded.

    Raises `CollectionNotFoundError`, listing the known ones.
    """
    for name in named:
        if name not in config.collections:
            raise unknown_collection(config, name)
    if named:
        return tuple(dict.fromkeys(named))
    return tuple(name for name, each in config.collections.items() if each.include_by_default)


def unknown_collection(config: Config, name: str) -> CollectionNotFoundError:
    """The error for a name that no collection has; its hint is a similar one, and all there are."""
    require_unicode(name)
    from difflib import get_close_matches

    close = get_close_matches(name, config.collections, n=1)
    meant = f"did you mean '{close[0]}'? " if close else ""
    known = ", ".join(config.collections) or "none yet: see 'qmd collection add'"
    return CollectionNotFoundError(f"Collection not found: {name}", f"{meant}known collections: {known}")
