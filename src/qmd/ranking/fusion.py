"""Making one list of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

#: Cormack, Clarke & Büttcher, "Reciprocal Rank Fusion outperforms Condorcet" (2009).
RRF_K = 60
#: What a document earns for being first, or second or third, in any list (E41).
TOP_BONUS = 0.05
NEAR_TOP_BONUS = 0.02


@dataclass(frozen=True, slots=True)
class RankedList:
    """One list to be fused: documents with raw scores, best first. `weight` is 2 for the original query."""

    name: str
    kind: Literal["lexical", "dense"]
    items: Sequence[tuple[int, float]]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Share:
    """What one list gave one document."""

    list: str
    rank: int
    score: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Fused:
    """A document of the fused list, best first; `score` is 0..1."""

    document: int
    score: float
    raw: float
    bonus: float
    shares: tuple[Share, ...]


def reciprocal_rank(lists: Sequence[RankedList], *, k: int = RRF_K, bonus: bool = True) -> list[Fused]:
    """Σ weight / (k + rank), rank from 1, plus the bonus for top ranks (E41).

    The score is the raw value over the most attainable: first in every list, with the bonus.
    """
    shares: dict[int, list[Share]] = {}
    for ranked in lists:
        for rank, (document, score) in enumerate(ranked.items, 1):
            shares.setdefault(document, []).append(
                Share(ranked.name, rank, score, ranked.weight, ranked.weight / (k + rank))
            )
    most = sum(ranked.weight for ranked in lists) / (k + 1) + (TOP_BONUS if bonus else 0.0)
    fused = []
    for document, found in shares.items():
        best = min(share.rank for share in found)
        extra = (TOP_BONUS if best == 1 else NEAR_TOP_BONUS if best <= 3 else 0.0) if bonus else 0.0
        raw = sum(share.contribution for share in found) + extra
        fused.append(Fused(document, min(1.0, raw / most), raw, extra, tuple(found)))
    return sorted(fused, key=lambda entry: (-entry.raw, entry.document))


def convex(lists: Sequence[RankedList]) -> list[Fused]:
    """½ minmax(BM25) + ½ minmax(cosine); a document that a list lacks has 0 there.

    Bruch, Gai & Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023). Where there are
    several lists of a kind (variants of the query), the kind's half is shared among them by weight. With one
    kind only, that kind has the whole.
    """
    kinds = {ranked.kind for ranked in lists}
    totals = {kind: sum(ranked.weight for ranked in lists if ranked.kind == kind) for kind in kinds}
    shares: dict[int, list[Share]] = {}
    for ranked in lists:
        weight = ranked.weight / totals[ranked.kind] / len(kinds)
        for rank, (document, score) in enumerate(ranked.items, 1):
            value = _minmax(score, ranked.items)
            shares.setdefault(document, []).append(Share(ranked.name, rank, score, weight, weight * value))
    fused = []
    for document, found in shares.items():
        raw = sum(share.contribution for share in found)
        fused.append(Fused(document, min(1.0, raw), raw, 0.0, tuple(found)))
    return sorted(fused, key=lambda entry: (-entry.raw, _best_rank(entry), entry.document))


def _minmax(score: float, items: Sequence[tuple[int, float]]) -> float:
    """A score between its list's least and greatest; a list of one, or of equals, is all at the top."""
    low, high = items[-1][1], items[0][1]
    return 1.0 if high <= low else (score - low) / (high - low)


def _best_rank(entry: Fused) -> int:
    return min(share.rank for share in entry.shares)


def best_of(lists: Sequence[RankedList]) -> list[tuple[int, float]]:
    """Merge lists of one kind by each document's highest score (M18)."""
    best: dict[int, float] = {}
    for ranked in lists:
        for document, score in ranked.items:
            if score > best.get(document, float("-inf")):
                best[document] = score
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))


def contributions(entry: Fused) -> list[Mapping[str, float | int | str]]:
    """A fused document's shares as plain values, for `explain`."""
    return [
        {
            "list": share.list,
            "rank": share.rank,
            "score": round(share.score, 4),
            "weight": share.weight,
            "contribution": round(share.contribution, 6),
        }
        for share in entry.shares
    ]
