"""The two rankings, which combine a fused list with the reranker's scores: `contract` and `tuned`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from qmd.types import Ranked
from qmd.types.traces import ContractBlend, TunedBlend

#: (up to this fused rank, share of the fused score). The reranker's score has the rest.
CONTRACT_BLEND = ((3, 0.75), (10, 0.60))
CONTRACT_TAIL = 0.40

#: Weights relative to the reranker's score, which has 1 (measured, see bench/README.md). The fused score is
#: also multiplied by the lexical coverage: if query and documents are in different languages, BM25 is noise.
FUSED = 1.0
TITLE = 0.4
COSINE = 0.7


def contract(fused: Sequence[Ranked]) -> list[Ranked]:
    """Blend the fused and the reranker's scores by fused rank: ¾ fused for 1..3, 0.6 for 4..10, then 0.4.

    Documents without the signal `rerank` follow. If none has it, the fused list is unchanged.
    """
    blended: list[Ranked] = []
    rest: list[Ranked] = []
    for rank, entry in enumerate(fused, 1):
        score = entry.signals.get("rerank")
        if score is None:
            rest.append(entry)
            continue
        share = next((part for limit, part in CONTRACT_BLEND if rank <= limit), CONTRACT_TAIL)
        value = share * entry.score + (1.0 - share) * score
        blend = ContractBlend(score, entry.score, share)
        blended.append(replace(entry, score=value, traces=(*entry.traces, blend)))
    return _sorted_with(blended, rest)


def tuned(fused: Sequence[Ranked], coverage: float) -> list[Ranked]:
    """Sort the candidates by `rerank + coverage · fused + 0.4 title + 0.7 cosine`; the others follow.

    The score is this sum divided by its maximum, without the parts that no candidate has. Candidates have the
    signal `title`, and those that were read have `rerank`. `coverage` is the score of the best keyword match
    relative to its maximum, 0..1.
    """
    candidates = [entry.signals for entry in fused if "title" in entry.signals]
    maximum = 1.0 + FUSED * coverage
    if any(signals["title"] for signals in candidates):
        maximum += TITLE
    if any("meaning" in signals for signals in candidates):
        maximum += COSINE
    blended: list[Ranked] = []
    rest: list[Ranked] = []
    for entry in fused:
        signals = entry.signals
        if "rerank" not in signals:
            rest.append(entry)
            continue
        blend = TunedBlend(
            rerank=signals["rerank"],
            fused=FUSED * coverage * entry.score,
            title=TITLE * signals["title"],
            cosine=COSINE * signals.get("meaning", 0.0),
            most=maximum,
        )
        score = sum(blend.parts.values()) / maximum
        blended.append(replace(entry, score=score, traces=(*entry.traces, blend)))
    return _sorted_with(blended, rest)


def _sorted_with(blended: Sequence[Ranked], rest: Sequence[Ranked]) -> list[Ranked]:
    """Sort by score, and append the rest, scaled so that scores do not increase with rank.

    Scores are cut to 1 only after they have decided the order.
    """
    in_order = sorted(blended, key=lambda item: -item.score)
    upper = [replace(item, score=1.0) if item.score > 1.0 else item for item in in_order]
    if not upper or not rest:
        return [*upper, *rest]
    ceiling = upper[-1].score
    top = max(item.score for item in rest)
    factor = min(1.0, ceiling / top) if top > 0 else 1.0
    return [*upper, *(replace(item, score=item.score * factor) for item in rest)]
