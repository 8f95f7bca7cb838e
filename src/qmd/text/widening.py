"""Other forms of the words of a query in languages with endings and compounds, as an index has them.

The terms of an index have English stems at most, so `Kündigungen` does not find `Kündigung`. Here a word of a
query gets the terms of the index that have the same stem in the language as alternatives. A compound that the
index does not have is searched by its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache
from unicodedata import category

import Stemmer
from msgspec import Struct
from msgspec.structs import replace

from qmd.text import tokens
from qmd.text.languages import is_stop_word
from qmd.text.query import LexicalQuery, Term
from qmd.text.regex import lazy
from qmd.text.values import STEMMED

#: Words of fewer letters have too few endings, and too many words with the same beginning.
_LEAST = 4
#: The least letters of a part of a compound, and of the beginning that forms of a word have in common.
_PART, _BEGINNING = 4, 3
#: The most words of a query that are widened.
_MOST_WORDS = 8
#: The weights of a part of a compound and of other forms of a word, relative to a word of the query. As equal
#: alternatives, forms made rare words frequent, except in languages that join words (see bench/README.md).
_PART_WEIGHT, _FORM_WEIGHT = 0.7, 0.4
#: The languages that write words in one, and the letters that join these.
_COMPOUNDING = {
    "de": ("s", "es", "n", "en", "er", "e"), "nl": ("s", "en", "e"), "sv": ("s",), "da": ("s", "e"),
    "no": ("s", "e"), "fi": ("n",),
}  # fmt: skip
#: A folded `й` at the end is read as it is written, for the endings of words.
_SHORT_I = lazy("(?<=[аеиоуыэюя])и$")


class Forms(Struct, frozen=True):
    """The forms of words in a language: equal stems are forms of one word.

    Attributes:
        joints: The letters that join words which are written in one; empty if that is not done.
    """

    language: str
    joints: tuple[str, ...]

    def stem(self, word: str) -> str:
        """Return the stem of a folded word."""
        return _stemmer(self.language)(_SHORT_I.sub("й", word) if self.language == "ru" else word)


def forms_in(language: str) -> Forms | None:
    """Return the forms of words in a language, ISO 639-1; None if they are not known, or in the index."""
    return Forms(language, _COMPOUNDING.get(language, ())) if language in STEMMED else None


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    stem: Callable[[str], str] = Stemmer.Stemmer(STEMMED[language]).stemWord
    return stem


def without_stop_words(query: LexicalQuery, language: str) -> LexicalQuery:
    """Return a query without the words that have no subject in a language, unless it has no others."""
    kept = tuple(
        term for term in query.terms if not _is_word(term) or not is_stop_word(term.words[0], language)
    )
    return replace(query, terms=kept) if any(not term.part for term in kept) else query


def beginnings(query: LexicalQuery, forms: Sequence[Forms]) -> list[str]:
    """Return the beginnings of the terms that may be other forms of words of a query."""
    return [
        *dict.fromkeys(
            each.stem(word)[: _letters(each.stem(word))] for word in _words(query) for each in forms
        )
    ]


def same_word(query: LexicalQuery, terms: Sequence[str], forms: Sequence[Forms]) -> dict[str, list[str]]:
    """Return the terms of an index that are other forms of words of a query, by the word."""
    stems = [(each, each.stem(term), term) for term in terms for each in forms]
    found: dict[str, list[str]] = {}
    for word in _words(query):
        own = {(each.language, each.stem(form)) for each in forms for form in (word, tokens.stem(word))}
        same = [
            term for each, stem, term in stems if (each.language, stem) in own and term != tokens.stem(word)
        ]
        if same:
            found[word] = [*dict.fromkeys(same)]
    return found


def compounds(query: LexicalQuery, forms: Sequence[Forms]) -> list[str]:
    """Return the words of a query that may be written in one, in a language that does so."""
    return (
        [word for word in _words(query) if len(word) >= 2 * _PART]
        if any(each.joints for each in forms)
        else []
    )


def term_of(word: str) -> str:
    """Return the term of a folded word."""
    return tokens.stem(word)


def parts(word: str, forms: Sequence[Forms]) -> Iterator[tuple[str, str]]:
    """Yield the two words that a compound may consist of, with the most even division first."""
    for each in forms:
        for at in sorted(range(_PART, len(word) - _PART + 1), key=lambda at: abs(2 * at - len(word))):
            for joint in ("", *each.joints) if each.joints else ():
                head = word[: at - len(joint)]
                if word[:at].endswith(joint) and len(head) >= _PART:
                    yield tokens.stem(head), tokens.stem(word[at:])


def widened(
    query: LexicalQuery,
    same: Mapping[str, Sequence[str]],
    divided: Mapping[str, Sequence[str]],
    less: Container[str] = (),
) -> LexicalQuery:
    """Return a query that other forms of its words match as well, and parts of its compounds less.

    Args:
        query: The query.
        same: The other forms of its words.
        divided: The parts of its compounds.
        less: The words of which the forms count less, because documents have the words themselves.
    """
    terms: list[Term] = []
    for term in query.terms:
        word = term.words[0]
        others = tuple((other,) for other in same.get(word, ())) if _is_word(term) else ()
        if others and word not in less:
            alternatives = (*dict.fromkeys((*term.alternatives, *others)),)
            terms.append(replace(term, alternatives=alternatives))
            continue
        terms.append(term)
        if others:
            first, *rest = others
            terms.append(Term(first, first, part=True, alternatives=(*rest,), weight=_FORM_WEIGHT))
    terms += [
        Term((part,), (part,), part=True, weight=_PART_WEIGHT) for word in divided for part in divided[word]
    ]
    return replace(query, terms=tuple(terms))


def _words(query: LexicalQuery) -> list[str]:
    """Return the words of a query that may have other forms."""
    words = [term.words[0] for term in query.terms if _is_word(term) and not term.part]
    return [word for word in words if len(word) >= _LEAST and _is_written(word)][:_MOST_WORDS]


def _is_written(word: str) -> bool:
    """Return whether a word is of letters, which have signs of vowels in some scripts."""
    return word.isalpha() or all(category(letter)[0] in "LM" for letter in word)


def _is_word(term: Term) -> bool:
    return term.is_single and len(term.words) == 1 and not term.quoted


def _letters(stem: str) -> int:
    """Return how many letters of a stem its forms have in common: the last may differ."""
    return max(_BEGINNING, len(stem) - 1)
