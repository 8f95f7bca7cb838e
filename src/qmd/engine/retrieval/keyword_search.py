"""Search by keywords (BM25). A module of its own, so that keyword searches import little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.engine.deadline import Stopwatch
from qmd.engine.requests import ALL, SearchRequest
from qmd.engine.retrieval.adjust import Adjuster, Guidance
from qmd.engine.retrieval.filters import (
    NO_TERMS,
    explain_no_hits,
    list_newest,
    scope_of,
    without_filters,
)
from qmd.engine.retrieval.hits import make_hits
from qmd.ranking.calibration import Measured, calibrate, doubts
from qmd.store.base import Store
from qmd.store.values import LexicalMatches, Scope
from qmd.text.highlight import Highlighter
from qmd.text.predicates import field_name
from qmd.text.query import parse
from qmd.types import Config, Ranked, SearchResponse, Stage, traces

if TYPE_CHECKING:
    from qmd.types import ValueCount

#: The most values of a facet.
FACET_VALUES = 20


def search(
    store: Store, config: Config, request: SearchRequest, guidance: Guidance | None = None
) -> SearchResponse:
    """Return the best documents by BM25, with scores of 0..1."""
    stopwatch = Stopwatch()
    unfiltered = without_filters(request)
    query, scope = parse(unfiltered.query), scope_of(store, config, unfiltered)
    if scope.where is not None and not unfiltered.query:
        return list_documents(store, config, scope, request)
    adjuster = Adjuster(store, config, scope, request, guidance or Guidance())
    matches = store.lexical.search(query, scope, ALL if adjuster.by_date else adjuster.depth)
    highlighter = Highlighter(query.terms, matches.idf)
    found = _rank(_of_best_tier(matches) if adjuster.by_date else matches)
    if request.scores == "calibrated":
        found = calibrate(found, Measured.of({"words": shares(matches)}))
    ranked = adjuster.apply(found, complete=True)
    hits = make_hits(store, config, highlighter, ranked, request)
    doubt = doubts(found, hits, request.min_score) if request.scores == "calibrated" else []
    reason = None if query.terms else NO_TERMS
    stage = Stage("lexical", "ran" if query.terms else "skipped", reason, stopwatch.milliseconds())
    stages = (stage, *doubt) if found else (stage, *explain_no_hits(store, scope))
    facets: dict[str, tuple[ValueCount, ...]] = {}
    if request.facets:
        every = store.lexical.search(query, scope, ALL, longer=False).matches
        facets = count_facets(store, request, [match.document for match in every])
    return SearchResponse(request.query, hits, stages, facets=facets)


def list_documents(store: Store, config: Config, scope: Scope, request: SearchRequest) -> SearchResponse:
    """Return the response to a query of filters only: the documents that pass, newest first."""
    adjuster = Adjuster(store, config, scope, request)
    ranked, stage = list_newest(store, scope, adjuster.depth)
    hits = make_hits(store, config, Highlighter(()), adjuster.cut(ranked), request)
    facets: dict[str, tuple[ValueCount, ...]] = {}
    if request.facets:
        facets = count_facets(store, request, store.fields.newest(scope, ALL))
    stages = (stage,) if hits else (stage, *explain_no_hits(store, scope))
    return SearchResponse(request.query, hits, stages, facets=facets)


def count_facets(
    store: Store, request: SearchRequest, documents: Sequence[int]
) -> dict[str, tuple[ValueCount, ...]]:
    """Return the most frequent values of the fields that a request asks for, among some documents."""
    return {
        name: tuple(store.fields.facet(documents, field_name(name), FACET_VALUES)) for name in request.facets
    }


def shares(matches: LexicalMatches) -> dict[int, float]:
    """Return the score of each document relative to the highest possible one, 0..1."""
    if matches.bound <= 0:
        return {}
    return {match.document: match.score / matches.bound for match in matches.matches}


def _of_best_tier(matches: LexicalMatches) -> LexicalMatches:
    """Return the documents with all terms, or if there are none, with some of them."""
    best = tuple(match for match in matches.matches if match.tier == matches.matches[0].tier)
    return matches._replace(matches=best)


def _rank(matches: LexicalMatches) -> list[Ranked]:
    """Divide the scores by the highest possible one.

    Documents with all terms come first, even if another document scores higher. Its score is then lowered, so
    that scores do not increase with rank.
    """
    ranked: list[Ranked] = []
    ceiling = 1.0
    for match in matches.matches:
        ceiling = min(ceiling, match.score / matches.bound if matches.bound > 0 else 0.0)
        trace = traces.KeywordMatch(match.score, matches.bound, match.tier)
        ranked.append(Ranked(match.document, ceiling, (trace,)))
    return ranked
