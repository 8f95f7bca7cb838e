"""Get variants of a query from the expander, if there is one and they can improve the result."""

from __future__ import annotations

import json

from qmd.engine.models.egress import disclose
from qmd.engine.requests import SearchRequest
from qmd.engine.retrieval.retrievers import Retrieval
from qmd.errors import QmdError
from qmd.models.base import Expander, Variant
from qmd.store.values import LexicalMatches
from qmd.text.query import as_prose
from qmd.types import Stage

#: If the best keyword match has this score and this lead, variants would only cost time.
STRONG_SCORE = 0.85
STRONG_LEAD = 0.15
#: Share of the remaining time, because the variants must still be searched, fused and reranked.
TIME_SHARE = 0.5


def expand(retrieval: Retrieval, request: SearchRequest, lexical: LexicalMatches | None) -> list[Variant]:
    """Return variants of the query, from the cache if possible. If there are none, a stage says why."""
    expander = _expander(retrieval, request, lexical)
    if expander is None:
        return []
    store, population = retrieval.store, retrieval.scope.population
    query = as_prose(request.query)
    parts = ["expand", expander.name, query, request.intent]
    # Cached variants reveal that the same query was asked, so each population has its own.
    key = json.dumps(parts if population is None else [*parts, population], ensure_ascii=False)
    cached = store.answers.get(key)
    if cached is not None:
        retrieval.stages.append(Stage("expand", "ran", "from the cache", 0.0))
        return [Variant(kind, text) for kind, text in json.loads(cached)]
    disclose(store, retrieval.models, "generate")
    task = retrieval.start(lambda: expander.expand(query, intent=request.intent))
    variants = retrieval.gather("expand", task, share=TIME_SHARE, failed="skipped") or []
    if variants:
        value = json.dumps([[variant.kind, variant.query] for variant in variants], ensure_ascii=False)
        retrieval.cache({key: value})
    return variants


def _expander(
    retrieval: Retrieval, request: SearchRequest, lexical: LexicalMatches | None
) -> Expander | None:
    """Return the expander; None, and a stage with the reason, if the query is not expanded."""
    if request.searches:
        reason = "searches were given"
    elif not request.expand:
        reason = "not asked for"
    else:
        try:
            expander = retrieval.models.expander
        except QmdError as error:
            retrieval.skip("expand", error.in_one_line())
            return None
        if expander is None:
            reason = "no expansion model is set"
        elif lexical is not None and _is_strong(lexical):
            reason = "the keywords alone find one document far ahead of the others"
        else:
            return expander
    retrieval.skip("expand", reason, expected=True)
    return None


def _is_strong(lexical: LexicalMatches) -> bool:
    """Tell whether the best document has a high score and a clear lead."""
    if lexical.bound <= 0 or not lexical.matches:
        return False
    scores = [match.score / lexical.bound for match in lexical.matches[:2]]
    return scores[0] >= STRONG_SCORE and (len(scores) == 1 or scores[0] - scores[1] >= STRONG_LEAD)
