"""BM25 with weighted fields, and its calibration to 0..1.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with Lucene's idf,
which is never negative. Field weights multiply the term frequency.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence

K1 = 1.2
B = 0.75
#: Weights of the fields title, body, path.
FIELD_WEIGHTS = (4.0, 1.0, 0.5)
#: A text of more windows has several places, each a window with those before and after it. With fewer, short
#: abstracts would be above longer ones (measured, see bench/README.md).
SEVERAL = 12
#: What the best of unrelated documents has of a query, if there are fewer than `ENOUGH` to tell.
BY_CHANCE, ENOUGH = 0.14, 60
#: From so many terms of the same weight on, besides one, unrelated documents have more of a query by chance.
SEVERAL_TERMS = 5
#: A term that is in a text more often is taken to be everywhere in it.
_EVERYWHERE = 1_000


def idf(documents: int, containing: int) -> float:
    """Return the rarity of a term in n = `containing` of N `documents`: log(1 + (N − n + ½) / (n + ½))."""
    containing = min(containing, documents)
    return math.log(1.0 + (documents - containing + 0.5) / (containing + 0.5))


def share_with(documents: int, weight: float) -> float:
    """Return the share of the documents that have a term with this idf."""
    return min(1.0, max(0.0, (documents + 1) / math.exp(weight) - 0.5) / max(1, documents))


def chance(documents: int, weights: Iterable[float]) -> float:
    """Return the share of a query that the best of unrelated documents has, as texts have its words anyway.

    Texts without spaces have most pairs of characters, and others few words of a question about something
    else. Measured in 20 collections of 60 to 5,000 documents, see bench/README.md.

    Args:
        documents: The number of documents.
        weights: The idf of the terms of the query.
    """
    terms = [(weight, share_with(documents, weight)) for weight in weights]
    total = sum(weight for weight, _ in terms)
    if total <= 0 or not documents:
        return BY_CHANCE
    expected = sum(weight * share for weight, share in terms) / total
    deviation = math.sqrt(sum(weight**2 * share * (1.0 - share) for weight, share in terms)) / total
    measured = 0.35 * expected + 1.75 * deviation + 0.03 * math.log(max(1.0, documents / 150))
    known = min(1.0, documents / ENOUGH)
    if measured > BY_CHANCE:
        # A document with the one word of a query is about it, however many have the word.
        several = total**2 / sum(weight**2 for weight, _ in terms)
        known *= min(1.0, (several - 1.0) / SEVERAL_TERMS)
    return known * measured + (1.0 - known) * BY_CHANCE


def length_norm(length: float, average: float) -> float:
    """Return k1 · (1 − b + b · length / average), the length term in the denominator."""
    return K1 * (1.0 - B + B * length / average) if average > 0 else K1


def term_score(weight: float, frequency: float, norm: float) -> float:
    """Return a term's part of a document's score; it is always below `weight · (k1 + 1)`."""
    return weight * frequency * (K1 + 1.0) / (frequency + norm)


def named(score: float, highest: float, query_share: float, name_share: float) -> float:
    """Return the score of a document whose name matches: it comes closer to `highest` by both shares.

    A name that the query contains, such as "Search" for "search inside a vault", says more than its words do
    in a text. Both shares count: else "Search" would be the best answer to every question with that word, and
    so would a long name with all of its words.

    Args:
        score: The document's BM25.
        highest: The bound of the query.
        query_share: The share of the query's terms that the name has, by idf.
        name_share: The share of the name's terms that the query has.
    """
    return score + query_share * name_share * (highest - score)


def bound(weights: Sequence[float]) -> float:
    """Return the score that no document exceeds for a query whose terms have these idf. It becomes 1.0."""
    return (K1 + 1.0) * sum(weights)


def scattered(places: Iterable[tuple[float, Sequence[int]]], windows: Sequence[int]) -> float:
    """Return the weight of the terms that a text has, but not in its best place.

    Args:
        places: The weight of each term of a query, and its places among the terms of the text.
        windows: The number of the first term of each window of the text, and the number of all terms.
    """
    weights: list[float] = []
    found: dict[int, int] = {}  # the terms in each window, as bits
    for weight, positions in places:
        if len(positions) > _EVERYWHERE:
            continue
        within = {bisect_right(windows, at) for at in positions}
        within -= {0, len(windows)}  # in front matter, or in markup
        if within:
            bit = 1 << len(weights)
            weights.append(weight)
            for number in within:
                found[number] = found.get(number, 0) | bit
    if len(weights) < 2:
        return 0.0
    near = {bits | found.get(number - 1, 0) | found.get(number + 1, 0) for number, bits in found.items()}
    best = max(sum(weight for at, weight in enumerate(weights) if bits >> at & 1) for bits in near)
    return sum(weights) - best
