"""Find the terms of a query in a text, for snippets, passages and highlights."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import chain
from operator import itemgetter

from qmd.text import tokens
from qmd.text.numbers import Named
from qmd.text.phrases import Match, Phrases, name_of
from qmd.text.query import Term, parse
from qmd.text.seen import edited_part, edits_of, seen_markdown
from qmd.types.structure import Structure

#: A number with fewer digits is not looked for with signs inside.
_LEAST_DIGITS = 4


class Highlighter:
    """Finds the terms of a query in texts. Create one per query and use it for all results.

    The matches are the terms of a text (`tokens.spans`) that are in the query. Each word is looked at once.
    The weight of a term is its `idf`, the inverse document frequency by tokens, or 1.0.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        idf: Mapping[tuple[str, ...], float] | None = None,
        numbers: Sequence[Named] = (),
    ) -> None:
        self.numbers = numbers
        self._phrases = Phrases(terms, idf or {})
        self._exact: dict[str, float] = {}
        #: By other forms of a word, its term in the query: two forms are not two words.
        self._main: dict[str, str] = {}
        own = {token for term in terms for token in term.tokens}
        #: The words of a form in two words, which say nothing if they do not stand together.
        self._loose: set[str] = set()
        self._prefixes: dict[str, float] = {}
        self._added = {term.tokens[0]: term.weight for term in terms if term.weight != 1.0}
        for term in terms:
            # A term with weight 0 must still be highlighted.
            self._add(term, max((idf or {}).get(term.tokens, 1.0), 1e-6) / len(term.tokens))
        self._loose -= own | {name for name in self._main if " " not in name}
        self._terms = [term for term in terms if not term.part]
        self._prefix_tuple = tuple(self._prefixes)
        self._initials = {term[0] for term in chain(self._exact, self._prefixes) if term}
        #: The matches in words that were seen.
        self._in_word: dict[str, list[Match]] = {}
        #: Numbers, which texts may have with signs inside.
        self._numbers = [
            (term, _loosely(term))
            for term in self._exact
            if len(term) >= _LEAST_DIGITS and term[-_LEAST_DIGITS:].isdigit()
        ]
        #: The part of a text that `find_in` searched last, and its matches.
        self._last: tuple[str, int, int, list[Match]] = ("", 0, 0, [])

    def _add(self, term: Term, weight: float) -> None:
        """Add the tokens of a term, which each have a weight, and those of its other forms."""
        last = len(term.tokens) - 1
        for at, token in enumerate(term.tokens):
            into = self._prefixes if term.prefix and at == last else self._exact
            into[token] = max(into.get(token, 0.0), weight)
        for token in chain.from_iterable(term.alternatives):
            # The 4 of `gpt 4`, another spelling of `gpt4`, would match everywhere.
            if len(token) > 1 or tokens.stands_alone(token):
                self._exact[token] = max(self._exact.get(token, 0.0), weight)
        if term.is_single:
            self._main.update((name_of(form), term.tokens[0]) for form in term.alternatives)
            self._loose.update(*(form for form in term.alternatives if len(form) > 1))

    def is_whole(self, heading: str, found: Collection[str], named: Collection[str] = ()) -> bool:
        """Return whether a heading has the words of the query and no others, but for its number.

        `found` are the terms of the query in it, without those `named`.
        """
        known = {*found, *named}
        if any(len(term.tokens) == 1 and self.main(term.tokens[0]) not in known for term in self._terms):
            return False  # as in most headings, which need not be parsed then
        asked = {term.tokens for term in self._terms}
        written = {term.tokens for term in parse(heading).required}
        return asked <= written and all(token[0].isdigit() for others in written - asked for token in others)

    def find(self, text: str) -> list[Match]:
        """Return the matches in a text as it is read and in its markup, in order."""
        return _merged(self._find(each) for each in seen_markdown(text) if each)

    def _find(self, text: str) -> list[Match]:
        matches: list[Match] = []
        for at, word in tokens.placed(text):
            found = self._in_word.get(word)
            if found is None:
                found = self._in_word[word] = self._matches(word)
            if found:
                matches += [(at + first, at + end, term, weight) for first, end, term, weight in found]
        for term, pattern in self._numbers:
            spans = (match.span() for match in pattern.finditer(text.lower()) if not match[0].isalnum())
            matches += [(*span, term, self.weight(term)) for span in spans if _is_alone(text, *span)]
        matches.sort(key=itemgetter(0, 1))
        return matches

    def _matches(self, word: str) -> list[Match]:
        """Return the matches in a word, or in a run of a script without spaces; most have none."""
        if word[0].lower() not in self._initials and word.isascii() and word.isalnum():
            return []  # the stem of a word begins as it does
        seconds = tokens.second_terms(word)
        terms = (*tokens.terms_of(word), *seconds)
        prefixes = self._prefix_tuple
        begun = prefixes and any(each.startswith(prefixes) for each in terms)
        if not begun and self._exact.keys().isdisjoint(terms):
            return []
        spans = (*tokens.spans(word), *((0, len(word), second) for second in seconds))
        return [
            (low, high, self.main(term), weight) for low, high, term in spans if (weight := self.weight(term))
        ]

    def find_all(self, text: str, seen: tuple[str, str] | None = None) -> list[Match]:
        """Return the matches in a text and those of whole phrases, in order.

        `seen` is the text as it is read, and what is not seen in it, if that is known; see `seen.edited`.
        """
        found: list[list[Match]] = []
        for each in filter(None, seen_markdown(text) if seen is None else seen):
            matches = self._find(each)
            phrases = self._phrases.find(each, matches)
            found.append([match for match in matches if match[2] not in self._loose])
            found.append([(start, end, self.main(name), weight) for start, end, name, weight in phrases])
        return _merged(found)

    def find_in(self, text: str, start: int, end: int, structure: Structure) -> list[Match]:
        """Return the matches of `find_all` that are in a part of a text, by their places in the whole text.

        What lies in the part that was searched last is not searched again. `structure` is that of the text.
        """
        known, low, high, matches = self._last
        if known is not text or not low <= start <= end <= high:
            found = self.find_all(text[start:end], edited_part(text, edits_of(structure), start, end))
            matches = [(start + first, start + last, term, weight) for first, last, term, weight in found]
            self._last = text, start, end, matches
        elif (low, high) != (start, end):
            matches = [match for match in matches if start <= match[0] and match[1] <= end]
        return matches

    @property
    def placeable(self) -> tuple[str, ...]:
        """The terms whose places an index gives in place of `find_all`. A beginning has a `*` at its end."""
        terms = (term for term in self._exact if term not in self._prefixes)
        return (*terms, *(f"{prefix}*" for prefix in self._prefixes))

    def placed(self, places: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, float, Sequence[int]]]:
        """Yield the terms and phrases of the query, their weights and places, given those of `placeable`."""
        known = {term.removesuffix("*"): positions for term, positions in places.items()}
        for term, positions in known.items():
            if term not in self._loose:
                yield self.main(term), self.weight(term), positions
        for name, weight in self._phrases.weights.items():
            first, *others = (set(known.get(token, ())) for token in name.split())
            for after, following in enumerate(others, 1):
                first &= {at - after for at in following}
            if first:
                yield self.main(name), weight, sorted(first)

    @property
    def quoted(self) -> AbstractSet[str]:
        """The terms that the user has quoted."""
        return self._phrases.quoted

    def weight(self, term: str) -> float:
        """Return the weight of an index term or a phrase; 0 if it does not match the query."""
        if term in self._phrases.weights:
            return self._phrases.weights[term]
        weight = self._exact.get(term, 0.0)
        if self._prefix_tuple and term.startswith(self._prefix_tuple):
            weights = (value for prefix, value in self._prefixes.items() if term.startswith(prefix))
            weight = max(weight, *weights)
        return weight

    def main(self, term: str) -> str:
        """Return the term that another counts as: of two forms of a word of the query, the one in it."""
        return self._main.get(term, term)

    def among(self, term: str, frequency: float, count: int) -> float:
        """Return the weight of a term that so many of `count` parts of a text have."""
        return self.weight(term) + self._added.get(term, 1.0) * inverse_frequency(frequency, count)

    def missing(self, found: Mapping[str, object]) -> list[float]:
        """Return the weights of the query's terms of which no index term was found, and of absent phrases."""
        return self._phrases.missing(found) + [
            sum(map(self.weight, term.tokens))
            for term in self._terms
            if found.keys().isdisjoint(chain(term.tokens, *term.alternatives))
            and not (term.prefix and any(each.startswith(term.tokens[-1]) for each in found))
        ]

    def highlights(self, text: str) -> list[tuple[int, int]]:
        """Return the [start, end) spans to highlight, in order, with overlapping and adjacent ones merged."""
        merged: list[tuple[int, int]] = []
        for start, end, _, _ in self.find_all(text):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged


def inverse_frequency(frequency: float, count: int) -> float:
    """Return the inverse frequency of a term among `count` parts of a text, as BM25 has it."""
    return math.log1p((max(0.0, count - frequency) + 0.5) / (frequency + 0.5))


def _loosely(number: str) -> re.Pattern[str]:
    from qmd.text.second_forms import loosely  # few queries have a number

    return re.compile(loosely(number))


def _is_alone(text: str, start: int, end: int) -> bool:
    """Return whether no letter or digit is before or after a part of a text."""
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def _merged(found: Iterable[list[Match]]) -> list[Match]:
    """Return matches in the order of their places, each once: a piece may be a word of the text as well."""
    return sorted(dict.fromkeys(chain.from_iterable(found)), key=itemgetter(0, 1))
