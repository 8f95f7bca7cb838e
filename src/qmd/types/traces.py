"""Traces: the contribution of each step of a search to the place of a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

from qmd.types.configuration import Ranking

#: Whether a document has all words of a query, some of them, or only longer words.
Tier = Literal["all", "any", "longer"]
#: The measurements of a document: its BM25 score relative to the highest possible one, whether it has all
#: words of the query (1 or 0), the cosine of its best chunk, the same without the part that all texts share,
#: the reranker's score, the share of the query's idf in the best window that it read, and how well its name
#: matches. Of the first document also how far it is ahead of others by words, by meaning and for the
#: reranker, and whether it is ahead by words and by meaning (1 or 0).
Signal = Literal[
    "words",
    "exact",
    "meaning",
    "subject",
    "rerank",
    "passage",
    "title",
    "word_lead",
    "meaning_lead",
    "agree",
    "rerank_lead",
]


class KeywordMatch(Struct, frozen=True, tag="lexical", omit_defaults=True):
    """The BM25 score of a search by words, and the most that any document could reach for the query.

    `scattered` is the share of the query that the text has, but not in its best place; a part of it counts
    against the document.
    """

    bm25: float
    bound: float
    tier: Tier
    scattered: float = 0.0


class VectorMatch(Struct, frozen=True, tag="vector"):
    """The cosine of a search by meaning, and the score that it gives."""

    cosine: float
    score: float


class Listing(Struct, frozen=True, tag="filter"):
    """The document passes the filters of a query without words."""


class ListShare(Struct, frozen=True):
    """The part of a fused score that comes from one list; `score` is the BM25 score or the cosine."""

    list: str
    rank: int
    score: float
    weight: float
    contribution: float


class Fusion(Struct, frozen=True, tag="fused"):
    """The place of a document in the fused list.

    `total` is the sum of what the lists gave it and of the `bonus` for top ranks; `score` is 0..1.
    """

    ranking: Ranking
    rank: int
    score: float
    total: float
    bonus: float
    lists: tuple[ListShare, ...]


class ContractBlend(Struct, frozen=True, tag="contract"):
    """The mean of the fused score, with the weight `share`, and the reranker's score, with the rest."""

    rerank: float
    fused: float
    share: float


class TunedBlend(Struct, frozen=True, tag="tuned"):
    """The parts that are added up, and `most`, their highest sum."""

    rerank: float
    fused: float
    title: float
    cosine: float
    most: float

    @property
    def parts(self) -> dict[str, float]:
        """The parts by name."""
        return {"rerank": self.rerank, "fused": self.fused, "title": self.title, "cosine": self.cosine}


class Likelihood(Struct, frozen=True, tag="likelihood"):
    """The grounds of a calibrated score: the signals of the document, and those of unrelated ones.

    `raw` is the score of the ranking, and `background` are the values of documents about other subjects.
    """

    raw: float
    signals: Mapping[Signal, float]
    background: Mapping[Signal, float]


class Factor(Struct, frozen=True):
    """A number that multiplies the odds of a score, and the reason in words."""

    value: float = field(name="factor")
    reason: str


class Adjustment(Struct, frozen=True, tag="adjusted"):
    """The score before weights, dates and marks, and the factor of each."""

    score: float
    factors: Mapping[str, Factor]


class Pin(Struct, frozen=True, tag="pinned"):
    """The user pinned the document to the query."""


class Succession(Struct, frozen=True, tag="replaces"):
    """The document took the place of one that it replaces, whose display path this is.

    `score` is its own score before that; 0 if the search has not found it.
    """

    file: str
    score: float


class Fold(Struct, frozen=True, tag="folded"):
    """The number of other documents with the same text that the hit stands for."""

    copies: int


class DateOrder(Struct, frozen=True, tag="date"):
    """The date by which the results are sorted."""

    date: str


#: Of the steps that a search has taken for a document, in order.
Trace = (
    KeywordMatch
    | VectorMatch
    | Listing
    | Fusion
    | ContractBlend
    | TunedBlend
    | Likelihood
    | Adjustment
    | Pin
    | Succession
    | Fold
    | DateOrder
)


def explained(traces: Iterable[Trace]) -> dict[str, Any]:
    """Return traces as plain values, in the form of docs/schemas.json."""
    values: dict[str, Any] = {}
    for trace in traces:
        values |= _explained(trace)
    return values


def _explained(trace: Trace) -> dict[str, Any]:
    match trace:
        case KeywordMatch() | VectorMatch() | Likelihood() | Adjustment():
            values = _rounded(to_builtins(trace))
            return {values.pop("type"): values}
        case Listing():
            return {"filter": "listed by date"}
        case Fusion(ranking, rank, score, total, bonus, lists):
            fused = {"rank": rank, "score": score}
            fused |= {"rrf": total, "bonus": bonus} if ranking == "contract" else {}
            return {"ranking": ranking, "fused": fused, "lists": [*map(_share, lists)]}
        case ContractBlend(rerank, _, share):
            return {"rerank": rerank, "blend": {"fused": share, "rerank": round(1.0 - share, 2)}}
        case TunedBlend():
            return {"rerank": trace.rerank, "blend": trace.parts, "most": trace.most}
        case Pin():
            return {"pinned": True}
        case Succession(file, score):
            return {"replaces": file, "before": round(score, 4)}
        case Fold(copies):
            return {"copies": copies}
        case DateOrder(date):
            return {"date": date}


def _rounded(value: Any) -> Any:
    """Round numbers to four decimals, at any depth."""
    match value:
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case float():
            return round(value, 4)
    return value


def _share(share: ListShare) -> dict[str, Any]:
    return {
        "list": share.list,
        "rank": share.rank,
        "score": round(share.score, 4),
        "weight": share.weight,
        "contribution": round(share.contribution, 6),
    }
