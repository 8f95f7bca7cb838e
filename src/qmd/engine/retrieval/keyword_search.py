"""Search by keywords (BM25). A module of its own, so that keyword searches import little."""

from __future__ import annotations

from qmd.engine.requests import ALL, SearchRequest
from qmd.engine.retrieval.deadline import Stopwatch
from qmd.engine.retrieval.filters import NO_TERMS, scope_of, without_filters
from qmd.engine.retrieval.hits import make_hits
from qmd.store.base import LexicalMatches, Store
from qmd.text.highlight import Highlighter
from qmd.text.query import parse
from qmd.types import Config, Ranked, SearchResponse, Stage


def search(store: Store, config: Config, request: SearchRequest) -> SearchResponse:
    """Return the best documents by BM25, with scores of 0..1."""
    stopwatch = Stopwatch()
    unfiltered = without_filters(request)
    query = parse(unfiltered.query)
    matches = store.lexical.search(query, scope_of(config, unfiltered), request.limit or ALL)
    highlighter = Highlighter(query.terms, matches.idf)
    hits = make_hits(store, config, highlighter, _rank(matches), request)
    reason = None if query.terms else NO_TERMS
    stage = Stage("lexical", "ran" if query.terms else "skipped", reason, stopwatch.milliseconds())
    return SearchResponse(request.query, hits, (stage,))


def _rank(matches: LexicalMatches) -> list[Ranked]:
    """Divide the scores by the highest possible one.

    Documents with all terms come first, even if another document scores higher. Its score is then lowered, so
    that scores do not increase with rank.
    """
    ranked: list[Ranked] = []
    ceiling = 1.0
    for match in matches.matches:
        ceiling = min(ceiling, match.score / matches.bound if matches.bound > 0 else 0.0)
        bm25 = {"bm25": round(match.score, 4), "bound": round(matches.bound, 4), "tier": match.tier}
        ranked.append(Ranked(match.document, ceiling, {"lexical": bm25}))
    return ranked
