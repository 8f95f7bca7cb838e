"""The unigram language model of SentencePiece (Kudo 2018, https://arxiv.org/abs/1804.10959).

A word is cut into the pieces of a vocabulary whose probabilities have the greatest product. Plain Python on
purpose: a compiled tokenizer holds the interpreter for a third of a second while it builds its table of
250,000 pieces, and takes ten times the memory; a model reads text far slower than this cuts it.
"""

from __future__ import annotations

from collections.abc import Sequence

#: A character that no piece covers costs this much more than the rarest piece (as in SentencePiece).
_UNKNOWN_PENALTY = 10.0
#: Cuts of words that are remembered, and of what length at most.
_MEMORY = 100_000
_MEMORABLE = 32


class Unigram:
    """Words to pieces. `pieces` and `scores` (log-probabilities) are by id; `unknown` is the other id."""

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
        self._known: dict[str, tuple[tuple[int, int], ...]] = {}

    def cut(self, word: str) -> tuple[tuple[int, int], ...]:
        """The pieces of a word: (id, characters) each. Neighbouring unknown characters are one piece."""
        known = self._known.get(word)
        if known is None:
            known = self._cut(word)
            if len(word) <= _MEMORABLE:
                if len(self._known) >= _MEMORY:
                    self._known.clear()
                self._known[word] = known
        return known

    def _cut(self, word: str) -> tuple[tuple[int, int], ...]:
        """Viterbi: the best way to reach each place, from the left. Of equals, the longer last piece."""
        ids, scores, longest = self._ids, self._scores, self._longest
        length = len(word)
        best = [float("-inf")] * (length + 1)
        best[0] = 0.0
        came: list[tuple[int, int]] = [(0, 0)] * (length + 1)
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
                    came[end] = (start, piece)
            if not single and reached + self._penalty > best[start + 1]:
                best[start + 1] = reached + self._penalty
                came[start + 1] = (start, self._unknown)
        return self._path(came)

    def _path(self, came: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        found: list[tuple[int, int]] = []
        end = len(came) - 1
        while end > 0:
            start, piece = came[end]
            width = end - start
            if piece == self._unknown and found and found[-1][0] == piece:
                width += found.pop()[1]
            found.append((piece, width))
            end = start
        return tuple(reversed(found))
