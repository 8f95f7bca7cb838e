"""Packs and citations as values: passages for a goal, passages that are cited, and what became of them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from qmd.types.notes import Note
from qmd.types.search import Stage
from qmd.types.sessions import AgentSession
from qmd.types.states import DocumentState


class PackedPassage(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A passage of a pack, which is a part of a document as it stands there."""

    number: int
    file: str
    place: str  #: The lines, `12-30`, or the place in the source file, `p12`
    first_line: int
    last_line: int
    hash: str  #: The short hash of its text
    section: str = ""  #: The headings above it, as `Operations > Backups`
    date: str = ""  #: The day of the document, as `2026-03-07`; "" if it is only that of the file
    state: DocumentState | None = None  #: The state of the document, unless it is current
    score: float = 0.0  #: How likely its document answers the question that it is for, 0..1
    also: tuple[str, ...] = ()  #: The addresses of copies and near copies, which are left out
    again: bool = False  #: Whether the session was given it before, so that the text is not repeated
    session: AgentSession | None = None  #: The session of a coding agent whose transcript it is from
    text: str = ""

    @property
    def notes(self) -> list[Note]:
        """The notes on its document."""
        values = (getattr(self, name) for name in self.__struct_fields__)
        return [value for value in values if isinstance(value, Note)]

    @property
    def address(self) -> str:
        """The address, as `get` takes it: `notes/a.md:12-30`."""
        return f"{self.file}:{self.place}"


class Pack(Struct, frozen=True):
    """The passages for a goal, in reading order by document, and what was not found."""

    goal: str
    id: str  #: Names its passages; the same passages have the same
    passages: tuple[PackedPassage, ...]
    missing: tuple[str, ...]  #: Words of the goal that no document has
    unanswered: tuple[str, ...]  #: The questions of the goal that nothing seems to answer
    more: int  #: How many relevant passages were left out because of the limit
    unchanged: int  #: How many were left out because they are in the pack since which it is
    tokens: int  #: The most tokens that it has as it is shown
    stages: tuple[Stage, ...]


#: holds: as cited. moved: it stands elsewhere in the document. inexact: the same words, with other case or
#: punctuation, or a negation at their edge is left out. changed: similar words. absent: nothing like it, or
#: there is no such document or place. ambiguous: several places or documents. unchecked: the time was up.
Standing = Literal["holds", "moved", "inexact", "changed", "absent", "ambiguous", "unchecked"]


#: The first and the last line of a place, counted from 1.
Lines = tuple[int, int]


class Verdict(Struct, frozen=True):
    """The place of a passage in a text.

    Attributes:
        standing: Whether it stands there.
        lines: The first and the last line of the place, or of the nearest text; None if there is none.
        text: The text of the place, or the nearest text.
        difference: What differs, as `[-quoted-] {+in the text+}` between words that are the same.
        reason: What is different, in a phrase; "" if nothing is, not even a space.
        places: The lines of all places, if there are several.
    """

    standing: Standing
    lines: Lines | None = None
    text: str = ""
    difference: str = ""
    reason: str = ""
    places: tuple[Lines, ...] = ()


class CitationCheck(Struct, frozen=True):
    """A citation of a text, and whether it holds; if quotations belong to it, there is one for each.

    Attributes:
        line: The line of the citation in the text that was checked, counted from 1.
        column: The character in the line, counted from 1.
        citation: The citation as written.
        standing: What became of it. All but `holds` are failures.
        message: The same in a sentence.
        quote: The quotation that belongs to it; None if there is none, so that only the place was checked.
        file: The display path of the document; None if there is none, or several.
        address: The reference of the place where the passage stands, for `get`; None if there is none.
        first_line: The first line of the place in the document.
        last_line: The last line of the place.
        text: The words at that place; if the quotation does not stand there, the nearest ones.
        difference: What differs, as `[-quoted-] {+in the document+}`.
        candidates: The documents or addresses that it could be, if it is ambiguous.
        start: The offset of the citation in the text that was checked.
        end: The offset after it.
        replacement: The citation with the right place, if it moved and can be rewritten.
    """

    line: int
    column: int
    citation: str
    standing: Standing
    message: str
    quote: str | None
    file: str | None
    address: str | None
    first_line: int | None
    last_line: int | None
    text: str
    difference: str
    candidates: tuple[str, ...]
    start: int
    end: int
    replacement: str | None


class CitationReport(Struct, frozen=True):
    """The citations of a text in order, and the number of quotations that belong to none of them."""

    checks: tuple[CitationCheck, ...]
    uncited: int = 0

    @property
    def failed(self) -> tuple[CitationCheck, ...]:
        """The checks of citations that do not hold."""
        return tuple(check for check in self.checks if check.standing != "holds")

    def fixed(self, text: str) -> str:
        """Return the text that was checked with the right places of moved citations."""
        pieces, at = [], 0
        for (start, end), replacement in sorted(
            {(check.start, check.end): check.replacement for check in self.checks}.items()
        ):
            if replacement is not None:
                pieces += [text[at:start], replacement]
                at = end
        return "".join([*pieces, text[at:]])
