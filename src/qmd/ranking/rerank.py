"""The two rankings, which combine a fused list with the reranker's scores: `contract` and `tuned`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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

#: Candidates are read in these steps, until no other is likely to be shown: one that is expected to have the
#: mean score of those that were read, and so much more (measured, see bench/README.md).
FIRST, STEP = 16, 4
MARGIN = 0.04


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

    The score is this sum divided by its maximum, without the parts that no candidate has, and without the
    cosine for one that has no vectors. Candidates have the signal `title`, and those that were read have
    `rerank`. `coverage` is the score of the best keyword match relative to its maximum, 0..1.
    """
    named = any(entry.signals.get("title") for entry in fused)
    blended: list[Ranked] = []
    rest: list[Ranked] = []
    for entry in fused:
        signals = entry.signals
        if "rerank" not in signals:
            rest.append(entry)
            continue
        blend = _blend(entry, signals["rerank"], coverage, named)
        score = sum(blend.parts.values()) / blend.most
        blended.append(replace(entry, score=score, traces=(*entry.traces, blend)))
    return _sorted_with(blended, rest)


def without_reading(candidates: Sequence[Ranked], coverage: float) -> dict[int, float]:
    """Return the part of the sum of `tuned` that each candidate has before the reranker has read it.

    What one without vectors has is taken for its share of what it could have.
    """
    named = any(entry.signals.get("title") for entry in candidates)
    blends = {entry.document: _blend(entry, 0.0, coverage, named) for entry in candidates}
    highest = max((blend.most for blend in blends.values()), default=1.0)
    return {
        document: sum(blend.parts.values()) * (highest - 1.0) / max(blend.most - 1.0, 1e-9)
        for document, blend in blends.items()
    }


def to_read(parts: Mapping[int, float], scores: Mapping[int, float], depth: int) -> list[int]:
    """Return the candidates that the reranker has to read for the first `depth` documents of `tuned`.

    More of them may be needed once these have scores. It depends on their scores alone, so the results are
    the same however many others have been read before.

    Args:
        parts: The part of each candidate that needs no reading.
        scores: The reranker's scores of those that have been read.
        depth: The number of documents that may be shown.
    """
    order = sorted(parts, key=lambda document: -parts[document])
    for end in range(max(FIRST, depth), len(order), STEP):
        read = order[:end]
        if any(document not in scores for document in read):
            return read
        sums = sorted((parts[document] + scores[document] for document in read), reverse=True)
        expected = sum(scores[document] for document in read) / end + MARGIN
        if parts[order[end]] + expected <= sums[depth - 1]:
            return read
    return order


def _blend(entry: Ranked, rerank: float, coverage: float, named: bool) -> TunedBlend:
    """Return the parts of a candidate and their highest sum; `named` if a name has words of the query."""
    most = 1.0 + FUSED * coverage + TITLE * named + COSINE * ("meaning" in entry.signals)
    return TunedBlend(
        rerank=rerank,
        fused=FUSED * coverage * entry.score,
        title=TITLE * entry.signals["title"],
        cosine=COSINE * entry.signals.get("meaning", 0.0),
        most=most,
    )


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
