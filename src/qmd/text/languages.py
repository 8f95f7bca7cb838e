"""The language of a text, by its script and its most frequent words, which `stop_words.txt` has.

It is that of the prose: code, links with their words, addresses and formulas are not looked at.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain

from qmd.text.regex import lazy
from qmd.text.tokens import typed
from qmd.text.values import LANGUAGE, LANGUAGES, Value
from qmd.types.structure import Structure

#: Languages by the first and the last letter of their scripts, in this order: Japanese has Han letters too.
_SCRIPTS = (
    ("ja", "\u3041", "\u30ff"), ("ko", "\uac00", "\ud7a3"), ("zh", "\u4e00", "\u9fff"),
    ("ar", "\u0621", "\u064a"), ("he", "\u05d0", "\u05ea"), ("el", "\u03b1", "\u03c9"),
    ("hi", "\u0904", "\u0939"), ("th", "\u0e01", "\u0e2e"),
)  # fmt: skip
#: Letters that tell languages of one script from the first that has it.
_LETTERS_OF = {"ar": (("ur", "ٹڈڑںے"), ("fa", "پچژگکی"))}
#: Characters of each of some parts of a text that are looked at, and where these begin.
_SAMPLE, _PLACES = 500, (0.0, 0.45, 0.8)
#: A sample with fewer characters in lines without links and code is read with parts of the others.
_ENOUGH = 400
#: What is no prose in a line: links and pictures, also in links, addresses, code, formulas, tags.
_ASIDE = lazy(
    r"!?\[(?:[^\[\]\n]|!?\[[^\[\]\n]{0,300}\]\([^()\n]{0,500}\)){0,300}\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,100}\])"
    r"|https?://\S+|`[^`\n]+`|\$[^$\n]+\$|<[^<>\n]{1,300}>"
)
#: The least share of letters of a script, and of stop words of a language among the words.
_LEAST_SCRIPT, _LEAST_WORDS, _LEAST_FOUND = 0.1, 0.08, 3
_WORDS = lazy(r"[^\W\d_]+")
#: Keeps the letters of ASCII text, in lower case, so that `str.split` finds its words.
_LETTERS = bytes(ord(chr(at).lower()) if chr(at).isalpha() and at < 128 else ord(" ") for at in range(256))


def prose(text: str, structure: Structure | None) -> str:
    """Return a text without front matter, code and data."""
    if structure is None:
        return text
    if not structure.verbatim and not structure.unread:
        return text[structure.body :]
    at, parts = structure.body, list[str]()
    for start, end in sorted([*structure.verbatim_spans(), *structure.unread_spans()]):
        if start >= at:
            parts.append(text[at:start])
        at = max(at, end)
    return "\n".join([*parts, text[at:]])


def _sampled(text: str) -> str:
    """Return parts of a text, without what is no prose in them if enough is left."""
    if len(text) > _SAMPLE * len(_PLACES):
        starts = (int(len(text) * place) for place in _PLACES)
        text = "\n".join(text[start : start + _SAMPLE] for start in starts)
    if "](" not in text and "://" not in text and "`" not in text and "$" not in text and "<" not in text:
        return text
    lines = text.split("\n")
    plain = "\n".join(
        [line for line in lines if not ("](" in line or "://" in line or "`" in line or "$" in line)]
    )
    return plain if len(plain) >= _ENOUGH else _ASIDE.sub(" ", text)


def detect(text: str) -> str | None:
    """Return the language that most of the prose of a text is in, as ISO 639-1; None if it is not known.

    Args:
        text: The text, without front matter and code.
    """
    sample = typed(_sampled(text))
    if sample.isascii():
        words = sample.encode().translate(_LETTERS).decode().split()
    else:
        sample = sample.lower()
        words = _WORDS.findall(sample)
        if script := _script(words):
            return script
    language, count = _most(words)
    if language is None or count < max(_LEAST_FOUND, _LEAST_WORDS * len(words)):
        return None
    # Variables in code are the same word many times.
    return language if len(_words_of(language).intersection(words)) >= _LEAST_FOUND else None


def _script(words: Sequence[str]) -> str | None:
    """Return the language of the first script that enough letters of some words are of."""
    letters = "".join(words)
    blocks = {*letters.encode("utf-16-be", "surrogatepass")[::2]}  # of 256 characters
    for script, first, last in _SCRIPTS:
        # Patterns of such ranges take longer to compile than most texts to read.
        if not blocks.isdisjoint(range(ord(first) >> 8, (ord(last) >> 8) + 1)) and (
            sum(first <= letter <= last for letter in letters) > _LEAST_SCRIPT * len(letters)
        ):
            others = _LETTERS_OF.get(script, ())
            return next((code for code, own in others if any(map(letters.__contains__, own))), script)
    return None


def _most(words: Iterable[str]) -> tuple[str | None, int]:
    """Return the language that most stop words are of, with their number; None if that is not clear."""
    return _clear(Counter(chain.from_iterable(filter(None, map(_by_word().get, words)))))


def _clear(found: Counter[str]) -> tuple[str | None, int]:
    other, count = sorted((0, 0, *found.values()))[-2:]
    return (max(found, key=found.__getitem__), count) if count > other else (None, 0)


def language_of(
    text: str,
    fields: Mapping[str, Sequence[Value]],
    configured: str | None = None,
    structure: Structure | None = None,
) -> str | None:
    """Return the language that a document states, that is configured, or that its prose is found to be in."""
    for name in (LANGUAGE, "language"):
        for value in fields.get(name, ()):
            code = str(value).lower().replace("_", "-").partition("-")[0]
            if code in LANGUAGES:
                return code
    return configured or detect(prose(text, structure))


def asked_in(words: Iterable[str], languages: Iterable[str]) -> str | None:
    """Return the language of most stop words of a query, if that is clear and one of some languages."""
    among = {*languages}
    return _clear(Counter(each for word in words for each in _by_word().get(word, ()) if each in among))[0]


@cache
def _by_word() -> dict[str, tuple[str, ...]]:
    """Return the languages of each stop word, in lower case and folded."""
    languages: dict[str, dict[str, None]] = {}
    with open(os.path.join(os.path.dirname(__file__), "stop_words.txt"), encoding="utf-8") as file:
        lines = [*map(str.split, file)]
    for language, *words in lines:
        for word in words:
            languages.setdefault(word, {})[language] = None
    return {word: tuple(found) for word, found in languages.items()}


@cache
def _words_of(language: str) -> frozenset[str]:
    """Return the stop words of a language."""
    return frozenset(word for word, found in _by_word().items() if language in found)


def languages_of_word(word: str) -> tuple[str, ...]:
    """Return the languages in which a folded word has no subject."""
    return _by_word().get(word, ())


def is_stop_word(word: str, language: str) -> bool:
    """Tell whether a folded word has no subject in a language."""
    return language in languages_of_word(word)


@cache
def _function_words() -> dict[str, frozenset[str]]:
    """Return more words without a subject, folded, by language; see `tools/make_function_words.py`."""
    with open(os.path.join(os.path.dirname(__file__), "function_words.txt"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line[0] != "#"]
    return {language: frozenset(words) for language, *words in lines}


def is_function_word(word: str, language: str) -> bool:
    """Tell whether a folded word has no subject in a language, by a list that is too long for ranking."""
    return is_stop_word(word, language) or word in _function_words().get(language, ())
