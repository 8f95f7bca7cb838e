"""Get variants of a query from the expander, if there is one and they can improve the result."""

from __future__ import annotations

import json

from qmd.engine.models.egress import disclose
from qmd.engine.retrieval.search import Search
from qmd.errors import QmdError
from qmd.models.base import Expander, Variant
from qmd.store.values import LexicalMatches
from qmd.text.query import as_prose
from qmd.types import Stage

#: If the best keyword match has this score and this lead, variants would only cost time.
STRONG_SCORE = 0.85
STRONG_LEAD = 0.15


def expand(search: Search, words: LexicalMatches | None) -> list[Variant]:
    """Return variants of the query, from the cache if possible. If there are none, a stage says why.

    `words` are the matches of the query itself.
    """
    request, expander = search.request, _expander(search, words)
    if expander is None:
        return []
    store, population = search.store, search.scope.population
    query = as_prose(request.query)
    parts = ["expand", expander.name, query, request.intent]
    # Cached variants reveal that the same query was asked, so each population has its own.
    key = json.dumps(parts if population is None else [*parts, population], ensure_ascii=False)
    cached = store.answers.get(key)
    if cached is not None:
        search.stages.append(Stage("expand", "ran", "from the cache", 0.0))
        return [Variant(kind, text) for kind, text in json.loads(cached)]
    disclose(store, search.models, "generate")
    task = search.start(lambda: expander.expand(query, intent=request.intent))
    variants = search.gather("expand", task, optional=True) or []
    if variants:
        value = json.dumps([[variant.kind, variant.query] for variant in variants], ensure_ascii=False)
        search.cache(lambda: search.store.answers.put({key: value}))
    return variants


def _expander(search: Search, words: LexicalMatches | None) -> Expander | None:
    """Return the expander; None, and a stage with the reason, if the query is not expanded."""
    if search.request.searches:
        reason = "searches were given"
    elif not search.request.expand:
        reason = "not asked for"
    else:
        try:
            expander = search.models.expander
        except QmdError as error:
            search.skip("expand", error.in_one_line())
            return None
        if expander is None:
            reason = "no expansion model is set"
        elif words is not None and _is_strong(words):
            reason = "the keywords alone find one document far ahead of the others"
        else:
            return expander
    search.skip("expand", reason, expected=True)
    return None


def _is_strong(words: LexicalMatches) -> bool:
    """Tell whether the best document has a high score and a clear lead."""
    if words.bound <= 0 or not words.matches:
        return False
    scores = [match.score / words.bound for match in words.matches[:2]]
    return scores[0] >= STRONG_SCORE and (len(scores) == 1 or scores[0] - scores[1] >= STRONG_LEAD)
