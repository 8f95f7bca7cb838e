"""The unigram language model of SentencePiece (Kudo 2018, https://arxiv.org/abs/1804.10959).

A word is split into the pieces of a vocabulary whose probabilities have the greatest product. This is plain
Python on purpose: a compiled tokenizer blocks the interpreter for a third of a second while it builds its
table of 250,000 pieces, and takes ten times the memory. The model is far slower than this code.
"""

from __future__ import annotations

from collections.abc import Sequence

#: The score of an unknown character is this much lower than that of the rarest piece (as in SentencePiece).
_UNKNOWN_PENALTY = 10.0
#: The maximum number of cached words, and the length of the longest one.
_CACHE_SIZE = 100_000
_CACHE_LENGTH = 32


class Unigram:
    """Splits words into pieces.

    `pieces` and `scores` (log-probabilities) are indexed by id; `unknown` is the id of unknown characters.
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], unknown: int) -> None:
        self._ids = dict(zip(pieces, range(len(pieces)), strict=True))
        self._scores = scores
        self._unknown = unknown
        self._penalty = min(scores) - _UNKNOWN_PENALTY
        self._longest: dict[str, int] = {}
        longest = self._longest
        for piece in pieces:
            first = piece[:1]
            if len(piece) > longest.get(first, 0):
                longest[first] = len(piece)
        self._cache: dict[str, tuple[tuple[int, int], ...]] = {}

    def split(self, word: str) -> tuple[tuple[int, int], ...]:
        """Return the pieces of a word as (id, characters). Neighbouring unknown characters are one piece."""
        pieces = self._cache.get(word)
        if pieces is None:
            pieces = self._split(word)
            if len(word) <= _CACHE_LENGTH:
                if len(self._cache) >= _CACHE_SIZE:
                    self._cache.clear()
                self._cache[word] = pieces
        return pieces

    def _split(self, word: str) -> tuple[tuple[int, int], ...]:
        """Find the best path to each position with Viterbi's algorithm. A longer last piece wins a tie."""
        ids, scores, longest = self._ids, self._scores, self._longest
        length = len(word)
        best = [float("-inf")] * (length + 1)
        best[0] = 0.0
        previous: list[tuple[int, int]] = [(0, 0)] * (length + 1)
        for start in range(length):
            reached = best[start]
            single = False
            for end in range(start + 1, min(length, start + longest.get(word[start], 0)) + 1):
                piece = ids.get(word[start:end])
                if piece is None:
                    continue
                single = single or end == start + 1
                score = reached + scores[piece]
                if score > best[end]:
                    best[end] = score
                    previous[end] = (start, piece)
            if not single and reached + self._penalty > best[start + 1]:
                best[start + 1] = reached + self._penalty
                previous[start + 1] = (start, self._unknown)
        return self._path(previous)

    def _path(self, previous: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        path: list[tuple[int, int]] = []
        end = len(previous) - 1
        while end > 0:
            start, piece = previous[end]
            width = end - start
            if piece == self._unknown and path and path[-1][0] == piece:
                width += path.pop()[1]
            path.append((piece, width))
            end = start
        return tuple(reversed(path))
