"""The tokenizer for words, used by indexing, queries, snippets and highlighting.

A *word* is a run of letters and digits, with signs that are not seen in it, such as soft hyphens. Its
*term* in the index has compatibility forms unified (NFKC), case, accents and signs folded (`letters`), and
an English stem (Snowball). A word with `ä` or the like has a second term, with `ae`, behind the terms of
its text. A run in a script without spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) becomes
overlapping bigrams and its last character. Every substring is then a phrase of bigrams, and every character
is the prefix of a term. Simplified, traditional and Japanese variants of a Han character have the same
term.

Every emoji and symbol is a term, without joiners and colours.

Names with signs (`C++`, `C#`, `.NET`) are words, with the terms that they have without them (`cpp`, `csharp`,
`dotnet`). Numbers with signs inside, acronyms with dots, and the ends of names in code have second terms.

Words joined by `- _ . / @ :` become adjacent terms, so that the whole matches as a phrase.

Terms are stored in indexes. A change of the terms of any text needs a migration in every store.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from operator import add
from types import ModuleType

import Stemmer

from qmd.text import letters
from qmd.text.letters import UNSEEN
from qmd.text.regex import lazy

#: Scripts written without spaces between words (character class ranges).
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007"
    "\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
#: Characters that folding changes in runs of `UNSPACED`, combines with the previous one, or takes away.
COMPOSED = (
    "\u0e33\u0e38-\u0e3a\u0e48-\u0e4b\u0eb3\u0eb8-\u0eba\u0ec8-\u0ecb\u102e\u1037\u1039\u103a\u1100-\u11ff\u17d2"
    "\u3099-\u309c\u309f\u30ff\u3131-\u318e\uf900-\ufad9\uff66-\uff9f\U0002f800-\U0002fa1d" + UNSEEN
)
#: Combining marks that occur in words; `\\w` does not include them.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3"
    "\u0816-\u082d\u08d3-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc\u09be-\u09cd"
    "\u09d7\u0a01-\u0a03\u0a3c-\u0a4d\u0a70\u0a71\u0a81-\u0a83\u0abc\u0abe-\u0acd\u0b01-\u0b03\u0b3c\u0b3e-\u0b57"
    "\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc\u0cbe-\u0cd6\u0d00-\u0d03\u0d3b\u0d3c"
    "\u0d3e-\u0d4d\u0d57\u0d81-\u0d83\u0dca-\u0ddf\u0f18\u0f19\u0f35\u0f37\u0f39\u0f71-\u0f87\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f" + UNSEEN
)
#: Searchable symbols: currencies, signs, arrows, pictures. Box drawing characters are not included.
SYMBOLS = (
    "\u00a2-\u00a6\u00a9\u00ac\u00ae\u00b0\u00b1\u00d7\u00f7\u20a0-\u20c0\u2190-\u2307\u230c-\u2328\u232b-\u23ff"
    "\u25a0-\u2767\u2794-\u27bf\u27f0-\u27ff\u2900-\u297f\u2b00-\u2bff\u3012\u3020"
    "\U0001f000-\U0001f0ff\U0001f10d-\U0001f3fa\U0001f400-\U0001faff"
)
#: Characters that change the look of a symbol or join symbols: selectors, skin tones, joiners, tags.
_LOOKS = "\u200d\u20e3\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
#: Marks that normalisation sorts in quadratic time. Words have a few, but an attack could have thousands.
_SORTED = (
    MARKS
    + "\u0e38-\u0e3a\u0e48-\u0e4b\u0eb8-\u0eba\u0ec8-\u0ecb\u1037\u1039\u103a\u17d2\u3099\u309a\uff9e\uff9f"
)
#: The maximum number of consecutive marks, as in the stream-safe text format (Unicode UAX #15).
_MOST_MARKS = 30
#: The maximum length of a term. Longer words are data rather than text, and only their beginning is indexed.
MAX_TERM = 128
_LETTER = rf"[^\W_{UNSPACED}]"
#: The ending of an English contraction or possessive belongs to its word; `l'école` is two words.
_ENDING = r"(?:['’](?:s|t|re|ve|ll|d|m|S|T|RE|VE|LL|D|M)(?![^\W_])|)"
#: Matches the same words in ASCII text as `_WORD`, but is several times faster and compiles fast.
_ASCII_WORD = lazy(rf"[A-Za-z0-9]+{_ENDING}")
#: Names of languages and keys of music whose signs are part of them. Few texts have one.
_SIGNED = r"(?<![^\W_])(?:[Cc]\+\+(?!\+)|[A-GJQXa-gjqx]\\?[#♯](?![\w#])|\.(?:NET|Net|net)(?![^\W_]|\.[^\W_]))"
_SHARP = lazy(r"#(?:(?<=(?<![^\W_])[A-GJQXa-gjqx]#)|(?<=[A-GJQXa-gjqx]\\#))(?![\w#])")
_SIGNED_WORD = lazy(rf"{_SIGNED}|[A-Za-z0-9]+{_ENDING}")
#: Letters, kana and signs that most texts have no others of, beside Chinese characters. The patterns of their
#: words compile in a tenth of the time of those below: Python looks at each character of a range.
_LETTERS = "A-Za-z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0400-\u0481\u048a-\u052f"
_COMMON = lazy(
    f"[\x00-\x7f\u00ab\u00b7\u00bb{_LETTERS}\u2010-\u2027\u3001\u3002\u3008-\u3011"
    "\u3041-\u3096\u30a1-\u30fa\u30fc\uff01-\uff0f\uff1a-\uff20]+"
)
_COMMON_WORD = lazy(rf"[{_LETTERS}]+{_ENDING}|[^\W_{_LETTERS}]+")
#: Their terms, by their end.
_SIGNED_TERMS = {"++": "pp", "#": "sharp", "♯": "sharp"}
#: Keeps the letters, digits and apostrophes of ASCII text, and the signs of names, so that `str.split` finds
#: its words.
_SPACES = bytes(at if at < 128 and (chr(at).isalnum() or chr(at) in "'+#") else ord(" ") for at in range(256))
_DOTNET = lazy(r"\.(?<![^\W_]\.)(?:NET|Net|net)(?![^\W_]|\.[^\W_])")
_JOINED = lazy(r"[-_./@:]+\Z")
#: Signs at the end of a sentence in scripts without spaces.
_ENDS = "。！？｡；"


_SYMBOL_CHAR, _MARK_CHAR, _COMPOSED_CHAR, _LOOK_CHAR, _UNSEEN_CHAR = (
    lazy(f"[{characters}]") for characters in (SYMBOLS, MARKS, COMPOSED, _LOOKS, UNSEEN)
)
_WORD = (
    rf"[{UNSPACED}]+(?:[{UNSEEN}]+[{UNSPACED}]+)*"
    rf"|{_LETTER}+(?:[{MARKS}]+{_LETTER}*)*{_ENDING}|[{SYMBOLS}][{SYMBOLS}{_LOOKS}]*"
)
#: Matches the same words in text without marks; compiles in half the time, and is several times faster.
_UNMARKED_WORD = rf"[{UNSPACED}]+|{_LETTER}+{_ENDING}|[{SYMBOLS}][{SYMBOLS}{_LOOKS}]*"
#: Without and with names with signs, each without and with marks.
_PATTERNS = [
    [lazy(f"{signed}{words}") for words in (_UNMARKED_WORD, _WORD)] for signed in ("", f"{_SIGNED}|")
]
#: What stands for signs that texts have which are otherwise ASCII: those between words, and soft hyphens.
_TYPOGRAPHIC = (*((sign, " ") for sign in "–—“”…•"), ("’", "'"), ("\u00ad", ""))
#: A letter that may be written with others (`letters.in_two`), or the mark that makes it one, and letters of
#: scripts with particles.
_IN_TWO = "äöüøåÄÖÜØÅ\u0308\u030aµμ" + letters.BEFORE_WORDS
_PARTS = lazy(rf"{_LETTER}(?:{_LETTER}|[{MARKS}])*")
_MANY_MARKS = lazy(f"([{_SORTED}]{{{_MOST_MARKS}}})[{_SORTED}]+")
#: Compiles in a tenth of the time, and does not match texts in which `_MANY_MARKS` cannot match.
_MANY_FOREIGN = lazy(rf"[^\x00-\x7f]{{{_MOST_MARKS}}}")
#: Limits of the cache of terms. Words longer than `_MEMORABLE` are data (hashes, encoded blobs).
_MEMORABLE = 40
#: In longer texts, looking for uncommon characters takes more time than compiling does.
_SHORT = 10_000
_MEMORY = 200_000
_CHARACTERS = 1 << 16

_stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord


def _pattern(text: str) -> re.Pattern[str]:
    signed = may_be_signed(text)
    if text.isascii():
        return _SIGNED_WORD if signed else _ASCII_WORD
    if not signed and len(text) < _SHORT:
        rest = _COMMON.sub("", text)
        if not rest or (min(rest) >= "\u4e00" and max(rest) <= "\u9fff"):
            return _COMMON_WORD
    return _PATTERNS[signed][_MARK_CHAR.search(text) is not None]


def may_be_signed(text: str) -> bool:
    """Return whether a text may have names with signs, such as `C++`."""
    # A pattern with all of them would look at each character.
    return (
        ("++" in text and ("C++" in text or "c++" in text))
        or ("#" in text and _SHARP.search(text) is not None)
        or ".NET" in text
        or ".net" in text
        or ".Net" in text
        or "♯" in text
    )


def _unsigned(word: str) -> str:
    """Return a name with signs as it is written without them; "" if it is none."""
    if word[:1] == ".":
        return "dotnet"
    for sign, letters_of in _SIGNED_TERMS.items():
        if word.endswith(sign):
            return word[0].lower() + letters_of
    return ""


@cache
def han_variants() -> dict[int, int]:
    """Return the simplified characters by their traditional and Japanese forms, for `str.translate`.

    `tools/make_variants.py` makes the file from OpenCC's TSCharacters.txt and JPVariants.txt (Apache-2.0).
    """
    with open(os.path.join(os.path.dirname(__file__), "han.txt"), encoding="utf-8") as file:
        variants, simplified = zip(*map(str.split, file), strict=True)
    return str.maketrans("".join(variants), "".join(simplified))


def is_unspaced(word: str) -> bool:
    """Return whether a word from `words` is a run of an unspaced script."""
    return not word.isascii() and _is_unspaced(word[0])


def is_symbols(word: str) -> bool:
    """Return whether a word from `words` is a run of symbols."""
    return not word.isascii() and _is_symbol(word[0])


# One character does not need a pattern of so many, which takes milliseconds to compile.
@lru_cache(maxsize=_CHARACTERS)
def _is_unspaced(character: str) -> bool:
    return _is_in(UNSPACED, character)


@lru_cache(maxsize=_CHARACTERS)
def _is_symbol(character: str) -> bool:
    return _is_in(SYMBOLS, character)


def _is_in(ranges: str, character: str) -> bool:
    """Return whether a character is in the ranges of a class, such as `a-cx`."""
    at = 0
    while at < len(ranges):
        is_range = ranges[at + 1 : at + 2] == "-"
        if ranges[at] <= character <= ranges[at + 2 * is_range]:
            return True
        at += 3 if is_range else 1
    return False


def stands_alone(word: str) -> bool:
    """Return whether a word from `words` is never joined to others: unspaced scripts and symbols."""
    return is_unspaced(word) or is_symbols(word)


def has_composed(text: str) -> bool:
    """Return whether a text has characters of or between unspaced ones that folding changes or combines."""
    return _COMPOSED_CHAR.search(text) is not None


def fold(word: str) -> str:
    """Remove differences of form, case and accents from a word or run, and cut words to `MAX_TERM`."""
    if word.isascii():
        return word[:MAX_TERM].lower() if word.isalnum() else _unsigned(word) or word[:MAX_TERM].lower()
    if word[-1] == "♯" and (name := _unsigned(word[-2:])) and word != "♯":
        return name
    if is_symbols(word):
        return _LOOK_CHAR.sub("", word)
    folded = _compatible(word)
    if is_unspaced(folded):
        return folded.translate(han_variants())
    return unicodedata.normalize("NFC", letters.folded(folded)).replace("’", "'")[:MAX_TERM]


def _compatible(word: str) -> str:
    """Return a word in the form NFKC, without signs that are not seen, and with few consecutive marks."""
    return unicodedata.normalize("NFKC", _UNSEEN_CHAR.sub("", _stream_safe(word)))


def _stream_safe(text: str) -> str:
    """Return a text with at most `_MOST_MARKS` consecutive marks."""
    if len(text) <= _MOST_MARKS or _MANY_FOREIGN.search(text) is None:
        return text
    return _MANY_MARKS.sub(r"\1", text)


def stem(word: str) -> str:
    """Return the term of a folded word: the English stem if it is ASCII, otherwise the word."""
    if not word.isascii():
        return word.replace("'", "")
    return _stem(word).replace("'", "")


def bigrams(run: str) -> list[str]:
    """Return the terms of a folded run of an unspaced script: overlapping bigrams and the last character."""
    return [*map(add, run, run[1:]), run[-1:]]


class _Pairs(dict[int, str]):
    """For `str.translate`: a character of a run as the end of a bigram and the start of the next, folded.

    Without its first two characters, the result is the terms of a run: "一二三" becomes "一 一二 二三 三".
    """

    def __missing__(self, code: int) -> str:
        character = chr(han_variants().get(code, code))
        self[code] = f"{character} {character}"
        return self[code]


_pairs = _Pairs()


class _TermMemo(dict[str, str]):
    """The terms of words, joined by spaces. Caches words, but not runs, which rarely occur twice."""

    def __missing__(self, word: str) -> str:
        if word.isascii():
            if word.isalnum():
                term = stem(word[:MAX_TERM].lower())
            elif (parts := _pattern(word).findall(word)) == [word]:
                term = stem(fold(word))
            else:
                return " ".join(self[part] for part in parts)
        elif _is_unspaced(word[0]) and not has_composed(word):  # most runs
            return word.translate(_pairs)[2:]
        else:
            folded = fold(word)
            if is_unspaced(folded):
                return " ".join(bigrams(folded))
            if is_symbols(word):
                return " ".join(folded)
            term = stem(folded)
            if not term.isalnum():
                # Folding can insert separators (½ → 1⁄2), at which the index would split.
                term = " ".join(stem(part) for part in _PARTS.findall(folded))
        if len(word) <= _MEMORABLE:
            if len(self) >= _MEMORY:
                self.clear()
            self[word] = term
        return term


_terms = _TermMemo()


def words(text: str) -> list[str]:
    """Return the words, unspaced runs and runs of symbols of a text, as written."""
    return _pattern(text).findall(text)


def has_word(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text has a word."""
    return _pattern(text).search(text, start, end) is not None


def placed(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a text, as `words` returns them, with their positions."""
    return ((match.start(), match.group()) for match in _pattern(text).finditer(text))


def terms_of(word: str) -> list[str]:
    """Return the terms of a word from `words`."""
    return _terms[word].split(" ")


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, as in the index."""
    return index_form(text).split()


def typed(text: str) -> str:
    """Return a text with the signs of a typewriter in place of others between words: it may then be ASCII."""
    if not text.isascii():
        for sign, plain in _TYPOGRAPHIC:
            text = text.replace(sign, plain)
    return text


def index_form(text: str) -> str:
    """Return the terms of a text joined by spaces, for a full-text engine that splits at spaces."""
    text = typed(text)
    if text.isascii():
        return " ".join(map(_terms.__getitem__, _ascii_words(text)))
    pattern, found = _pattern(text), list[str]()
    for line in text.split("\n"):  # no word crosses a line
        found += _ascii_words(line) if line.isascii() else pattern.findall(line)
    return " ".join(map(_terms.__getitem__, found))


def indexed_in_parts(
    names: str, seen: str, rest: str, path: str, edges: Sequence[int]
) -> tuple[tuple[str, str, str], list[int]]:
    """Return the terms of the names, the text and the path of a document, and their number in each part.

    The terms are joined by spaces. Behind those of the text are those of its markup and of what that divides,
    and the second terms of all three, each once.

    Args:
        names: The title, the aliases and the name of the file.
        seen: The text as it is read; see `seen.edited`.
        rest: What is not seen in it.
        path: The path of the document.
        edges: The positions that divide the text; see `_divided`.
    """
    body, counts = _divided(seen, edges)
    if rest:
        body = f"{body} {index_form(' '.join(rest.split()))}".strip()  # it is mostly blanks
    if seconds := {second: None for each in (names, seen, rest, path) for second in _second_terms(each)}:
        body = f"{body} {' '.join(seconds)}"
    return (index_form(names), body, index_form(path)), counts


def _divided(text: str, edges: Sequence[int]) -> tuple[str, list[int]]:
    """Return the index form of a text, and the number of terms of each part of it.

    Args:
        text: The text.
        edges: The positions that divide it into parts, with 0 and its length. A word that is in two parts
            counts in the first, and so do the terms of a run of an unspaced script that begin there.
    """
    forms, counts, low, inside = list[str](), list[int](), 0, [0]
    for high in edges[1:]:
        inside.append(high)
        ends = high in (low, len(text)) or text[high].isspace() or text[high - 1] in _ENDS
        if not (ends or text[high - 1].isspace()):
            continue  # a word may go on, and is indexed whole
        form = index_form(text[low:high])
        if len(inside) == 2:
            counts.append(len(form.split()))
        else:
            counts += [
                len(index_form(text[start:end]).split()) - (start > low and _divides_word(text, start))
                for start, end in pairwise(inside)
            ]
        forms.append(form)
        low, inside = high, [high]
    return " ".join(filter(None, forms)), counts


def _divides_word(text: str, at: int) -> bool:
    return text[at - 1].isalnum() and text[at : at + 1].isalnum() and not is_unspaced(text[at])


def _second_terms(text: str) -> Iterator[str]:
    from qmd.text.second_forms import forms  # searches start without it

    yield from map(stem, forms(text))
    if not text.isascii() and any(sign in text for sign in _IN_TWO):
        for word in dict.fromkeys(_pattern(text).findall(text)):
            yield from second_terms(word)


@lru_cache(maxsize=_CHARACTERS)
def second_terms(word: str) -> tuple[str, ...]:
    """Return the other terms of a word: with `ae` for `ä` and the like, and without particles before it."""
    if word.isascii() or len(word) < 2 or not any(sign in word for sign in _IN_TWO):
        return ()
    if _has_particles(word) and (bare := (*_particles().bare(fold(word)),)):
        return bare
    second = stem(fold(letters.in_two(word)))
    return () if second == _terms[word] else (second,)


def second_form(word: str) -> str:
    """Return the other term that a word of a query may have in texts; "" if there is none."""
    if word.isascii():
        return ""
    if not _has_particles(word):
        return next(iter(second_terms(word)), "")
    folded = fold(word)
    bare = _particles().of_query(folded)
    return bare if bare != folded else ""


def _has_particles(word: str) -> bool:
    """Return whether a word is of a script that writes particles before words."""
    return "\u05d0" <= word[0] <= "\u06d3"


@cache
def _particles() -> ModuleType:
    from qmd.text import particles  # texts of two scripts need it

    return particles


def _ascii_words(text: str) -> list[str]:
    """Return the words of ASCII text, with apostrophes and signs around them; faster than `_ASCII_WORD`."""
    if ".NET" in text or ".Net" in text or ".net" in text:
        text = _DOTNET.sub(" dotnet", text)
    if "\\#" in text:  # as Markdown has it
        text = text.replace("\\#", "#")
    return text.encode().translate(_SPACES).decode().split()


def spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, term) for every term of a text, with the characters that it covers."""
    for match in _pattern(text).finditer(text):
        word, start, end = match.group(), match.start(), match.end()
        parts = _terms[word].split()
        if is_symbols(word):
            for symbol in _SYMBOL_CHAR.finditer(word):
                yield start + symbol.start(), start + symbol.end(), symbol.group()
        elif is_unspaced(word) and len(parts) == len(seen := _seen(text, start, end)):
            for at, last, part in zip(seen, [*seen[1:], seen[-1]], parts, strict=True):
                yield at, last + 1, part
        else:  # a word, or a run whose length changed by normalisation (half-width forms): use the whole
            for part in parts:
                yield start, end, part


def _seen(text: str, start: int, end: int) -> Sequence[int]:
    """Return the positions of the characters of a part of a text that are seen."""
    unseen = {start + match.start() for match in _UNSEEN_CHAR.finditer(text[start:end])}
    return [at for at in range(start, end) if at not in unseen] if unseen else range(start, end)


def groups(text: str) -> list[list[str]]:
    """Return the words of a text, grouped if they are joined by `- _ . / @ :`: `a/b c` → [[a, b], [c]].

    A run of an unspaced script or of symbols is a separate group.
    """
    result: list[list[str]] = []
    previous = 0
    joinable = False
    for match in _pattern(text).finditer(text):
        word = match.group()
        alone = stands_alone(word)
        if joinable and not alone and _JOINED.match(text[previous : match.start()]):
            result[-1].append(word)
        else:
            result.append([word])
        joinable = not alone
        previous = match.end()
    return result
