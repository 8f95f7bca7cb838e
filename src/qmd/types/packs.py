"""A pack: the evidence for a goal, as passages of documents."""

from __future__ import annotations

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
    date: str = ""  #: The day of the document, as `2026-03-07`
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
