"""Merge several ranked lists into one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from qmd.types import Ranked, Ranking
from qmd.types.traces import Fusion, KeywordMatch, ListShare, Signal, Tier, VectorMatch

#: Cormack, Clarke & Büttcher, "Reciprocal Rank Fusion outperforms Condorcet" (2009).
RRF_K = 60
#: Added to the raw score of a document that is first, or second or third, in any list.
TOP_BONUS = 0.05
NEAR_TOP_BONUS = 0.02
#: How much of the query's share that a long text has, but not in its best place, counts against it, and the
#: part of its score that is left at least (measured, see bench/README.md).
SCATTERED, LEAST_LEFT = 1 / 3, 0.1
_TIERS: tuple[Tier, ...] = ("all", "any", "longer")


class RankedList(Struct, frozen=True):
    """A list of (document, raw score), best first. `weight` is 2 for the original query."""

    name: str
    kind: Literal["lexical", "dense"]
    items: Sequence[tuple[int, float]]
    weight: float = 1.0


def reciprocal_rank(lists: Sequence[RankedList], unembedded: Collection[int] = ()) -> list[Ranked]:
    """Fuse lists by Σ weight / (60 + rank), with ranks from 1, plus a bonus for top ranks.

    The score is the raw value divided by its maximum, that of a document that is first in every list. For
    `unembedded` documents, which have no vectors, the lists by words have the weight of all.
    """
    all_weights = sum(ranked.weight for ranked in lists)
    by_words = sum(ranked.weight for ranked in lists if ranked.kind == "lexical")
    shares: dict[int, list[ListShare]] = {}
    for ranked in lists:
        for rank, (document, score) in enumerate(ranked.items, 1):
            weight = ranked.weight * (all_weights / by_words if document in unembedded else 1.0)
            share = ListShare(ranked.name, rank, score, weight, weight / (RRF_K + rank))
            shares.setdefault(document, []).append(share)
    maximum = all_weights / (RRF_K + 1) + TOP_BONUS
    bonuses = {}
    for document, parts in shares.items():
        best = min(part.rank for part in parts)
        bonuses[document] = TOP_BONUS if best == 1 else NEAR_TOP_BONUS if best <= 3 else 0.0
    return _fused("contract", shares, bonuses, maximum)


def convex(lists: Sequence[RankedList], unembedded: Collection[int] = ()) -> list[Ranked]:
    """Fuse lists by ½ minmax(BM25) + ½ minmax(cosine). A document counts as 0 in a list that lacks it.

    Bruch, Gai & Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023). If there are several
    lists of a kind (variants of the query), they share the kind's half by weight. If there is only one kind,
    it counts in full, and so do words for `unembedded` documents, which have no vectors.
    """
    kinds = {ranked.kind for ranked in lists}
    totals = {kind: sum(ranked.weight for ranked in lists if ranked.kind == kind) for kind in kinds}
    shares: dict[int, list[ListShare]] = {}
    for ranked in lists:
        of_kind = ranked.weight / totals[ranked.kind]
        for rank, (document, score) in enumerate(ranked.items, 1):
            weight = of_kind / (1 if document in unembedded else len(kinds))
            share = ListShare(ranked.name, rank, score, weight, weight * _minmax(score, ranked.items))
            shares.setdefault(document, []).append(share)
    return _fused("tuned", shares, {}, 1.0)


def _fused(
    ranking: Ranking, shares: Mapping[int, list[ListShare]], bonuses: Mapping[int, float], maximum: float
) -> list[Ranked]:
    """Return the documents by the sum of their shares and bonus; the score is its part of the maximum."""
    totals = {
        document: sum(share.contribution for share in parts) + bonuses.get(document, 0.0)
        for document, parts in shares.items()
    }

    # Sorting is stable, so the rest is the order of the lists.
    def key(document: int) -> tuple[float, int]:
        return -totals[document], min(share.rank for share in shares[document])

    fused = []
    for rank, document in enumerate(sorted(totals, key=key), 1):
        total, bonus = totals[document], bonuses.get(document, 0.0)
        score = min(1.0, total / maximum)
        trace = Fusion(ranking, rank, score, total, bonus, tuple(shares[document]))
        fused.append(Ranked(document, score, (trace,)))
    return fused


def _minmax(score: float, items: Sequence[tuple[int, float]]) -> float:
    """Scale a score to 0..1 by the range of its list; if all scores are equal, it is 1."""
    low, high = items[-1][1], items[0][1]
    return 1.0 if high <= low else (score - low) / (high - low)


def by_meaning(lists: Sequence[RankedList]) -> list[Ranked]:
    """Merge lists of cosines by each document's highest one; the score is 1 / (1 + cosine distance)."""
    best: dict[int, float] = {}
    for ranked in lists:
        for document, cosine in ranked.items:
            best[document] = max(best.get(document, float("-inf")), cosine)
    merged = []
    for document, cosine in sorted(best.items(), key=lambda item: -item[1]):
        score = 1.0 / (1.0 + max(0.0, 1.0 - cosine))
        merged.append(Ranked(document, score, (VectorMatch(cosine, score),), {"meaning": cosine}))
    return merged


def by_words(
    matches: Sequence[tuple[int, float, Tier, float]],
    bound: float,
    placed: int = 0,
    most: float | None = None,
) -> list[Ranked]:
    """Divide the BM25 scores of matches by `bound`, the highest possible one.

    Documents with all terms come first, even if others score higher. Then the scores of the others are
    scaled, so that they do not increase with rank.

    Args:
        matches: The document, the score, the tier, and the share of the query that is not in its best place.
        bound: The highest possible score.
        placed: The number of first documents that `SCATTERED` of that share counts against.
        most: The score that counts as the whole query for the signal `words`; `bound` if not given.
    """
    tiers = {match[0]: _TIERS.index(match[2]) for match in matches}
    parted = [*tiers.values()] == sorted(tiers.values())
    shares: dict[int, float] = {}
    for number, (document, bm25, _, scattered) in enumerate(matches):
        share = bm25 / bound if bound > 0 else 0.0
        lost = SCATTERED * scattered if number < placed else 0.0
        shares[document] = max(share - lost, LEAST_LEFT * share)
    first = sorted(matches[:placed], key=lambda match: (tiers[match[0]] if parted else 0, -shares[match[0]]))
    ranked: list[Ranked] = []
    lowest, factor, last = 1.0, 1.0, ""
    for number, (document, bm25, tier, scattered) in enumerate((*first, *matches[placed:])):
        share = shares[document]
        if tier != last:
            factor = min(1.0, lowest / share) if share > 0 else 1.0
        lowest, last = min(lowest, share * factor), tier
        words = min(1.0, bm25 / (most or bound)) if bound > 0 else 0.0
        signals: dict[Signal, float] = {"words": words, "exact": float(tier == "all")}
        trace = KeywordMatch(bm25, bound, tier, scattered if number < placed else 0.0)
        ranked.append(Ranked(document, lowest, (trace,), signals))
    return ranked
