"""XLM-RoBERTa's tokenizer (SentencePiece, unigram) for multilingual-e5-small, without its special tokens.

SentencePiece normalises with the rule `nmt_nfkc`: NFKC, but control characters are removed, zero-width
characters and line separators become spaces, and the full-width tilde is kept. Each word then gets a leading
`▁` and is split into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from unicodedata import combining, is_normalized, normalize

from qmd.models.e5.unigram import SPACE, Unigram

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BOS, PAD, EOS, UNKNOWN = 0, 1, 2, 3

_TILDE = "\uff5e"
_CONTROLS = r"\x01-\x08\x0B\x0E-\x1F\x7F\x8F\x9F"
# Lone surrogates count as U+FFFD, which other programs replace them by, and which is a space too.
_SPACES = r" \t\n\x0C\r\u1680\u200B-\u200F\u2028\u2029\u2581\uFEFF\uFFFD\ud800-\udfff"
_WORDS = re.compile(rf"[^{_SPACES}]+")
_CONTROL = re.compile(rf"[{_CONTROLS}]")

#: A normalised word, its start in the text, and the span (start, end) in the text of each of its characters.
#: The spans are None if the word is unchanged.
_Word = tuple[str, int, list[tuple[int, int]] | None]


class Tokenizer:
    """Splits texts into tokens. Safe to call from several threads.

    `pieces` are the lines of a file, and `scores` their log-probabilities, by token id.
    """

    def __init__(self, pieces: bytes, scores: NDArray[np.float32]) -> None:
        special = (BOS, PAD, EOS, UNKNOWN, len(scores) - 1)  # text must not match one
        self._unigram = Unigram(pieces, scores, UNKNOWN, special)

    def ids(self, text: str) -> list[int]:
        """Return the token ids of `text`."""
        split = self._unigram.split
        return [piece for word, _, _ in _words(text) for piece, _ in split(SPACE + word)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token in order. They cover everything except white space.

        A separate `▁` before a word has an empty span. The tokens of one character (`㍿`) share its span.
        """
        spans: list[tuple[int, int]] = []
        for word, start, origins in _words(text):
            at = -1  # The first piece begins with `▁`, which is not in the text.
            for _, width in self._unigram.split(SPACE + word):
                low, high = max(at, 0), at + width
                if high == 0:
                    begin = origins[0][0] if origins else start
                    span = (begin, begin)
                elif origins is None:
                    span = (start + low, start + high)
                else:
                    span = (origins[low][0], origins[high - 1][1])
                if spans:
                    spans[-1] = _extended(text, spans[-1], span[0])
                spans.append(span)
                at = high
        if spans:
            spans[-1] = _extended(text, spans[-1], len(text))
        return spans


def _words(text: str) -> Iterator[_Word]:
    """Yield the normalised words of a text."""
    for match in _WORDS.finditer(text):
        word, start = match.group(), match.start()
        if (word.isascii() or is_normalized("NFKC", word)) and not _CONTROL.search(word):
            yield word, start, None
        else:
            yield from _normalised(word, start)


def _normalised(word: str, start: int) -> Iterator[_Word]:
    """Normalise a word. The result may be empty, or several words (`¨` is a space and a mark)."""
    letters: list[str] = []
    origins: list[tuple[int, int]] = []
    for form, span in _clusters(word, start):
        for character in form:
            if character != " ":
                letters.append(character)
                origins.append(span)
            elif letters:
                yield "".join(letters), start, origins
                letters, origins = [], []
    if letters:
        yield "".join(letters), start, origins


def _clusters(word: str, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the parts of a word that are normalised independently: (normal form, span in the text)."""
    cluster, form, low, high = "", "", start, start
    for at, character in enumerate(word, start):
        if _CONTROL.match(character):
            continue
        single = _normal(character)
        joined = _normal(cluster + character)
        if cluster and not combining(normalize("NFKD", character)[0]) and joined == form + single:
            yield form, (low, high)
            cluster, form, low = character, single, at
        else:
            low = low if cluster else at
            cluster, form = cluster + character, joined
        high = at + 1
    if cluster:
        yield form, (low, high)


def _normal(text: str) -> str:
    """Apply NFKC, except to the full-width tilde."""
    return _TILDE.join(normalize("NFKC", part) for part in text.split(_TILDE))


def _extended(text: str, span: tuple[int, int], limit: int) -> tuple[int, int]:
    """Extend a span over the characters after it that normalisation removed."""
    start, end = span
    while start < end < limit and not text[end].isspace():
        end += 1
    return start, end
