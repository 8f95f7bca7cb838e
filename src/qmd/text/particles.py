"""Articles, prepositions and conjunctions that Arabic and Hebrew write before a word, without a space."""

from __future__ import annotations

from collections.abc import Iterator

#: As in Lucene's ArabicStemmer; those of one letter only before words of four letters and more.
_ARABIC = ("وال", "بال", "كال", "فال", "ال", "لل")
_ARABIC_LETTERS = "وبلكف"
#: As in HebMorph: one may follow the other, in this order.
_HEBREW = ("ו", "כש", "ש", "מ", "ב", "כ", "ל", "ה")
#: The fewest letters of a word behind them.
_LEAST_ARABIC, _LEAST_LETTER, _LEAST_HEBREW = 2, 4, 3


def bare(word: str) -> Iterator[str]:
    """Yield a folded word without the particles before it, and without the first of them."""
    if "\u0621" <= word[:1] <= "\u06d3":
        yield from _without_arabic(word)
    elif "\u05d0" <= word[:1] <= "\u05ea":
        yield from _without_hebrew(word, 0)


def _without_arabic(word: str) -> Iterator[str]:
    for particle in _ARABIC:
        if word.startswith(particle) and len(word) - len(particle) >= _LEAST_ARABIC:
            yield word[len(particle) :]
            return
    if word[0] in _ARABIC_LETTERS and len(word) - 1 >= _LEAST_LETTER:
        yield word[1:]


def _without_hebrew(word: str, first: int) -> Iterator[str]:
    for at, particle in enumerate(_HEBREW[first:], first):
        if word.startswith(particle) and len(word) - len(particle) >= _LEAST_HEBREW:
            rest = word[len(particle) :]
            yield rest
            yield from _without_hebrew(rest, at + 1)


def of_query(word: str) -> str:
    """Return a folded word without an article, as texts may have it; the same word if it has none."""
    found = [*bare(word)]
    if "\u05d0" <= word[:1] <= "\u05ea":
        # Any first letter may be one of the word. That of an article is one most often.
        found = [rest for rest in found if word[: len(word) - len(rest)].endswith("ה")][:1]
    return found[0] if found and (word[0] not in _ARABIC_LETTERS or word.startswith(_ARABIC)) else word
