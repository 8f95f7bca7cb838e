"""Where a query's terms stand in a text: what snippets, passages and highlights are made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product

from qmd.text import tokens
from qmd.text.query import Term

#: (start, end, term, weight)
Match = tuple[int, int, str, float]
#: After these, no word begins.
_WITHIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
#: Characters, times what is looked for, that can be counted in no time; and places that can be looked at.
_COUNTED, _FEW = 8_000_000, 1_000
#: So many terms of a query, the rarest, are looked for in a text's `promise`.
_MOST_CUES = 16


class Highlighter:
    """Finds a query's terms in texts. Build one a query and use it for all its results.

    It finds what taking the text apart (`tokens.spans`) would find, but looks only where a term can be: a
    text is searched for the beginnings of words and for pairs of characters, at the speed of `str` and `re`.
    """

    def __init__(self, terms: Sequence[Term], idf: Mapping[tuple[str, ...], float] | None = None) -> None:
        self._exact: dict[str, float] = {}
        self._prefixes: dict[str, float] = {}
        for term in terms:
            # A term of no rarity still marks where it stands.
            weight = max((idf or {}).get(term.tokens, 1.0), 1e-6) / len(term.tokens)
            last = len(term.tokens) - 1
            for at, token in enumerate(term.tokens):
                into = self._prefixes if term.prefix and at == last else self._exact
                into[token] = max(into.get(token, 0.0), weight)
            for token in chain.from_iterable(term.alternatives):
                self._exact[token] = max(self._exact.get(token, 0.0), weight)

        self._starts = tuple(self._prefixes)
        self._known: dict[str, bool] = {}
        self._written: dict[str, tuple[int, str, float]] = {}
        unspaced = {term for term in (*self._exact, *self._prefixes) if tokens.is_unspaced(term)}
        self._symbols = [term for term in self._exact if tokens.is_symbols(term)]
        self._spaced = (self._exact.keys() | self._prefixes.keys()) - unspaced.union(self._symbols)
        self._needles = {needle for term in self._spaced for needle in tokens.beginnings(term)}
        self._pairs = _pairs(unspaced) if unspaced else None
        self._cues: list[tuple[float, tuple[str, ...], tuple[str, ...]]] | None = None

    def find(self, text: str) -> list[Match]:
        """Matches in a text, in order."""
        if text.isascii():
            found = self._in_words(self._starts_plain(text))
        elif tokens.has_composed(text):
            found = self._in_words(self._starts_any(text, runs=True))
        else:
            found = self._in_runs(text)
            if self._spaced:
                foreign = tokens.has_foreign(text)
                found += self._in_words(
                    self._starts_any(text, runs=False) if foreign else self._starts_plain(text)
                )
        for symbol in self._symbols:
            found += [(at, at + 1, symbol, self.weight(symbol)) for at in _places(text, symbol)]
        found.sort()
        return found

    def is_cheap(self, text: str) -> bool:
        """Whether finding everything in a text takes little: it has few places where a term may be."""
        if not text.isascii() or len(text) * len(self._needles) > _COUNTED:
            return False
        lowered = text.lower()
        return sum(map(lowered.count, self._needles)) <= _FEW

    @property
    def has_letters(self) -> bool:
        """Whether it looks for words of letters, in any case."""
        return bool(self._spaced)

    def promise(self, text: str, *, accents: bool) -> float:
        """About how much of the query a text has: a quick look, which takes some parts of words for words.

        `accents`: letters with and without them are different, which saves most of the time.
        """
        if self._cues is None:
            terms = sorted((*self._exact, *self._prefixes), key=lambda term: -self.weight(term))[:_MOST_CUES]
            self._cues = [(self.weight(term), *_cues(term)) for term in terms]
        folded = text
        if self._spaced:
            folded = text.casefold() if accents or text.isascii() else tokens.without_accents(text)
        return sum(
            weight if any(form in folded for form in sure) else weight / 2
            for weight, forms, sure in self._cues
            if any(form in folded for form in forms)
        )

    def weight(self, term: str) -> float:
        """What a term is worth; 0 where the query does not have it."""
        weight = self._exact.get(term, 0.0)
        if self._starts and term.startswith(self._starts):
            begun = (value for prefix, value in self._prefixes.items() if term.startswith(prefix))
            weight = max(weight, *begun)
        return weight

    def highlights(self, text: str) -> list[tuple[int, int]]:
        """What to highlight in a text: spans in order, those that touch or overlap made one."""
        merged: list[tuple[int, int]] = []
        for start, end, _, _ in self.find(text):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _in_words(self, starts: Iterable[tuple[int, str]]) -> list[Match]:
        """The matches within words that begin at places of a text."""
        return [
            (start + at, start + to, term, weight)
            for start, word in starts
            for at, to, term in tokens.spans(word)
            if (weight := self.weight(term))
        ]

    def _in_runs(self, text: str) -> list[Match]:
        """The matches within runs of unspaced characters, each of which folds for itself."""
        if self._pairs is None:
            return []
        found: list[Match] = []
        for match in self._pairs.finditer(text):
            at = match.start()
            written = text[at : at + 2]
            known = self._written.get(written)
            if known is None:
                ends = len(written) == 2 and not tokens.is_unspaced(written[1])
                term = tokens.fold(written[0] if ends else written)
                known = self._written[written] = (len(term), term, self.weight(term))
            length, term, weight = known
            if weight:
                found.append((at, at + length, term, weight))
        return found

    def _starts_plain(self, text: str) -> set[tuple[int, str]]:
        """Where words of plain letters that may match begin, by how their terms begin."""
        lowered = text.lower()
        starts: set[tuple[int, str]] = set()
        for needle in self._needles:
            for at in _places(lowered, needle):
                if at and lowered[at - 1] in _WITHIN:
                    continue
                word = tokens.word_at(text, at)
                if word:
                    starts.add((at, word))
        # A contraction's term is not how it begins: i'll is "ill".
        for at in _apostrophes(text):
            begin = at
            while begin > 0 and text[begin - 1].isalnum():
                begin -= 1
            word = tokens.word_at(text, begin) if begin < at else ""
            if word and not tokens.is_unspaced(word):
                starts.add((begin, word))
        return starts

    def _starts_any(self, text: str, *, runs: bool) -> set[tuple[int, str]]:
        """Where words that match begin: found among the distinct words, then looked for as written.

        `runs`: those of unspaced scripts too.
        """
        known = self._known
        starts: set[tuple[int, str]] = set()
        for word in set(tokens.words(text)):
            if tokens.is_symbols(word) or (not runs and tokens.is_unspaced(word)):
                continue
            matches = known.get(word)
            if matches is None:
                matches = known[word] = any(map(self.weight, tokens.terms_of(word)))
            if matches:
                starts.update((at, word) for at in _places(text, word) if tokens.word_at(text, at) == word)
        return starts


def _cues(term: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How a text without accents and capitals has a term, perhaps within a word, and for sure."""
    if tokens.is_unspaced(term):
        forms = tuple(map("".join, product(*map(tokens.written, term))))
        return forms, forms
    forms = tokens.beginnings(term)
    return forms, tuple(before + form for form in forms for before in " \n")


def _pairs(unspaced: Iterable[str]) -> re.Pattern[str]:
    """What a bigram or a single character of the query begins with, in any form it is written in."""
    firsts, seconds, singles = set[str](), set[str](), set[str]()
    for term in unspaced:
        if len(term) == 1:
            singles.update(tokens.written(term))
        else:
            firsts.update(tokens.written(term[0]))
            seconds.update(tokens.written(term[1]))
    choices = []
    if singles:
        choices.append(f"[{''.join(sorted(singles))}]")
    if firsts:
        choices.append(f"[{''.join(sorted(firsts))}](?=[{''.join(sorted(seconds))}])")
    return re.compile("|".join(choices))


def _apostrophes(text: str) -> Iterator[int]:
    for apostrophe in "'’":
        yield from _places(text, apostrophe)


def _places(text: str, part: str) -> Iterator[int]:
    """Where a part of a text begins, each time that it does."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)
