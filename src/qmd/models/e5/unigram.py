"""The unigram language model of SentencePiece (Kudo 2018, https://arxiv.org/abs/1804.10959).

A word is split into the pieces of a vocabulary whose probabilities have the greatest product. This is plain
Python on purpose: a compiled tokenizer blocks the interpreter for a third of a second while it builds its
table of 250,000 pieces, and takes ten times the memory. Here pieces become strings once a text has their
first three characters. The model is far slower than this code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Begins each word.
SPACE = "▁"
#: The score of an unknown character is this much lower than that of the rarest piece (as in SentencePiece).
_UNKNOWN_PENALTY = 10.0
#: The maximum number of cached words, the length of the longest one, and the number of cached beginnings.
_CACHE_SIZE = 100_000
_CACHE_LENGTH = 32
_BEGINNINGS = 50_000
#: Pieces are found by their first three characters, besides the mark of a word's beginning, which most have:
#: the rest of these bytes, as a number, by a prime number.
_CHARACTERS, _MOST_BYTES, _BUCKETS = 3, 8, 65_521

#: The id and the score of each piece that may begin at a place, and the length of the longest.
_Beginning = tuple[dict[str, tuple[int, float]], int]


class Unigram:
    """Splits words into pieces. Safe to call from several threads.

    `pieces` are the lines of a file, and `scores` their log-probabilities, by id. `unknown` is the id of
    unknown characters, and pieces in `special` are never in a text.
    """

    def __init__(
        self, pieces: bytes, scores: NDArray[np.float32], unknown: int, special: Sequence[int]
    ) -> None:
        self._pieces = pieces
        self._scores = scores.data  # whose items are numbers of Python
        self._unknown = unknown
        self._penalty = float(scores.min()) - _UNKNOWN_PENALTY
        self._starts, self._order, self._offsets = _grouped(pieces, special)
        self._beginnings: dict[str, _Beginning] = {}
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
        length = len(word)
        best = [float("-inf")] * (length + 1)
        best[0] = 0.0
        previous: list[tuple[int, int]] = [(0, 0)] * (length + 1)
        for start in range(length):
            reached = best[start]
            single = False
            first = word[start : start + _CHARACTERS + (word[start] == SPACE)]
            pieces, longest = self._beginnings.get(first) or self._read(first)
            for end in range(start + 1, min(length, start + longest) + 1):
                piece = pieces.get(word[start:end])
                if piece is None:
                    continue
                single = single or end == start + 1
                score = reached + piece[1]
                if score > best[end]:
                    best[end] = score
                    previous[end] = (start, piece[0])
            if not single and reached + self._penalty > best[start + 1]:
                best[start + 1] = reached + self._penalty
                previous[start + 1] = (start, self._unknown)
        return self._path(previous)

    def _read(self, first: str) -> _Beginning:
        """Return the pieces that begin with these characters, and those that are the first of them."""
        code = first.encode("utf-8", "surrogatepass")
        bucket = int.from_bytes(code[:_MOST_BYTES], "little") % _BUCKETS
        most = _CHARACTERS + (first[0] == SPACE)
        found: dict[str, tuple[int, float]] = {}
        for piece in self._order[self._offsets[bucket] : self._offsets[bucket + 1]]:
            start, end = self._starts[piece], self._starts[piece + 1] - 1
            if self._pieces.startswith(code, start, end):
                text = self._pieces[start:end].decode()
                if len(first) >= most or text == first:
                    found[text] = piece, self._scores[piece]
        beginning = found, max(map(len, found), default=0)
        if len(first) > 1:
            fewer = self._beginnings.get(first[:-1]) or self._read(first[:-1])
            # Most characters begin no piece, and share what fewer of them begin.
            beginning = (found | fewer[0], beginning[1]) if found else fewer
        if len(self._beginnings) >= _BEGINNINGS:
            self._beginnings.clear()
        self._beginnings[first] = beginning
        return beginning

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


def _grouped(pieces: bytes, special: Sequence[int]) -> tuple[memoryview, memoryview, memoryview]:
    """Return the start of each line, their numbers by bucket, and the place of each bucket among these."""
    import numpy as np

    text = np.frombuffer(pieces + b"\n" + bytes(_MOST_BYTES), np.uint8)
    ends = np.flatnonzero(text[: len(pieces) + 1] == ord("\n"))
    starts = np.concatenate([[0], ends + 1])
    # The bytes of a character in UTF-8, by its first one.
    widths = np.repeat([1, 1, 2, 3, 4], [128, 64, 32, 16, 16])
    lines = at = starts[:-1]
    for _ in range(_CHARACTERS):
        at = np.minimum(at + widths[text[at]], ends)
    marked = np.all([text[lines + byte] == value for byte, value in enumerate(SPACE.encode())], axis=0)
    at = np.where(marked, np.minimum(at + widths[text[at]], ends), at)
    size = at - lines
    numbers = np.zeros(len(lines), np.uint64)
    for byte in range(_MOST_BYTES):
        numbers |= np.where(byte < size, text[lines + byte], 0).astype(np.uint64) << np.uint64(8 * byte)
    buckets = (numbers % np.uint64(_BUCKETS)).astype(np.uint16)
    buckets[list(special)] = _BUCKETS
    offsets = np.concatenate([[0], np.cumsum(np.bincount(buckets, minlength=_BUCKETS + 1))])
    return starts.data, np.argsort(buckets, kind="stable").data, offsets.data
