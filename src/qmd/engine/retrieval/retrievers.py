"""Search by words and by meaning side by side, with variants of the query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from qmd.engine.embedding.active_vectors import ActiveVectors, select
from qmd.engine.embedding.batches import is_running
from qmd.engine.models import egress
from qmd.engine.retrieval.expansion import expand
from qmd.engine.retrieval.filters import nothing_to_search
from qmd.engine.retrieval.found import Found
from qmd.engine.retrieval.queries import SubQuery
from qmd.engine.retrieval.search import Search, Task, what_makes_vectors
from qmd.engine.retrieval.spelling import respelled
from qmd.errors import ModelError, QmdError, VectorIndexMissingError
from qmd.store.values import ChunkMatch, LexicalMatches
from qmd.text.question import Question
from qmd.text.wording import plural
from qmd.types import Hit

if TYPE_CHECKING:
    from qmd.models.base import Probe

#: The vector of each subquery, and the matches of each.
_Dense = tuple[list["Probe"], list[list[ChunkMatch]]]


def retrieve(search: Search) -> Found:
    """Return the lists of a query and its variants. Raises the first error if nothing could be searched."""
    request, plan = search.request, search.plan
    found, queries = Found(search.asked.question, request.intent or ""), search.asked.queries
    by_words = [query for query in queries if query.lexical and plan.words]
    by_meaning = [query for query in queries if query.dense]
    lexical_task = search.start(partial(_search_words, search, by_words)) if plan.words else None
    found.vectors = _usable_vectors(search, by_meaning)
    dense_task = _start_dense(search, found.vectors, by_meaning)
    matches = (search.gather("lexical", lexical_task) if lexical_task else None) or []
    if matches:
        _correct(search, found, by_words, matches)
    found.add_words(by_words, matches)
    variants = [
        SubQuery(f"variant {number}", Question(variant.query), variant.kind)
        for number, variant in enumerate(expand(search, found.words), 1)
    ]
    dense = search.gather("vector", dense_task) if dense_task else None
    if dense is None and not matches:
        raise search.failures[0]
    if dense is not None:
        found.probe = dense[0][0]
        found.add_meaning(by_meaning, dense[1])
    elif not any(ranked.items for ranked in found.lexical):
        # A last resort: beside vectors, longer words are noise.
        longer_task = search.start(partial(_search_words, search, by_words, longer=True))
        found.words, found.lexical = None, []
        longer = search.gather("longer words", longer_task)
        found.add_words(by_words, longer or ())
    _add_variants(search, found, variants)
    return found


def _correct(search: Search, found: Found, queries: list[SubQuery], matches: list[LexicalMatches]) -> None:
    """Search again by other words for those that no document has."""
    for at, query in enumerate(queries):
        if other := respelled(search, query.question, matches[at]):
            if found.question is query.question:
                found.question = other
            queries[at] = replace(query, question=other)
            matches[at : at + 1] = _search_words(search, queries[at : at + 1])


def _add_variants(search: Search, found: Found, variants: Sequence[SubQuery]) -> None:
    by_words = [variant for variant in variants if variant.lexical and search.plan.words]
    if by_words:
        task = search.start(partial(_search_words, search, by_words))
        matches = search.gather("lexical variants", task)
        found.add_words(by_words, matches or ())
    by_meaning = [variant for variant in variants if variant.dense]
    dense_task = _start_dense(search, found.vectors, by_meaning)
    if dense_task is not None:
        dense = search.gather("vector variants", dense_task)
        found.add_meaning(by_meaning, dense[1] if dense else ())


def _search_words(
    search: Search, queries: Sequence[SubQuery], *, longer: bool = False
) -> list[LexicalMatches]:
    lexical = search.store.lexical
    return [
        lexical.search(query.question.terms, search.scope, search.length, longer=longer) for query in queries
    ]


def _start_dense(
    search: Search, vectors: ActiveVectors | None, queries: Sequence[SubQuery]
) -> Task[_Dense] | None:
    """Embed subqueries in one batch and search them in a thread; None if there is nothing to search."""
    if vectors is None or not queries:
        return None
    if vectors.configured:
        egress.disclose(search.store, search.models, "embed")
    return search.start(partial(_search_meaning, search, vectors, queries))


def _search_meaning(search: Search, vectors: ActiveVectors, queries: Sequence[SubQuery]) -> _Dense:
    # A hypothetical answer reads like a document, but is embedded as a query like the others.
    probes = vectors.probes([query.meaning for query in queries])
    return probes, [vectors.search(search.store, probe, search.scope, search.length) for probe in probes]


def _usable_vectors(search: Search, queries: Sequence[SubQuery]) -> ActiveVectors | None:
    """Return the vectors to search; None, and a stage with the reason, if there are none."""
    if not queries:
        search.skip("vector", "no vec: or hyde: search was given", expected=True)
        return None
    try:
        vectors = _select(search)
    except QmdError as error:
        search.failures.append(error)
        search.skip("vector", error.in_one_line())
        return None
    _note_gaps(search, vectors)
    return vectors


def _select(search: Search) -> ActiveVectors:
    """Return the vectors to search. Raises `ModelError`, `VectorIndexMissingError`, `NotFoundError`."""
    collections = search.scope.collections
    try:
        return select(search.store, search.config, search.models, search.scope)
    except VectorIndexMissingError as error:
        if empty := nothing_to_search(search.store, search.config, collections):
            if not collections:
                raise empty from None
            error.hint = f"{empty.message}: {empty.hint}"
            raise
        if egress.local_only(search.config, search.models, "embed").issuperset(collections):
            message = f"No vectors of {egress.explain_local(collections)}"
            raise ModelError(message, "search it by words") from None
        raise


def _note_gaps(search: Search, vectors: ActiveVectors) -> None:
    """Record a stage if the vectors are of another model, or if some documents have none."""
    if vectors.note is not None:
        search.skip("embedding", vectors.note)
    local: frozenset[str] = frozenset()
    if vectors.configured:
        local = egress.local_only(search.config, search.models, "embed").intersection(
            search.scope.collections
        )
    if local:
        search.skip("embedding", egress.explain_local(sorted(local)), expected=True)
    embedded = replace(search.scope, collections=egress.allowed(search.scope.collections, local))
    search.vectors = vectors.fingerprint, embedded


def note_pending(search: Search, hits: Sequence[Hit], *, hybrid: bool) -> None:
    """Record a stage if documents have no vectors: of the collections of hits, if words can be hits too."""
    if search.vectors is None:
        return
    fingerprint, scope = search.vectors
    if hybrid and hits:
        hit = {each.collection for each in hits}
        scope = replace(scope, collections=tuple(name for name in scope.collections if name in hit))
    pending = search.store.pending.count(fingerprint, scope) if scope.collections else 0
    if not pending:
        return
    without = f"{plural(pending, 'document')} {'has' if pending == 1 else 'have'} no vectors"
    if search.models.portable:
        search.skip("embedding", f"{without} in this index file")
    elif is_running(search.store.location):
        search.skip("embedding", f"vectors are being made: {plural(pending, 'document')} left")
    else:
        search.skip("embedding", f"{without} yet: {what_makes_vectors(search.store.location)}")
