"""Plain-text matches, whatever their case, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qmd.config.validate import nfc, require_unicode

#: Lines before and after a match.
CONTEXT = 3
#: Characters of a line that are shown; of a longer one, those around the match or from the beginning.
MAX_LINE = 10_000
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Text:
    """A text made for searching: UTF-8 in NFC, lines ended by line feeds.

    `folded` is the text without differences of case, where `bytes.lower`, which knows ASCII alone, does not
    make it; most Chinese texts take half the memory for that. Both have the same lines.
    """

    data: bytes
    folded: bytes | None

    @classmethod
    def of(cls, data: bytes) -> Text:
        """The text of a file's bytes; those that are not UTF-8 are replaced."""
        text = nfc(decode(data))
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        encoded = text.encode()
        folded = text.casefold().encode()
        return cls(encoded, None if folded == encoded.lower() else folded)

    def lines(self) -> list[str]:
        """The lines, without what ends them."""
        return self.data.decode().removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True)
class Window:
    """A match with the lines around it. Lines count from 1; `lines` begins with number `first_line`.

    `spans` are the characters [start, end) of line number `line` that match.
    """

    line: int
    first_line: int
    lines: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


class Needle:
    """What is looked for, which is not empty."""

    def __init__(self, query: str) -> None:
        require_unicode(query)
        self._text = nfc(query).casefold()
        self._bytes = self._text.encode()
        self._line = re.compile(re.escape(self._bytes) + rb"[^\n]*")
        self._has_letters = self._bytes.upper() != self._bytes

    def count(self, text: Text) -> int:
        """How many lines match."""
        if b"\n" in self._bytes:  # no line holds one
            return 0
        folded = self._folded(text)
        # Most texts hold nothing of it: that is told faster than by the expression.
        return len(self._line.findall(folded)) if self._bytes in folded else 0

    def windows(self, text: Text) -> Iterator[Window]:
        """The matching lines, from the first."""
        folded, lines = self._folded(text), text.lines()
        number, counted = 1, 0
        for match in self._line.finditer(folded):
            number += folded.count(b"\n", counted, match.start())
            counted = match.start()
            yield self._window(lines, number)

    def _folded(self, text: Text) -> bytes:
        if text.folded is not None:
            return text.folded
        # What `bytes.lower` would change is no part of a query without ASCII letters.
        return text.data.lower() if self._has_letters else text.data

    def _window(self, lines: list[str], number: int) -> Window:
        first = max(1, number - CONTEXT)
        around = lines[first - 1 : number + CONTEXT]
        spans = list(self._spans(lines[number - 1]))
        shown, cut = _clipped(lines[number - 1], spans)
        parts = [shown if first + at == number else _clipped(line, [])[0] for at, line in enumerate(around)]
        return Window(number, first, tuple(parts), tuple(cut))

    def _spans(self, line: str) -> Iterator[tuple[int, int]]:
        """Where the line matches. Folding may make several characters of one, which then counts once."""
        owners = [at for at, char in enumerate(line) for _ in char.casefold()]
        covered = 0
        for match in re.finditer(re.escape(self._text), line.casefold()):
            start, end = owners[match.start()], owners[match.end() - 1] + 1
            if start >= covered:
                yield start, end
                covered = end


def decode(data: bytes) -> str:
    """A file's text; bytes that are not UTF-8 are replaced."""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _clipped(line: str, spans: list[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """As much of a line as is shown, and the spans in that."""
    if len(line) <= MAX_LINE:
        return line, spans
    start = max(0, spans[0][0] - MAX_LINE // 2) if spans else 0
    end = start + MAX_LINE
    before, after = _CUT if start else "", _CUT if end < len(line) else ""
    moved = len(before) - start
    inside = [(left + moved, min(right, end) + moved) for left, right in spans if left < end]
    return f"{before}{line[start:end]}{after}", inside
