"""Variants of a query from the expander, where there is one and something to gain (E40)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from qmd.engine.models.egress import disclose
from qmd.engine.models.provider import ModelProvider
from qmd.engine.requests import SearchRequest
from qmd.engine.retrieval.retrievers import Retrieval
from qmd.errors import QmdError
from qmd.models.base import Variant
from qmd.store.base import LexicalMatches, Store
from qmd.types import Stage

#: BM25 so sure of itself that variants would only cost time.
STRONG_SCORE = 0.85
STRONG_LEAD = 0.15
#: Of the time left: what variants find must still be searched, fused and reranked.
SHARE = 0.5


def expand(
    store: Store,
    roles: ModelProvider,
    legs: Retrieval,
    request: SearchRequest,
    lexical: LexicalMatches | None,
    population: Sequence[str] | None,
) -> list[Variant]:
    """The variants, from the cache where they are known; none, with the stage saying why, where skipped.

    Each population has a cache of its own: a variant that is in it tells that somebody asked the same.
    """
    if request.searches:
        legs.skip("expand", "searches were given", expected=True)
        return []
    if not request.expand:
        legs.skip("expand", "not asked for", expected=True)
        return []
    try:
        expander = roles.expander
    except QmdError as error:
        legs.skip("expand", error.in_one_line())
        return []
    if expander is None:
        legs.skip("expand", "no expansion model is set", expected=True)
        return []
    if lexical is not None and is_strong(lexical):
        legs.skip("expand", "the keywords alone find one document far ahead of the others", expected=True)
        return []
    asked = ["expand", expander.name, request.query, request.intent]
    key = json.dumps(asked if population is None else [*asked, population], ensure_ascii=False)
    known = store.cache_get(key)
    if known is not None:
        legs.stages.append(Stage("expand", "ran", "from the cache", 0.0))
        return [Variant(kind, text) for kind, text in json.loads(known)]
    disclose(store, roles, "generate")
    started = legs.start(lambda: expander.expand(request.query, intent=request.intent))
    variants = legs.gather("expand", started, share=SHARE, failed="skipped") or []
    if variants:
        _remember(store, legs, key, variants)
    return variants


def _remember(store: Store, legs: Retrieval, key: str, variants: list[Variant]) -> None:
    """Keep the variants; an index that cannot be written answers all the same, and says so."""
    try:
        store.cache_put({key: json.dumps([[v.kind, v.query] for v in variants], ensure_ascii=False)})
    except QmdError as error:
        legs.stages.append(Stage("cache", "failed", error.in_one_line()))


def is_strong(lexical: LexicalMatches) -> bool:
    """Whether the best document is nearly all that could be asked, and far ahead of the second."""
    if lexical.bound <= 0 or not lexical.matches:
        return False
    scores = [match.score / lexical.bound for match in lexical.matches[:2]]
    return scores[0] >= STRONG_SCORE and (len(scores) == 1 or scores[0] - scores[1] >= STRONG_LEAD)
