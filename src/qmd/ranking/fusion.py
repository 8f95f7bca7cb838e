"""Merge several ranked lists into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

#: Cormack, Clarke & Büttcher, "Reciprocal Rank Fusion outperforms Condorcet" (2009).
RRF_K = 60
#: Added to the raw score of a document that is first, or second or third, in any list.
TOP_BONUS = 0.05
NEAR_TOP_BONUS = 0.02


class RankedList(Struct, frozen=True):
    """A list of (document, raw score), best first. `weight` is 2 for the original query."""

    name: str
    kind: Literal["lexical", "dense"]
    items: Sequence[tuple[int, float]]
    weight: float = 1.0


class Contribution(Struct, frozen=True):
    """The part of a document's score that comes from one list."""

    list: str
    rank: int
    score: float
    weight: float
    contribution: float


class Fused(Struct, frozen=True):
    """A document of the fused list, which is sorted by `score` (0..1), best first."""

    document: int
    score: float
    raw: float
    bonus: float
    contributions: tuple[Contribution, ...]

    @property
    def best_rank(self) -> int:
        return min(part.rank for part in self.contributions)

    def explain(self) -> list[Mapping[str, float | int | str]]:
        """Return the contributions as plain values."""
        return [
            {
                "list": part.list,
                "rank": part.rank,
                "score": round(part.score, 4),
                "weight": part.weight,
                "contribution": round(part.contribution, 6),
            }
            for part in self.contributions
        ]


def reciprocal_rank(lists: Sequence[RankedList]) -> list[Fused]:
    """Fuse lists by Σ weight / (60 + rank), with ranks from 1, plus a bonus for top ranks.

    The score is the raw value divided by its maximum, that of a document that is first in every list.
    """
    contributions: dict[int, list[Contribution]] = {}
    for ranked in lists:
        for rank, (document, score) in enumerate(ranked.items, 1):
            part = Contribution(ranked.name, rank, score, ranked.weight, ranked.weight / (RRF_K + rank))
            contributions.setdefault(document, []).append(part)
    maximum = sum(ranked.weight for ranked in lists) / (RRF_K + 1) + TOP_BONUS
    fused = []
    for document, parts in contributions.items():
        best = min(part.rank for part in parts)
        bonus = TOP_BONUS if best == 1 else NEAR_TOP_BONUS if best <= 3 else 0.0
        raw = sum(part.contribution for part in parts) + bonus
        fused.append(Fused(document, min(1.0, raw / maximum), raw, bonus, tuple(parts)))
    return sorted(fused, key=lambda entry: (-entry.raw, entry.document))


def convex(lists: Sequence[RankedList]) -> list[Fused]:
    """Fuse lists by ½ minmax(BM25) + ½ minmax(cosine). A document counts as 0 in a list that lacks it.

    Bruch, Gai & Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023). If there are several
    lists of a kind (variants of the query), they share the kind's half by weight. If there is only one kind,
    it counts in full.
    """
    kinds = {ranked.kind for ranked in lists}
    totals = {kind: sum(ranked.weight for ranked in lists if ranked.kind == kind) for kind in kinds}
    contributions: dict[int, list[Contribution]] = {}
    for ranked in lists:
        weight = ranked.weight / totals[ranked.kind] / len(kinds)
        for rank, (document, score) in enumerate(ranked.items, 1):
            part = Contribution(ranked.name, rank, score, weight, weight * _minmax(score, ranked.items))
            contributions.setdefault(document, []).append(part)
    fused = []
    for document, parts in contributions.items():
        raw = sum(part.contribution for part in parts)
        fused.append(Fused(document, min(1.0, raw), raw, 0.0, tuple(parts)))
    return sorted(fused, key=lambda entry: (-entry.raw, entry.best_rank, entry.document))


def _minmax(score: float, items: Sequence[tuple[int, float]]) -> float:
    """Scale a score to 0..1 by the range of its list; if all scores are equal, it is 1."""
    low, high = items[-1][1], items[0][1]
    return 1.0 if high <= low else (score - low) / (high - low)


def best_of(lists: Sequence[RankedList]) -> list[tuple[int, float]]:
    """Merge lists of one kind by each document's highest score."""
    best: dict[int, float] = {}
    for ranked in lists:
        for document, score in ranked.items:
            best[document] = max(best.get(document, float("-inf")), score)
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))
