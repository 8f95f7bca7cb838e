"""Decide which documents a search covers, by collection and by the fields of documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.requests import SearchRequest, collections_of
from qmd.engine.retrieval.queries import SubQuery, main_search
from qmd.errors import NotFoundError, QmdError
from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.text.date_filters import dates_said, with_days
from qmd.text.predicates import RESOLVED, Predicate, both, comparisons, describe, matches, parts, shown_value
from qmd.text.question import Question
from qmd.text.values import LANGUAGE
from qmd.types import Config, Document, Stage, TypedSearch

#: Reason of a search without results if its query has neither words nor filters.
NO_TERMS = "the query has no word to look for"
#: The stage that says how relative dates were resolved.
DATES = "dates"
_MAX_VALUES = 5
#: The least share of the documents that a language has to be one of theirs, and the most that are looked at.
_LEAST_SHARE, _MOST_LANGUAGES = 0.1, 20


class Asked(Struct, frozen=True):
    """A request as it was read.

    Attributes:
        request: The request without the filters that were typed in its query, which are in its `where`.
        question: The query, or of typed searches the main one.
        queries: The queries for the retrievers.
        unknown: Fields in brackets that no document has. These brackets are text.
        stages: Notes on brackets that are text, and on relative dates.
    """

    request: SearchRequest
    question: Question
    queries: tuple[SubQuery, ...] = ()
    unknown: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()


def read_request(store: Store, config: Config, request: SearchRequest) -> Asked:
    """Read the query of a request, or its searches, and move the filters in them to its own filter.

    Relative dates are resolved here, by the clock of the search. Of typed searches, only lexical ones
    can contain filters, which then apply to all of them; a search that contains nothing else is left out.
    The result may have no query. Raises `UsageError` for a wrong date.
    """
    searches = request.searches or (TypedSearch("lex", request.query),)
    questions, unknown, stages = _questions(store, config, searches)
    where = both(request.where, *(question.where for question in questions))
    if where is not None:
        where = with_days(where)
        if said := dates_said(where):
            stages.append(Stage(DATES, "ran", said))
    if request.searches:
        kept = [
            (search.type, question)
            for search, question in zip(searches, questions, strict=True)
            if question.words
        ]
        typed = tuple(TypedSearch(kind, question.words) for kind, question in kept)
        changed = replace(request, searches=typed, where=where)
    else:
        kept = []
        changed = replace(request, query=questions[0].words, where=where)
    queries = [
        SubQuery(f"{kind} {number}", question, kind, 2.0 if number == 1 else 1.0)
        for number, (kind, question) in enumerate(kept, 1)
    ]
    if queries:
        main = kept[main_search([kind for kind, _ in kept])][1]
    else:
        main = Question("") if request.searches else questions[0]
        queries = [SubQuery("original", main, weight=2.0)]
    return Asked(changed, main, tuple(queries), unknown, tuple(stages))


def _questions(
    store: Store, config: Config, searches: Sequence[TypedSearch]
) -> tuple[list[Question], tuple[str, ...], list[Stage]]:
    """Return the questions of searches, the fields in them that no document has, and what to say of them."""
    questions = [(Question.read if search.type == "lex" else Question)(search.query) for search in searches]
    for question in questions:
        question.refuse_wrong_date()
    unknown: tuple[str, ...] = ()
    stages: list[Stage] = []
    if any(question.typed and "[" in question.text for question in questions):
        from qmd.engine.retrieval.brackets import explain_text, unknown_fields

        unknown = unknown_fields(store, config, questions)
        questions = [question.among(unknown) for question in questions]
        stages = explain_text(store, config, questions)
    questions = [_with_spellings(store, config, question) for question in questions]
    if config.synonyms:
        from qmd.engine.retrieval.own_words import add_own_words

        questions = [add_own_words(config, question, stages) for question in questions]
    return questions, unknown, stages


def _with_spellings(store: Store, config: Config, question: Question) -> Question:
    """Return a question that knows which other spellings of its words documents have, in one word or two."""
    scope = Scope((*config.collections,), population=config.population)
    known = store.lexical.existing(question.spellings, scope) if question.spellings else {}
    return question.knowing(known)


def scope_of(store: Store, config: Config, request: SearchRequest) -> Scope:
    """Return the scope of a request without filters in its query.

    Conditions on links and states are replaced by the documents that satisfy them. Raises
    `CollectionNotFoundError`, and `NotFoundError` if a filter on links names no document.
    """
    scope = Scope(collections_of(config, request.collections), request.where, config.population)
    if scope.where is None or RESOLVED.isdisjoint(each.field for each in comparisons(scope.where)):
        return scope
    from qmd.engine.documents.scopes import resolved

    return resolved(store, config, scope)


def languages_in(store: Store, scope: Scope) -> list[str]:
    """Return the languages of the documents of a scope, the most frequent first."""
    kept, key = store.computed(), (LANGUAGE, scope.collections)
    if key not in kept:
        found = store.fields.values(Scope(scope.collections), LANGUAGE, _MOST_LANGUAGES)
        total = sum(each.documents for each in found)
        kept[key] = [str(each.value) for each in found if each.documents >= _LEAST_SHARE * total]
    languages: list[str] = kept[key]
    return languages


def filtered_out(store: Store, scope: Scope, document: Document) -> str | None:
    """Return which filter leaves a document out, in words; None if none does."""
    if scope.where is None:
        return None
    fields = {"id": (document.id,), **store.fields.of([document.id]).get(document.id, {})}
    for part in parts(scope.where):
        if matches(part, fields):
            continue
        found = []
        for name in dict.fromkeys(each.field for each in comparisons(part)):
            values = fields.get(name, ())
            shown = ", ".join(map(shown_value, values[:_MAX_VALUES]))
            found.append(f"its {name} is {shown}" if values else f"it has no {name}")
        return f"it does not pass the filter {describe(part)}" + (f": {', '.join(found)}" if found else "")
    return None


def nothing_to_search(store: Store, config: Config, collections: Sequence[str]) -> QmdError | None:
    """Return an error that says why there is no document to search, with a hint; None if there is one."""
    if not config.collections:
        return NotFoundError("there are no collections yet", "add one with 'qmd add PATH'")
    if not collections:
        hint = "name one with -c, or run 'qmd collection include NAME'"
        return NotFoundError("every collection is excluded", hint)
    if store.fields.count(Scope((*collections,))):
        return None
    scans = store.collections.last_scans()
    if unscanned := [name for name in collections if scans.get(name) is None]:
        return NotFoundError(f"never scanned: {', '.join(unscanned)}", "run 'qmd update'")
    from qmd.engine.indexing.unread import describe  # most searches find documents

    unread = (describe(config.collections[name], store.collections.last_root(name)) for name in collections)
    why = next(chain.from_iterable(unread), "'qmd collection list' shows which files they take")
    return NotFoundError(f"no documents in {', '.join(collections)}", why)


def explain_no_hits(
    store: Store, config: Config, scope: Scope, stated: Predicate | None
) -> tuple[Stage, ...]:
    """Return a stage that says why there is nothing to search, or why no document passes a filter.

    Raises `FieldNotFoundError` if `stated`, the filter beside the query, names a field that no document has.
    """
    if empty := nothing_to_search(store, config, scope.collections):
        return (Stage("index", "skipped", f"{empty.message}: {empty.hint}"),)
    if scope.where is None or store.fields.count(scope):
        return ()
    from qmd.engine.documents.fields import check_fields, explain_empty

    check_fields(store, config, stated)
    return (Stage("filter", "skipped", explain_empty(store, scope)),)
