"""The factors of a score: weights of collections, dates and marks.

Factors multiply the odds of a score, score / (1 - score), so scores stay between 0 and 1, and a factor means
the same wherever the scores of a search lie: those of vectors are all close to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import prod
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from qmd.types import Ranked
from qmd.types.states import CURRENT, DocumentState
from qmd.types.traces import Adjustment, Factor

#: The factor of a very old document.
OLDEST = 0.5
#: By how much a mark for the query changes the factor.
MARK = 0.5
#: The factor of a document that is not valid any more, if nothing that replaces it is searched.
OUTDATED = 0.15
#: The factor of a draft.
DRAFT = 0.5
#: The factor of a document whose place another one has taken that replaces it.
SUPERSEDED = 0.5
#: Higher scores are lowered to this one, because the odds of 1 are infinite.
_SURE = 0.995
_SECONDS_PER_DAY = 86_400.0


class Facts(Struct, frozen=True):
    """The properties of a document that its factors depend on.

    `weight` is that of its collection, and `highest` the highest one of the collections that are searched.
    `state` is current if the document that replaces it is searched, because that takes its place.
    """

    date: str
    now: datetime
    weight: float = 1.0
    highest: float = 1.0
    half_life: float | None = None
    mark: Literal["good", "bad"] | None = None
    state: DocumentState = CURRENT


def of_collection(facts: Facts) -> Factor | None:
    """Return the weight of the document's collection."""
    if facts.weight == facts.highest:
        return None
    reason = f"its collection has the weight {facts.weight:g}, the highest is {facts.highest:g}"
    return Factor(facts.weight / facts.highest, reason)


def of_date(facts: Facts) -> Factor | None:
    """Return 1 for a document of today, which falls to `OLDEST` by half in each half-life."""
    if facts.half_life is None:
        return None
    try:
        moment = datetime.fromisoformat(facts.date).replace(tzinfo=UTC)
    except ValueError:
        return Factor(OLDEST, "no date")
    age = max(0.0, (facts.now - moment).total_seconds() / _SECONDS_PER_DAY)
    value = OLDEST + (1.0 - OLDEST) * 0.5 ** (age / facts.half_life)
    return Factor(value, f"{age:,.0f} days old, half-life {facts.half_life:g} days")


def of_mark(facts: Facts) -> Factor | None:
    """Return a factor above 1 for a good mark, below 1 for a bad one."""
    if facts.mark is None:
        return None
    change = MARK if facts.mark == "good" else -MARK
    return Factor(1.0 + change, f"marked as {facts.mark} for this query")


def of_state(facts: Facts) -> Factor | None:
    """Return a factor below 1 for a document that is not valid any more."""
    if not facts.state.is_lowered:
        return None
    return Factor(DRAFT if facts.state.name == "draft" else OUTDATED, f"it is {facts.state.line}")


#: By the name that the explanation has.
FACTORS: Mapping[str, Callable[[Facts], Factor | None]] = {
    "collection": of_collection,
    "recency": of_date,
    "mark": of_mark,
    "state": of_state,
}


def scale(score: float, factor: float) -> float:
    """Multiply the odds of a score, 0..1."""
    if factor == 1.0:
        return score
    part = score if factor > 1.0 else min(score, _SURE)
    return part * factor / (1.0 - part + part * factor)


def weigh(item: Ranked, facts: Facts) -> Ranked:
    """Return a document with its adjusted score and the factors."""
    found = {name: factor for name, of in FACTORS.items() if (factor := of(facts)) is not None}
    if not found:
        return item
    score = scale(item.score, prod(factor.value for factor in found.values()))
    return replace(item, score=score, traces=(*item.traces, Adjustment(item.score, found)))


def superseded(item: Ranked) -> Ranked:
    """Return a document with a lower score, because another one that replaces it has its place."""
    factors = {"state": Factor(SUPERSEDED, "what replaces it has its place")}
    trace = Adjustment(item.score, factors)
    return replace(item, score=scale(item.score, SUPERSEDED), traces=(*item.traces, trace))
