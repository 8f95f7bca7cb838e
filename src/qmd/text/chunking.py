"""Split documents into chunks that fit into an embedding model.

A chunk ends at the best break in the last `window` tokens before `target`. The next chunk starts `overlap`
tokens before that. Tokens are given as character spans, so this module does not depend on a tokenizer.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter

from qmd.types import Chunk
from qmd.types.structure import Structure

VERSION = 1  # increase it if chunks change, so that documents are embedded again
TARGET = 900  # tokens
OVERLAP = 0.15  # of the target
WINDOW = 200 / 900  # of the target

_HEADING_SCORES = (0, 100, 90, 80, 70, 60, 50)
_FENCE_SCORE, _RULE_SCORE, _BLANK_SCORE, _ITEM_SCORE, _LINE_SCORE = 80, 60, 20, 5, 1
_DECAY = 0.7

_LINE = re.compile(r"\n(?P<blank>(?:[ \t]*+\n)*+)(?P<item>[ \t]*+(?:[-*+]|\d{1,9}+[.)])[ \t])?")
_BLANK_LINES = re.compile(r"(?:[ \t]*+\n)*+")
_SENTENCE_ENDS = frozenset(".!?…")
_CJK_SENTENCE_ENDS = frozenset("。！？｡")
_JOINER = "\u200d"


def chunk(
    text: str,
    offsets: Sequence[tuple[int, int]],
    structure: Structure,
    *,
    target: int = TARGET,
    overlap: int | None = None,
    window: int | None = None,
) -> list[Chunk]:
    """Split `text` into chunks of at most `target` tokens.

    Every character is in a chunk. No chunk starts or ends inside a code fence that fits into one chunk. A
    chunk exceeds `target` only if a single character has more tokens. A blank text has no chunks, a text
    without offsets has one. `offsets` are the [start, end) character spans of the tokens, without special
    tokens; `structure` is that of the text; `overlap` is by default 15% and `window` 200/900 of the target.
    """
    overlap = int(target * OVERLAP) if overlap is None else overlap
    window = max(1, round(target * WINDOW)) if window is None else window
    if target < 1 or not 0 <= overlap < target or not 1 <= window <= target:
        raise ValueError(f"invalid chunk sizes: target {target}, overlap {overlap}, window {window}")
    if not text or text.isspace():
        return []
    if len(offsets) <= target:
        return list(numbered(text, [(0, len(text))]))
    return list(numbered(text, _Cutter(text, _Tokens(offsets), structure, target, overlap, window).spans()))


class _Tokens:
    """Converts between positions in characters and in tokens."""

    def __init__(self, offsets: Sequence[tuple[int, int]]) -> None:
        # Running maxima, because byte-level tokens may share a character and bisection needs sorted values.
        self.starts: list[int] = list(accumulate(map(itemgetter(0), offsets), max))
        self.ends: list[int] = list(accumulate(map(itemgetter(1), offsets), max))

    def __len__(self) -> int:
        return len(self.starts)

    def until(self, position: int) -> int:
        """Return the number of tokens that start before `position`."""
        return bisect_left(self.starts, position)

    def since(self, position: int) -> int:
        """Return the first token that extends to or past `position`. An empty token counts at its start."""
        return min(bisect_right(self.ends, position), bisect_left(self.starts, position))


class _Cutter:
    def __init__(
        self, text: str, tokens: _Tokens, structure: Structure, target: int, overlap: int, window: int
    ) -> None:
        self.text, self.tokens = text, tokens
        self.target, self.overlap, self.window = target, overlap, window
        self.fence_starts: list[int] = []  # only of fences that fit into one chunk
        self.fence_ends: list[int] = []
        self.positions = array("q")  # the breaks: the first characters of lines
        self.scores = bytearray()
        self._scan(structure)

    def _scan(self, structure: Structure) -> None:
        strong: dict[int, int] = {}
        long_fences: list[tuple[int, int]] = []
        for start, end in structure.verbatim_spans():
            strong[start] = _FENCE_SCORE
            blank = _BLANK_LINES.match(self.text, end)
            strong[blank.end() if blank else end] = _FENCE_SCORE
            if self.tokens.until(end) - self.tokens.since(start) <= self.target:
                self.fence_starts.append(start)
                self.fence_ends.append(end)
            else:
                long_fences.append((start, end))
        for heading in structure.headings:
            if heading.level < len(_HEADING_SCORES):
                score = _HEADING_SCORES[heading.level]
                strong[heading.start] = max(score, strong.get(heading.start, 0))
        for at in structure.rule_places():
            strong[at] = max(_RULE_SCORE, strong.get(at, 0))
        code = iter(long_fences)
        code_start, code_end = next(code, (0, 0))
        for match in _LINE.finditer(self.text):
            blank_start, position = match.span("blank")
            score = strong.get(position, 0)
            if not score:
                if self._fence_around(position) is not None:
                    continue
                while code_end and position >= code_end:
                    code_start, code_end = next(code, (0, 0))
                if position > blank_start:
                    score = _BLANK_SCORE
                elif match["item"] is not None and not code_start < position < code_end:
                    score = _ITEM_SCORE
                else:
                    score = _LINE_SCORE
            self.positions.append(position)
            self.scores.append(score)

    def spans(self) -> Iterator[tuple[int, int]]:
        tokens = self.tokens
        start = cut = 0
        while True:
            limit = tokens.since(start) + self.target
            while limit < len(tokens) and tokens.starts[limit] <= cut:
                limit += 1  # a character of many tokens
            if limit >= len(tokens):
                yield start, len(self.text)
                return
            end = self._best_break(limit, cut)
            if end is None:
                fence = self._fence_around(tokens.starts[limit])
                if fence is not None:
                    needed = tokens.until(fence[1]) - self.target
                    if needed <= tokens.since(cut):
                        # With less overlap, the whole fence fits into this chunk.
                        start = self._next_start(needed, cut, start)
                        continue
                    end = fence[0] if fence[0] > cut else None
            if end is None:
                end = self._token_break(limit, cut)
            yield start, end
            cut = end
            # Limit the overlap, so that the character after the cut fits into the next chunk.
            room = bisect_right(tokens.starts, cut) - self.target
            start = self._next_start(max(tokens.until(cut) - self.overlap, room), cut, start)

    def _best_break(self, limit: int, after: int) -> int | None:
        """Return the last of the breaks with the highest decayed score in the window before token `limit`."""
        best, best_value = None, 0.0
        index = bisect_right(self.positions, self.tokens.starts[limit])
        while index and self.positions[index - 1] > after:
            index -= 1
            distance = limit - self.tokens.until(self.positions[index])
            if distance > self.window or distance == self.target:  # or only blanks before it
                break
            value = self.scores[index] * (1 - (distance / self.window) ** 2 * _DECAY)
            if value > best_value:
                best, best_value = self.positions[index], value
        return best

    def _token_break(self, limit: int, after: int) -> int:
        """Return the last sentence end in the window, else the last space, else the last token."""
        text, space, any_token = self.text, None, None
        for token in range(limit, limit - self.window - 1, -1):
            position = self.tokens.starts[token]
            if position <= after:
                break
            if _inside_sequence(text, position) or self._fence_around(position) is not None:
                continue
            any_token = any_token or position
            before = text[position - 1]
            if before in _CJK_SENTENCE_ENDS:
                return position
            if before.isspace() or text[position].isspace():
                space = space or position
                if text[max(position - 2, 0) : position].rstrip()[-1:] in _SENTENCE_ENDS:
                    return position
        return space or any_token or self.tokens.starts[limit]

    def _next_start(self, earliest: int, cut: int, previous: int) -> int:
        """Return the start of the next chunk, at the start of a line, else of a word, else of a token.

        It is not before the token `earliest`, not after the end `cut` of the current chunk, and after the
        start `previous` of the current chunk.
        """
        text, tokens = self.text, self.tokens
        first, last = max(earliest, 0), tokens.until(cut)
        if first >= last:
            return cut
        long = len(tokens) - last >= self.overlap
        line = self._next_line(first, last, cut, previous) if long else self._last_start(first, previous)
        if line is not None:
            return line
        fallback = None
        for token in range(first, last):
            position = tokens.starts[token]
            if (
                position <= previous
                or tokens.since(position) < first
                or _inside_sequence(text, position)
                or self._fence_around(position) is not None
            ):
                continue
            if text[position].isspace() or text[position - 1].isspace():
                return position
            fallback = fallback or position
            if token - first > self.overlap // 4:
                break
        return fallback or cut

    def _next_line(self, first: int, last: int, cut: int, previous: int) -> int | None:
        """Return the start of the first line between two tokens that is in no fence."""
        text, tokens = self.text, self.tokens
        newline = text.find("\n", max(tokens.starts[first] - 1, previous), cut - 1)
        while newline >= 0:
            blank = _BLANK_LINES.match(text, newline + 1, cut)
            position = blank.end() if blank else newline + 1
            if first <= tokens.since(position) < last and self._fence_around(position) is None:
                return position
            newline = text.find("\n", position, cut - 1)
        return None

    def _last_start(self, first: int, previous: int) -> int | None:
        """Return the start of the last chunk, which extends the rest of the text if that is tiny."""
        text, tokens = self.text, self.tokens
        low = tokens.starts[first]
        fence = self._fence_around(low)
        position = fence[0] if fence else text.rfind("\n", previous, low) + 1
        token = tokens.since(position)
        near = fence is not None or first - token <= self.overlap
        return position if position > previous and near and len(tokens) - token <= self.target else None

    def _fence_around(self, position: int) -> tuple[int, int] | None:
        """Return the fence that a cut at `position` would break, if it fits into one chunk."""
        index = bisect_left(self.fence_starts, position) - 1
        if index < 0 or position >= self.fence_ends[index]:
            return None
        return self.fence_starts[index], self.fence_ends[index]


def _inside_sequence(text: str, position: int) -> bool:
    """Return whether the character at `position` is combined with the one before it."""
    here, before = text[position], text[position - 1]
    if here.isascii():
        return here == "\n" and before == "\r"
    return (
        here == _JOINER
        or before == _JOINER
        or unicodedata.category(here)[0] == "M"
        or "\U0001f3fb" <= here <= "\U0001f3ff"
        or ("\udc00" <= here <= "\udfff" and "\ud800" <= before <= "\udbff")
    )


def numbered(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
    """Return chunks with these [start, end) character spans, with sequence and line numbers."""
    line, counted = 1, 0
    for seq, (start, end) in enumerate(spans):
        line += text.count("\n", counted, start)
        counted = start
        yield Chunk(seq, start, end, line, line + text.count("\n", start, end - 1))
