"""Case-insensitive plain-text search, line by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from qmd.config.validate import nfc, require_unicode

#: Lines before and after a match.
CONTEXT = 3
#: Longer lines are cut to this many characters, around the first match or from the beginning.
MAX_LINE = 10_000
_CUT = "…"


class Text(Struct, frozen=True):
    """A text prepared for searching: UTF-8 in NFC, lines separated by line feeds.

    `folded` is the case-folded text. It is None if `bytes.lower`, which changes only ASCII, gives the same
    result, which halves the memory for most Chinese texts. Both have the same lines.
    """

    data: bytes
    folded: bytes | None

    @classmethod
    def of(cls, data: bytes, shown: Callable[[str], str] = str) -> Text:
        """Decode a file's bytes, and keep the text that `shown` returns. Invalid UTF-8 is replaced."""
        text = shown(nfc(decode(data)))
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        encoded = text.encode()
        folded = text.casefold().encode()
        return cls(encoded, None if folded == encoded.lower() else folded)

    def lines(self) -> list[str]:
        """Return the lines without their line feeds."""
        return self.data.decode().removesuffix("\n").split("\n")


class MatchWindow(Struct, frozen=True):
    """A matching line with the lines around it.

    Lines count from 1; `lines` begins with number `first_line`. `spans` are the matches in line `line`, as
    character offsets [start, end).
    """

    line: int
    first_line: int
    lines: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


class Needle:
    """The text to find; it must not be empty."""

    def __init__(self, query: str) -> None:
        require_unicode(query)
        self._text = nfc(query).casefold()
        self._bytes = self._text.encode()
        self._line = re.compile(re.escape(self._bytes) + rb"[^\n]*")
        self._has_letters = self._bytes.upper() != self._bytes

    def count(self, text: Text) -> int:
        """Count the matching lines."""
        if b"\n" in self._bytes:  # no line contains a line feed
            return 0
        folded = self._folded(text)
        # Most texts have no match, and `in` is faster than the regular expression.
        return len(self._line.findall(folded)) if self._bytes in folded else 0

    def windows(self, text: Text) -> Iterator[MatchWindow]:
        """Yield the matching lines in order."""
        folded, lines = self._folded(text), text.lines()
        number, counted = 1, 0
        for match in self._line.finditer(folded):
            number += folded.count(b"\n", counted, match.start())
            counted = match.start()
            yield self._window(lines, number)

    def _folded(self, text: Text) -> bytes:
        if text.folded is not None:
            return text.folded
        # A query without ASCII letters matches the same bytes before and after `bytes.lower`.
        return text.data.lower() if self._has_letters else text.data

    def _window(self, lines: list[str], number: int) -> MatchWindow:
        first = max(1, number - CONTEXT)
        around = lines[first - 1 : number + CONTEXT]
        spans = list(self._spans(lines[number - 1]))
        clipped, clipped_spans = _clip(lines[number - 1], spans)
        parts = [clipped if i == number else _clip(line, [])[0] for i, line in enumerate(around, first)]
        return MatchWindow(number, first, tuple(parts), tuple(clipped_spans))

    def _spans(self, line: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of the matches in the line before case folding.

        Case folding may turn one character into several; their matches count once.
        """
        offsets = [offset for offset, char in enumerate(line) for _ in char.casefold()]
        covered = 0
        for match in re.finditer(re.escape(self._text), line.casefold()):
            start, end = offsets[match.start()], offsets[match.end() - 1] + 1
            if start >= covered:
                yield start, end
                covered = end


def decode(data: bytes) -> str:
    """Decode a file's bytes without a byte order mark. Invalid UTF-8 is replaced."""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _clip(line: str, spans: list[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """Cut a line to `MAX_LINE` characters; returns it with the spans moved and cut to fit."""
    if len(line) <= MAX_LINE:
        return line, spans
    start = max(0, spans[0][0] - MAX_LINE // 2) if spans else 0
    end = start + MAX_LINE
    before, after = _CUT if start else "", _CUT if end < len(line) else ""
    shift = len(before) - start
    clipped = [(left + shift, min(right, end) + shift) for left, right in spans if left < end]
    return f"{before}{line[start:end]}{after}", clipped
