"""Find the terms of a query that are several words, which match only if the words are adjacent."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from qmd.text import tokens
from qmd.text.query import Term

#: (start, end, term, weight)
Match = tuple[int, int, str, float]


class Phrases:
    """The phrases and joined words of a query.

    The name of a phrase is its tokens, each between spaces. No space follows a prefix.

    Attributes:
        weights: The weight of each phrase by its name.
        quoted: The names of terms that the user has quoted, with single tokens.
    """

    def __init__(self, terms: Sequence[Term], idf: Mapping[tuple[str, ...], float]) -> None:
        self.weights: dict[str, float] = {}
        self.quoted: set[str] = set()
        self._spellings: list[frozenset[str]] = []
        for term in terms:
            if term.part and not term.alternatives:
                continue
            names = {_name(term.tokens, prefix=term.prefix), *map(_name, term.alternatives)}
            phrases = frozenset(name for name in names if " " in name.strip())
            if term.quoted:
                self.quoted.update(phrases or term.tokens)
            if phrases:
                if len(term.tokens) > 1:  # a single word is not missing because it is never written in two
                    self._spellings.append(phrases)
                self.weights.update(dict.fromkeys(phrases, max(idf.get(term.tokens, 1.0), 1e-6)))

    def find(self, text: str, matches: Sequence[Match]) -> list[Match]:
        """Return the places of the phrases in a text, given the matches of their tokens in order."""
        if not self.weights:
            return []
        pieces, starts, length = [" "], list[int](), 1
        for at, match in enumerate(matches):
            if at and not _adjacent(text, matches[at - 1], match):
                pieces.append("\n ")
                length += 2
            starts.append(length)
            pieces.append(f"{match[2]} ")
            length += len(match[2]) + 1
        joined = "".join(pieces)
        found: list[Match] = []
        for name, weight in self.weights.items():
            at = joined.find(name)
            while at >= 0:
                first = bisect_left(starts, at + 1)
                last = bisect_right(starts, at + len(name) - 2) - 1
                found.append((matches[first][0], matches[last][1], name, weight))
                at = joined.find(name, at + 1)
        return found

    def missing(self, found: Mapping[str, object]) -> list[float]:
        """Return the weights of the phrases of which no spelling was found."""
        return [self.weights[next(iter(names))] for names in self._spellings if names.isdisjoint(found)]


def name_of(form: Sequence[str]) -> str:
    """Return the name of a phrase, or the term if it is one."""
    return form[0] if len(form) == 1 else _name(form)


def _name(parts: Sequence[str], *, prefix: bool = False) -> str:
    return f" {' '.join(parts)}{'' if prefix else ' '}"


def _adjacent(text: str, one: Match, other: Match) -> bool:
    """Return whether no term of the index is between two matches of tokens."""
    if one[:2] == other[:2]:
        return True  # parts of one word
    if (one[1] - one[0] == 2 or other[0] < one[1]) and len(one[2]) == 2 and tokens.is_unspaced(one[2]):
        return other[0] == one[1] - 1  # pairs of characters overlap
    return other[0] >= one[1] and not tokens.has_word(text, one[1], other[0])
