"""What the reader of a format finds in a text that stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from qmd.text.regex import lazy
from qmd.text.spans import Closed, apart
from qmd.types.structure import Edit, Heading, Span, Structure

#: A hyphen at the end of a line, in a word.
_HYPHEN = lazy(r"-\n(?<=[^\W\d_]-\n)[ \t]*+(?=[^\W\d_])")


class Parts:
    """The parts of a text, in any order; `structure` brings them together."""

    def __init__(self) -> None:
        self.body = 0
        self.headings: list[Heading] = []
        self.verbatim: list[Span] = []
        self.unread: list[Span] = []
        self.edits: list[Edit] = []
        self.rules: list[int] = []
        self.markdown = False  # whether parts are Markdown

    def markup(self, spans: Iterable[Span]) -> None:
        """Add the [start, end) of marks, such as the address of a link around its words."""
        self.edits += [Edit(start, end, "markup") for start, end in spans if start < end]

    def marks(self, pattern: re.Pattern[str], text: str, start: int) -> None:
        """Add the marks around words, the second group of the matches in a part of the text."""
        for match in pattern.finditer(text):
            around = (match.start(), match.start(2)), (match.end(2), match.end())
            self.markup((start + low, start + high) for low, high in around)

    def shifted(self, structure: Structure, start: int, below: int) -> None:
        """Add the structure of a part of the text that begins at `start`, its headings `below` by levels."""
        self.markdown = True
        for each in structure.headings:
            level = min(each.level + below, 6)
            low, high = each.low + start, each.high + start
            self.headings.append(each._replace(start=each.start + start, level=level, low=low, high=high))
        self.verbatim += _shifted(structure.verbatim_spans(), start)
        self.unread += _shifted(structure.unread_spans(), start)
        self.edits += [Edit(low + start, high + start, kind) for low, high, kind in structure.all_edits()]
        self.rules += [place + start for place in structure.rule_places()]

    def structure(self, text: str) -> Structure:
        """Return the structure of the text."""
        closed = Closed([*self.verbatim, *self.unread])
        hyphens = [Edit(*match.span(), "hyphen") for match in closed.matches(_HYPHEN, text, self.body)]
        edits, at = list[Edit](), 0
        for edit in sorted([*self.edits, *hyphens]):
            if edit.start >= at:
                edits.append(edit)
                at = edit.end
        return Structure.of(
            self.body,
            sorted(self.headings),
            apart(self.verbatim),
            apart(self.unread),
            edits,
            sorted(self.rules),
            markdown=self.markdown,
        )


def numbered_lines(text: str, start: int = 0) -> Iterator[tuple[int, int, str]]:
    """Yield (number from 1, place, line) of the lines of a text that begin at `start` or after it."""
    at = 0
    for number, line in enumerate(text.split("\n"), 1):
        if at >= start:
            yield number, at, line
        at += len(line) + 1


def _shifted(spans: Iterable[Span], start: int) -> list[Span]:
    return [(low + start, high + start) for low, high in spans]
