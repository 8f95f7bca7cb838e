"""The two ways of joining a fused list with what a reranker says: `contract` (E43) and `tuned`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qmd.ranking.fusion import Fused, contributions

#: (up to this fused rank, share of the fused score); the rest is the reranker's (E43).
CONTRACT_BLEND = ((3, 0.75), (10, 0.60))
CONTRACT_TAIL = 0.40

#: Weights beside the reranker's own score, which has 1 (measured, see bench/README.md). The fused score
#: counts as far as the documents answer the query in its own words: across languages
#: they do not, and BM25 is noise.
FUSED = 1.0
TITLE = 0.4
COSINE = 0.7


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a candidate besides its fused score; None where it could not be had.

    `rerank` is the reranker's 0..1, `title` the share of the query's rarity (idf) that its title holds,
    `cosine` the query's cosine with its best chunk.
    """

    rerank: float | None = None
    title: float = 0.0
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document of the final list; `score` is 0..1 and falls with rank."""

    document: int
    score: float
    explain: Mapping[str, Any]


def contract(fused: Sequence[Fused], rerank: Mapping[int, float]) -> list[Ranked]:
    """Blend by fused rank: 1..3 ¾ fused, 4..10 0.6, then 0.4 (E43). Documents without a rerank score follow.

    Where nothing was reranked the fused list stands as it is.
    """
    blended: list[Ranked] = []
    rest: list[Ranked] = []
    for rank, entry in enumerate(fused, 1):
        base = {
            "ranking": "contract",
            "fused": {"rank": rank, "score": entry.score, "rrf": entry.raw, "bonus": entry.bonus},
            "lists": contributions(entry),
        }
        score = rerank.get(entry.document)
        if score is None:
            rest.append(Ranked(entry.document, entry.score, base))
            continue
        share = next((part for most, part in CONTRACT_BLEND if rank <= most), CONTRACT_TAIL)
        value = share * entry.score + (1.0 - share) * score
        explain = base | {"rerank": score, "blend": {"fused": share, "rerank": round(1.0 - share, 2)}}
        blended.append(Ranked(entry.document, value, explain))
    blended.sort(key=lambda ranked: -ranked.score)
    return [*blended, *_below(blended, rest)]


def tuned(fused: Sequence[Fused], evidence: Mapping[int, Evidence], trust: float) -> list[Ranked]:
    """Sort the candidates by `rerank + trust · fused + 0.4 title + 0.7 cosine`; the others follow.

    `trust`, 0..1, is what the best keyword match reached of the most it could: how much of the query the
    documents' words can answer. The score is the sum over the most it could be for this query: a part that no
    candidate has does not count against them.
    """
    most = 1.0 + FUSED * trust
    if any(item.title for item in evidence.values()):
        most += TITLE
    if any(item.cosine is not None for item in evidence.values()):
        most += COSINE
    ranked: list[Ranked] = []
    rest: list[Ranked] = []
    for rank, entry in enumerate(fused, 1):
        base = {
            "ranking": "tuned",
            "fused": {"rank": rank, "score": entry.score},
            "lists": contributions(entry),
        }
        known = evidence.get(entry.document)
        if known is None or known.rerank is None:
            rest.append(Ranked(entry.document, entry.score, base))
            continue
        parts = {
            "rerank": known.rerank,
            "fused": FUSED * trust * entry.score,
            "title": TITLE * known.title,
            "cosine": COSINE * (known.cosine or 0.0),
        }
        explain = base | {"rerank": known.rerank, "blend": parts, "most": most}
        ranked.append(Ranked(entry.document, min(1.0, sum(parts.values()) / most), explain))
    ranked.sort(key=lambda item: -item.score)
    return [*ranked, *_below(ranked, rest)]


def _below(upper: Sequence[Ranked], rest: Sequence[Ranked]) -> list[Ranked]:
    """Documents that follow others, scaled so that scores go on falling."""
    if not upper or not rest:
        return list(rest)
    ceiling = min(upper[-1].score, 1.0)
    top = max(item.score for item in rest)
    factor = min(1.0, ceiling / top) if top > 0 else 1.0
    return [Ranked(item.document, item.score * factor, item.explain) for item in rest]
