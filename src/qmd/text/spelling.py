"""Other spellings of the words of a query: in one word or two, and what a word that nobody wrote may mean."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise

from msgspec.structs import replace

from qmd.text import filters, tokens
from qmd.text.query import ENGLISH_STOP_WORDS, LexicalQuery, Term
from qmd.text.regex import lazy

#: Words of fewer letters are like too many others: they are not corrected, nor divided.
_LEAST = 4
#: Words up to this length are only corrected by exchanging and doubling letters.
_SHORT = 4
#: A longer word is not divided or corrected, but data.
_LONGEST = 24
#: The last of these letters begins the second of two words, at least.
_SECOND = 2
#: If both parts of a word are in more documents, they are common words that stand together by chance.
_COMMON = 2_000
#: The most words of a query that are looked for in one word or two.
_MOST_WORDS = 12
#: The weight of another form of a word that documents have as it was typed, relative to that.
_OTHER_FORM = 0.8
#: The weight of a word that documents have in two words as well, which are often everywhere: road trip.
_DIVIDED = 0.3
#: Queries of more terms find enough by their other words: only words that no document has are divided.
_MOST_TERMS = 8
#: The most ways to divide a word that are searched.
_MOST_DIVISIONS = 2
#: The most spellings with two changes.
_MOST_TWICE = 800
#: What a change of a certain kind costs, in the logarithm of the frequency: one may be as rare as that.
_EXCHANGED, _DOUBLED, _ADDED, _OTHER, _FIRST = 0.0, 0.0, 0.5, 1.5, 3.0
#: The first and last lower-case letter, or sign of a vowel, of scripts with words of letters.
_ALPHABETS = (
    ("a", "z"), ("α", "ω"), ("а", "џ"), ("ա", "ֆ"), ("א", "ת"), ("ء", "ي"), ("ऄ", "्"), ("অ", "্"), ("அ", "்"),
    ("ა", "ჰ"),
)  # fmt: skip
_VOWELS = "aeiou"
_QUOTED = lazy(r'-?"[^"]*"\*?')
#: What stands before a word that is excluded, and after the beginning of others.
_BEFORE, _AFTER = lazy(r"(?:^|\s)-\Z"), "*"


def candidates(text: str, query: LexicalQuery) -> list[str]:
    """Return the terms of the words of a query, and of their other spellings: in one word or two."""
    found = [term for one, other, joined in _joined(text, query) for term in (*_terms(one, other), joined)]
    for term in _single(query):
        found += [*term.tokens, *(part for division in _divisions(term.words[0]) for part in division)]
    return [*dict.fromkeys(found)]


def with_joined(text: str, query: LexicalQuery, documents: Mapping[str, int]) -> LexicalQuery:
    """Return a query whose words are also searched in one word or two, as far as there are documents.

    A word counts more as it was typed, if any document has it so. Two words in one do not count as each of
    them if more documents have the one, as they would make it as common.

    Args:
        text: The query.
        query: The same, parsed.
        documents: The number of documents of each of `candidates` that any has.
    """
    forms: dict[str, list[tuple[str, ...]]] = {}
    apart: list[Term] = []
    for one, other, joined in _joined(text, query):
        if joined in documents:
            rarer = min(documents.get(term, 0) for term in _terms(one, other))
            if 0 < rarer < documents[joined]:
                apart.append(Term((joined,), (joined,), part=True, weight=_OTHER_FORM))
                continue
            for word in (one, other):
                forms.setdefault(word, []).append((joined,))
    for term in _single(query):
        whole = [parts for parts in _divisions(term.words[0]) if all(part in documents for part in parts)]
        rarest = {parts: min(documents[part] for part in parts) for parts in whole}
        found = sorted(
            (parts for parts in whole if rarest[parts] <= _COMMON), key=lambda parts: -rarest[parts]
        )
        if term.tokens[0] in documents and len(query.terms) > _MOST_TERMS:
            continue
        if found and term.tokens[0] in documents:
            first, *others = found[:_MOST_DIVISIONS]
            apart.append(Term(first, first, part=True, alternatives=(*others,), weight=_DIVIDED))
        else:
            forms.setdefault(term.words[0], []).extend(found[:_MOST_DIVISIONS])
    if not any(forms.values()) and not apart:
        return query
    single = {*_single(query)}
    terms = tuple(
        replace(term, alternatives=(*dict.fromkeys((*term.alternatives, *forms.get(term.words[0], ()))),))
        if term in single
        else term
        for term in query.terms
    )
    # Those apart come first: the weight of a word is that of its last term.
    return replace(query, terms=(*apart, *terms))


def _terms(*words: str) -> tuple[str, ...]:
    return tuple(map(tokens.stem, words))


def _single(query: LexicalQuery) -> list[Term]:
    """Return the terms that are one word of letters, which was not quoted."""
    return [
        term
        for term in query.terms
        if term.is_single and len(term.words) == 1 and _is_word(term.words[0])
        if not term.quoted and not term.part
    ][:_MOST_WORDS]


def _joined(text: str, query: LexicalQuery) -> Iterator[tuple[str, str, str]]:
    """Yield two words that stand together in a query of few terms, and the term of both in one."""
    if len(query.terms) > _MOST_TERMS:
        return
    for (at, one), (then, other) in islice(pairwise(tokens.placed(_unquoted(text))), _MOST_WORDS):
        gap = text[at + len(one) : then]
        if gap.strip() or "\n" in gap:
            continue
        first, second = tokens.fold(one), tokens.fold(other)
        alone = tokens.stands_alone(one) or tokens.stands_alone(other)
        if alone or first in ENGLISH_STOP_WORDS or len(first + second) > _LONGEST:
            continue
        if _is_letters(first + second):
            yield first, second, tokens.stem(first + second)


def _divisions(word: str) -> list[tuple[str, str]]:
    """Return the terms of the two parts of a word, for all places where it may be divided."""
    return [
        (tokens.stem(word[:at]), tokens.stem(word[at:]))
        for at in range(1, len(word) - _SECOND + 1)
        if word[:at] not in ENGLISH_STOP_WORDS
    ]


def _is_word(word: str) -> bool:
    return _LEAST <= len(word) <= _LONGEST and not tokens.stands_alone(word) and _is_letters(word)


def _is_letters(word: str) -> bool:
    return all(unicodedata.category(sign)[0] in "LM" for sign in word)


def _unquoted(text: str) -> str:
    """Return a query with blanks in place of its quoted parts."""
    text = text.translate(filters.QUOTES)
    return _QUOTED.sub(lambda match: " " * len(match[0]), text) if '"' in text else text


def words_to_check(text: str) -> list[tuple[int, str]]:
    """Return the words of a query that may be written wrong, with their places.

    Those are none that were quoted or excluded, beginnings of words, codes, and words of unspaced scripts.
    """
    text = _unquoted(text)
    return [
        (at, word)
        for at, word in tokens.placed(text)
        if _is_word(folded := tokens.fold(word))
        and folded not in ENGLISH_STOP_WORDS
        and not _BEFORE.search(text[max(0, at - 2) : at])
        and not text.startswith(_AFTER, at + len(word))
    ]


def edits(word: str) -> dict[str, float]:
    """Return spellings of a folded word with a letter more, less or other, or two exchanged: their costs."""
    alphabet = next(
        (
            [chr(code) for code in range(ord(low), ord(high) + 1)]
            for low, high in _ALPHABETS
            if low <= word[0] <= high
        ),
        [],
    )
    found: dict[str, float] = {}

    def add(spelling: str, cost: float, at: int) -> None:
        cost += _FIRST if at == 0 else 0.0
        if spelling != word and cost < found.get(spelling, math.inf):
            found[spelling] = cost

    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if len(tail) > 1:
            add(head + tail[1] + tail[0] + tail[2:], _EXCHANGED, at)
        if tail:
            add(head + tail[0] + tail, _DOUBLED, at + 1)
            if len(word) > _SHORT or head[-1:] == tail[0]:
                add(head + tail[1:], _DOUBLED if head[-1:] == tail[0] else _ADDED, at)
        for letter in alphabet if len(word) > _SHORT else ():
            add(head + letter + tail, _ADDED, at)
            if tail:
                add(head + letter + tail[1:], _OTHER, at)
    return found


def edits_twice(word: str) -> dict[str, float]:
    """Return spellings with two changes of the usual kinds, those that cost least first."""
    if len(word) <= _SHORT + 1:
        return {}
    found: dict[str, float] = {}
    for spelling, cost, at in _usual(word, 1):
        for again, more, _ in _usual(spelling, at):  # the other order gives the same words
            if cost + more < found.get(again, math.inf):
                found[again] = cost + more
    found.pop(word, None)
    return dict(sorted(found.items(), key=lambda item: item[1])[:_MOST_TWICE])


def _usual(word: str, start: int) -> Iterator[tuple[str, float, int]]:
    """Yield spellings with two letters exchanged, one doubled or left out, or another vowel or one more."""
    for at in range(start, len(word)):
        head, letter, tail = word[:at], word[at], word[at + 1 :]
        yield head + tail, _DOUBLED if head[-1] == letter else _ADDED, at
        yield head + letter + letter + tail, _DOUBLED, at + 2
        if tail:
            yield head + tail[0] + letter + tail[1:], _EXCHANGED, at + 2
        for vowel in _VOWELS:
            yield head + vowel + letter + tail, _ADDED, at + 1
            if letter in _VOWELS and letter != vowel:
                yield head + vowel + tail, _ADDED, at + 1


def ranked(costs: Mapping[str, float], documents: Mapping[str, int]) -> list[str]:
    """Return the terms of spellings that documents have, the likeliest first."""
    best: dict[str, float] = {}
    for each, cost in costs.items():
        if count := documents.get(term := tokens.stem(each)):
            best[term] = min(best.get(term, math.inf), cost - math.log(count))
    return sorted(best, key=lambda term: (best[term], term))


def distance(one: str, other: str) -> int:
    """Return how many letters have to be added, taken away or changed to make one word of another."""
    before = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for at, sign in enumerate(other, 1):
            line.append(min(before[at] + 1, line[-1] + 1, before[at - 1] + (letter != sign)))
        before = line
    return before[-1]


def closest(word: str, term: str, texts: Sequence[str]) -> str | None:
    """Return the word of some texts with a term written most like another; None if none has it."""
    written = {each for text in texts for each in set(tokens.words(text)) if tokens.terms_of(each) == [term]}
    folded = tokens.fold(word)
    return min(written, key=lambda each: (distance(folded, tokens.fold(each)), each), default=None)
