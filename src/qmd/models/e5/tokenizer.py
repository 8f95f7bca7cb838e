"""XLM-RoBERTa's tokenizer (SentencePiece, unigram) for multilingual-e5-small, without its special tokens.

SentencePiece normalises with the rule `nmt_nfkc`: NFKC, but control characters vanish, zero-width and line
separators become spaces, and the full-width tilde stays. Words are then cut into pieces, each word with a
leading `▁`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from unicodedata import combining, is_normalized, normalize

from qmd.models.e5.unigram import Unigram

BOS, PAD, EOS, UNKNOWN = 0, 1, 2, 3

_SPACE = "▁"
_TILDE = "\uff5e"
_CONTROLS = r"\x01-\x08\x0B\x0E-\x1F\x7F\x8F\x9F"
# Lone surrogates are no text; other programs have U+FFFD in their place, which is a space too.
_SPACES = r" \t\n\x0C\r\u1680\u200B-\u200F\u2028\u2029\u2581\uFEFF\uFFFD\ud800-\udfff"
_WORDS = re.compile(rf"[^{_SPACES}]+")
_ODD = re.compile(rf"[{_CONTROLS}]")

#: A word after normalisation, and for each of its characters the span (start, end) of the text it is from;
#: None where characters and text agree one by one from `start` on.
_Word = tuple[str, int, list[tuple[int, int]] | None]


class Tokenizer:
    """Texts to token ids and character spans. Safe to call from several threads.

    `pieces` and `scores` (log-probabilities) are by token id.
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        special = {BOS, PAD, EOS, UNKNOWN, len(pieces) - 1}
        # No text may spell a special token: `▁` inside a piece cannot be matched.
        vocabulary = list(pieces)
        for index in special:
            vocabulary[index] += _SPACE
        self._unigram = Unigram(vocabulary, scores, UNKNOWN)
        self._space = pieces.index(_SPACE)

    def ids(self, text: str) -> list[int]:
        """The token ids of `text`."""
        cut = self._unigram.cut
        return [piece for word, _, _ in _words(text) for piece, _ in cut(_SPACE + word)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The character span of each token, in order; together they cover all but white space.

        A lone `▁` before a word has an empty span; tokens made of one character (`㍿`) share its span.
        """
        spans: list[tuple[int, int]] = []
        for word, start, places in _words(text):
            at = -1  # The first piece begins with the `▁` that is not in the text.
            for _, width in self._unigram.cut(_SPACE + word):
                low, high = max(at, 0), at + width
                if high == 0:
                    begin = places[0][0] if places else start
                    span = (begin, begin)
                elif places is None:
                    span = (start + low, start + high)
                else:
                    span = (places[low][0], places[high - 1][1])
                if spans:
                    spans[-1] = _extended(text, spans[-1], span[0])
                spans.append(span)
                at = high
        if spans:
            spans[-1] = _extended(text, spans[-1], len(text))
        return spans


def _words(text: str) -> Iterator[_Word]:
    """The words of a text, normalised, in order."""
    for match in _WORDS.finditer(text):
        word, start = match.group(), match.start()
        if (word.isascii() or is_normalized("NFKC", word)) and not _ODD.search(word):
            yield word, start, None
        else:
            yield from _normalised(word, start)


def _normalised(word: str, start: int) -> Iterator[_Word]:
    """A word that normalising changes: it may vanish, or fall apart (`¨` is a space and a mark)."""
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    for form, span in _clusters(word, start):
        for character in form:
            if character != " ":
                letters.append(character)
                places.append(span)
            elif letters:
                yield "".join(letters), start, places
                letters, places = [], []
    if letters:
        yield "".join(letters), start, places


def _clusters(word: str, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The parts of a word that normalise for themselves: (normal form, span in the text)."""
    cluster, form, low, high = "", "", start, start
    for at, character in enumerate(word, start):
        if _ODD.match(character):
            continue
        own = _normal(character)
        joined = _normal(cluster + character)
        if cluster and not combining(normalize("NFKD", character)[0]) and joined == form + own:
            yield form, (low, high)
            cluster, form, low = character, own, at
        else:
            low = low if cluster else at
            cluster, form = cluster + character, joined
        high = at + 1
    if cluster:
        yield form, (low, high)


def _normal(text: str) -> str:
    """NFKC, with the full-width tilde left as it is."""
    return _TILDE.join(normalize("NFKC", part) for part in text.split(_TILDE))


def _extended(text: str, span: tuple[int, int], limit: int) -> tuple[int, int]:
    """Take in what normalisation dropped after the token."""
    start, end = span
    while start < end < limit and not text[end].isspace():
        end += 1
    return start, end
