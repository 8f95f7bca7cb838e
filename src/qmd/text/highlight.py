"""Find the terms of a query in a text, for snippets, passages and highlights."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain, product
from operator import itemgetter

from qmd.text import tokens
from qmd.text.numbers import Named
from qmd.text.phrases import Match, Phrases, name_of
from qmd.text.query import Term
from qmd.text.seen import edited_part, edits_of, seen_markdown
from qmd.types.structure import Structure

#: No word starts after these characters.
_WITHIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
#: Beginnings of words up to this length occur so often inside of words that a pattern is faster.
_SHORT = 2
#: The places of more words than these are found by reading all words of a text.
_FEW = 8
#: Limits of `is_cheap`: characters of the text times needles to count, and occurrences of needles.
_MAX_COUNTED, _MAX_OCCURRENCES = 8_000_000, 1_000
#: A number with fewer digits is not looked for with signs inside.
_LEAST_DIGITS = 4
#: The places of more terms are not asked for.
_MOST_PLACED = 64
#: `glance` uses at most this many terms of the query, the rarest.
_MAX_GLANCE_TERMS = 16


class Highlighter:
    """Finds the terms of a query in texts. Create one per query and use it for all results.

    The matches are those of a tokenized text (`tokens.spans`), but the text is not tokenized. It is searched
    for beginnings of words and pairs of characters, at the speed of `str` and `re`. The weight of a term is
    its `idf`, the inverse document frequency by tokens, or 1.0.
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
        self._word_matches: dict[str, bool] = {}
        self._pair_terms: dict[str, tuple[int, str, float]] = {}
        unspaced = {term for term in (*self._exact, *self._prefixes) if tokens.is_unspaced(term)}
        self._symbols = [term for term in self._exact if tokens.is_symbols(term)]
        #: Numbers, which texts may have with signs inside.
        self._numbers = [
            (term, _loosely(term))
            for term in self._exact
            if len(term) >= _LEAST_DIGITS and term[-_LEAST_DIGITS:].isdigit()
        ]
        self._spaced = (self._exact.keys() | self._prefixes.keys()) - unspaced.union(self._symbols)
        self._needles = {needle for term in self._spaced for needle in tokens.beginnings(term)}
        self._short = [
            _start_of_word(needle, alone=len(needle) == 1 and needle not in self._prefixes)
            for needle in self._needles
            if len(needle) <= _SHORT
        ]
        self._long = [needle for needle in self._needles if len(needle) > _SHORT]
        self._in_word: dict[str, tuple[Match, ...]] = {}
        self._pairs = _pairs(unspaced) if unspaced else None
        self._glance_forms: list[tuple[str, tuple[str, ...]]] | None = None
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

    def find(self, text: str) -> list[Match]:
        """Return the matches in a text as it is read and in its markup, in order."""
        return _merged(self._find(each) for each in seen_markdown(text) if each)

    def _find(self, text: str) -> list[Match]:
        if text.isascii():
            matches = self._in_words(self._starts_plain(text))
        elif tokens.has_composed(text):
            matches = self._in_words(self._starts_any(text, runs=True))
        else:
            matches = self._in_runs(text)
            if self._spaced and tokens.has_foreign(text):
                matches += self._in_words(self._starts_any(text, runs=False))
            elif self._spaced:
                matches += self._in_words(self._starts_plain(text))
        for term, pattern in self._numbers:
            found = (match.span() for match in pattern.finditer(text.lower()) if not match[0].isalnum())
            matches += [(*span, term, self.weight(term)) for span in found if _is_alone(text, *span)]
        for symbol in self._symbols:
            matches += [(at, at + 1, symbol, self.weight(symbol)) for at in _occurrences(text, symbol)]
        matches.sort(key=itemgetter(0, 1))
        return matches

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
    def placeable(self) -> Sequence[str]:
        """The terms whose places an index can give in place of `find_all`; none if they do not suffice.

        A beginning of terms has a `*` at its end.
        """
        terms = [term for term in self._exact if term not in self._prefixes]
        terms += [f"{prefix}*" for prefix in self._prefixes]
        return terms if len(terms) <= _MOST_PLACED and not self.quoted else ()

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

    def is_cheap(self, text: str) -> bool:
        """Return whether `find` is fast for a text, because a term may occur in few places only."""
        if not text.isascii() or len(text) * len(self._needles) > _MAX_COUNTED:
            return False
        lowered = text.lower()
        return sum(map(lowered.count, self._needles)) <= _MAX_OCCURRENCES

    @property
    def quoted(self) -> AbstractSet[str]:
        """The terms that the user has quoted."""
        return self._phrases.quoted

    def glance(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Return the terms that texts probably contain: 1.0 for sure, 0.5 if it may be a part of a word.

        Only the rarest terms are looked for.
        """
        if self._glance_forms is None:
            searched = self._exact.keys() - self._loose | self._prefixes.keys()
            terms = sorted(searched, key=lambda term: (-self.weight(term), term))
            rarest = {*[*dict.fromkeys(self.main(term) for term in terms)][:_MAX_GLANCE_TERMS]}
            self._glance_forms = [(term, _forms_of(term)) for term in terms if self.main(term) in rarest]
        folded = [*map(tokens.glanced, texts)] if self._spaced else texts
        # All texts are searched at once. After a match the search goes on in the next text.
        joined = " ".join(["", *folded, ""]).replace("\n", " ")
        starts = [0, *accumulate(len(text) + 1 for text in folded)]
        found: list[dict[str, float]] = [{} for _ in folded]
        for term, forms in self._glance_forms:
            unspaced = tokens.is_unspaced(term)
            for form in forms:
                at = joined.find(form)
                while at >= 0:
                    number = bisect_right(starts, at) - 1
                    end = starts[number + 1]
                    sure = unspaced or joined[at - 1] == " " or joined.find(f" {form}", at, end) >= 0
                    name = self.main(term)
                    found[number][name] = max(found[number].get(name, 0.5), 1.0 if sure else 0.5)
                    at = joined.find(form, end)
        if self._phrases.weights:
            for text, terms_of_text in zip(folded, found, strict=True):
                terms_of_text.update(dict.fromkeys(map(self.main, self._phrases.glance(text)), 1.0))
        return found

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

    def _in_words(self, starts: Iterable[tuple[int, str]]) -> list[Match]:
        """Return the matches in words, given as (position in the text, word)."""
        cache = self._in_word
        matches: list[Match] = []
        for start, word in starts:
            found = cache.get(word)
            if found is None:
                found = cache[word] = tuple(
                    (first, end, self.main(term), weight)
                    for first, end, term in (
                        *tokens.spans(word),
                        *((0, len(word), second) for second in tokens.second_terms(word)),
                    )
                    if (weight := self.weight(term))
                )
            for first, end, term, weight in found:
                matches.append((start + first, start + end, term, weight))
        return matches

    def _in_runs(self, text: str) -> list[Match]:
        """Return the matches in unspaced scripts, if every character can be folded separately."""
        if self._pairs is None:
            return []
        matches: list[Match] = []
        for match in self._pairs.finditer(text):
            at = match.start()
            written = text[at : at + 2]
            cached = self._pair_terms.get(written)
            if cached is None:
                run_ends = len(written) == 2 and not tokens.is_unspaced(written[1])
                term = tokens.fold(written[0] if run_ends else written)
                cached = self._pair_terms[written] = (len(term), term, self.weight(term))
            length, term, weight = cached
            if weight:
                matches.append((at, at + length, term, weight))
        return matches

    def _starts_plain(self, text: str) -> set[tuple[int, str]]:
        """Return (position, word) of ASCII words that may match, by searching for beginnings of terms."""
        lowered = text.lower()
        starts: set[tuple[int, str]] = set()
        places = [match.start() for pattern in self._short for match in pattern.finditer(lowered)]
        for needle in self._long:
            places += [at for at in _occurrences(lowered, needle) if not at or lowered[at - 1] not in _WITHIN]
        for at in places:
            word = tokens.word_at(text, at)
            if word:
                starts.add((at, word))
        # The term of a contraction is not its beginning: i'll is "ill".
        for at in chain(_occurrences(text, "'"), _occurrences(text, "’")):
            begin = at
            while begin > 0 and text[begin - 1].isalnum():
                begin -= 1
            word = tokens.word_at(text, begin) if begin < at else ""
            if word and not tokens.is_unspaced(word):
                starts.add((begin, word))
        return starts

    def _starts_any(self, text: str, *, runs: bool) -> set[tuple[int, str]]:
        """Return (position, word) of matching words: test the distinct words, then find their positions.

        `runs` includes the words of unspaced scripts.
        """
        cache = self._word_matches
        matching: set[str] = set()
        for word in set(tokens.words(text)):
            if tokens.is_symbols(word) or (not runs and tokens.is_unspaced(word)):
                continue
            is_match = cache.get(word)
            if is_match is None:
                is_match = cache[word] = any(
                    map(self.weight, (*tokens.terms_of(word), *tokens.second_terms(word)))
                )
            if is_match:
                matching.add(word)
        if len(matching) > _FEW:
            return {(at, word) for at, word in tokens.placed(text) if word in matching}
        places = ((at, word) for word in matching for at in _occurrences(text, word))
        return {(at, word) for at, word in places if tokens.word_at(text, at) == word}


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


def _forms_of(term: str) -> tuple[str, ...]:
    """Return the forms of a term, or of the beginning of its words, in folded text."""
    if tokens.is_unspaced(term):
        return tuple(map("".join, product(*map(tokens.written, term))))
    return tokens.beginnings(term)


def _start_of_word(needle: str, *, alone: bool) -> re.Pattern[str]:
    """Return a pattern for a needle at the start of a word, or alone. It begins with a literal: that is fast.

    A word whose stem is a single letter has at most one of these endings.
    """
    literal = re.escape(needle)
    return re.compile(f"{literal}(?<![a-z0-9]{literal})" + ("(?!(?!ing|ed)[a-z0-9])" if alone else ""))


def _pairs(unspaced: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for the first characters of bigrams and single characters, in all written forms."""
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


def _occurrences(text: str, part: str) -> Iterator[int]:
    """Return the positions of all occurrences of `part`, including overlapping ones."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)
