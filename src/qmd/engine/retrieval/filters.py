"""Decide which documents a search covers: by collection, author and date."""

from __future__ import annotations

from dataclasses import replace

from qmd.engine.requests import SearchRequest, collections_of
from qmd.store.base import Scope
from qmd.text import dates, filters
from qmd.text.authorship import author_key
from qmd.text.filters import Filters
from qmd.types import Config, Document, TypedSearch

#: Reason of a search without results if its query consists of filters only.
NO_TERMS = "the query has no word to look for"


def without_filters(request: SearchRequest) -> SearchRequest:
    """Move the filters typed in a query to the fields of the request, and complete their dates.

    Fields take precedence over typed filters. Of typed searches, only lexical ones can contain filters, which
    then apply to all of them; a search that contains nothing else is left out. The result may have no query.
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
        after=dates.read(request.after or "") or typed.after,
        before=dates.read(request.before or "") or typed.before,
    )


def scope_of(config: Config, request: SearchRequest) -> Scope:
    """Return the scope of a search `without_filters`. Raises `CollectionNotFoundError`."""
    collections = collections_of(config, request.collections)
    return Scope(collections, request.author, request.after, request.before, config.population)


def filtered_out(scope: Scope, document: Document) -> str | None:
    """Return which filter leaves a document out, in words; None if none does."""
    if scope.author is not None and author_key(document.author) != author_key(scope.author):
        author = f"its author is '{document.author}'" if document.author else "it names no author"
        return f"{author}, and only documents of '{scope.author}' are searched"
    if scope.after is not None and document.date < scope.after:
        return f"its date, {_short(document.date)}, is before {_short(scope.after)}"
    if scope.before is not None and document.date >= scope.before:
        return f"its date, {_short(document.date)}, is not before {_short(scope.before)}"
    return None


def _short(date: str) -> str:
    """Format a date, without its time if that is midnight."""
    return date.removesuffix("T00:00:00").replace("T", " ")
