"""Which documents a search is about: its collections, and the filters of its fields and of its query."""

from __future__ import annotations

from dataclasses import replace

from qmd.engine.requests import SearchRequest, collections_of
from qmd.store.base import Scope
from qmd.text import dates, filters
from qmd.text.authorship import author_key
from qmd.text.filters import Filters
from qmd.types import Config, Document, TypedSearch

#: Why a search finds nothing that is asked for filters alone.
NOTHING_ASKED = "the query has no word to look for"


def without_filters(request: SearchRequest) -> SearchRequest:
    """The same search with what is typed in its query as fields, and dates in full.

    Fields count before what is typed. Of typed searches the lexical ones are looked at, and what they say is
    about all of them; one that says nothing else is left out. Nothing may be left to search for.
    """
    typed = Filters()
    searches: list[TypedSearch] = []
    for search in request.searches:
        if search.type == "lex":
            text, more = filters.split(search.query)
            typed = Filters(
                more.author or typed.author, more.after or typed.after, more.before or typed.before
            )
            search = replace(search, query=text)
        if search.query:
            searches.append(search)
    query = request.query
    if not request.searches:
        query, typed = filters.split(query)
    return replace(
        request,
        query=query,
        searches=tuple(searches),
        author=request.author or typed.author,
        after=_moment(request.after) or typed.after,
        before=_moment(request.before) or typed.before,
    )


def scope_of(config: Config, request: SearchRequest) -> Scope:
    """What a search `without_filters` is about. Raises `CollectionNotFoundError`."""
    collections = collections_of(config, request.collections)
    return Scope(collections, request.author, request.after, request.before, config.population)


def filtered_out(scope: Scope, document: Document) -> str | None:
    """Which filter leaves a document out, in words; None where none does."""
    if scope.author is not None and author_key(document.author) != author_key(scope.author):
        its = f"its author is '{document.author}'" if document.author else "it names no author"
        return f"{its}, and only documents of '{scope.author}' are searched"
    if scope.after is not None and document.date < scope.after:
        return f"its date, {_short(document.date)}, is before {_short(scope.after)}"
    if scope.before is not None and document.date >= scope.before:
        return f"its date, {_short(document.date)}, is not before {_short(scope.before)}"
    return None


def _short(date: str) -> str:
    """A date without a time that says nothing."""
    return date.removesuffix("T00:00:00").replace("T", " ")


def _moment(date: str | None) -> str | None:
    return None if date is None else dates.read(date)
