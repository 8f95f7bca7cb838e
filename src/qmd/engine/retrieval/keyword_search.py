"""Search by keywords alone: BM25 (E20–E25). Apart from the other searches, so that it starts at once."""

from __future__ import annotations

from qmd.engine.requests import ALL, SearchRequest
from qmd.engine.retrieval.deadline import Stopwatch
from qmd.engine.retrieval.filters import NOTHING_ASKED, scope_of, without_filters
from qmd.engine.retrieval.hits import Found, cut, hits
from qmd.store.base import LexicalMatches, Store
from qmd.text.highlight import Highlighter
from qmd.text.query import parse
from qmd.types import Config, SearchResponse, Stage


def search(store: Store, config: Config, request: SearchRequest) -> SearchResponse:
    """The best documents by BM25, scored 0..1."""
    watch = Stopwatch()
    meant = without_filters(request)
    query = parse(meant.query)
    matches = store.lexical(query, scope_of(config, meant), request.limit or ALL)
    found = cut(_calibrated(matches, request.explain), request.limit, request.min_score)
    shown = hits(store, config, Highlighter(query.terms, matches.idf), found, full=request.full)
    reason = None if query.terms else NOTHING_ASKED
    stage = Stage("lexical", "ran" if query.terms else "skipped", reason, watch.milliseconds())
    return SearchResponse(request.query, shown, (stage,))


def _calibrated(matches: LexicalMatches, explained: bool) -> list[Found]:
    """BM25 over its bound (E24). Where all-terms-first puts a lower score ahead, it caps those after it."""
    found: list[Found] = []
    ceiling = 1.0
    for match in matches.matches:
        ceiling = min(ceiling, match.score / matches.bound if matches.bound > 0 else 0.0)
        detail = {"bm25": round(match.score, 4), "bound": round(matches.bound, 4), "tier": match.tier}
        found.append(Found(match.document, ceiling, None, {"lexical": detail} if explained else None))
    return found
