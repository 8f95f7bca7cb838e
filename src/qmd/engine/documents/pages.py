"""Documents that were read."""

from __future__ import annotations

from msgspec import Struct

from qmd.types import Anchor, Commit, Document
from qmd.types.notes import Note, first
from qmd.types.sessions import AgentSession
from qmd.types.states import CURRENT, DocumentState


class Page(Struct, frozen=True):
    """A document's text, or some lines of it."""

    document: Document
    context: str | None
    text: str
    first_line: int  #: The number of the text's first line, from 1
    total_lines: int
    more: int  #: The number of lines that follow the text
    counted: bool = False  #: True if the reference itself gives the number of lines (`:from:count`)
    anchor: Anchor | None = None  #: The place in the source file that the first line comes from
    source_type: str = ""  #: The media type of the source file; "" if it is not known
    media_type: str = "text/markdown"  #: The media type of the text
    anchors: tuple[Anchor, ...] = ()  #: The places in the source file, by the lines of the whole document
    fences: tuple[tuple[int, int], ...] = ()  #: The spans of code in the text
    notes: tuple[Note, ...] = ()  #: What there is to say of it beside its text
    note: str = ""  #: What was left out of the text to stay within a number of tokens
    commit: Commit | None = None  #: The commit that the text is from, if it is that of a date
    #: Since when the file could not be read, if its text is that of before
    unread_since: str = ""

    @property
    def state(self) -> DocumentState:
        """Whether the document is still the present word."""
        return first(self.notes, DocumentState) or CURRENT

    @property
    def session(self) -> AgentSession | None:
        """The session of a coding agent whose transcript it is."""
        return first(self.notes, AgentSession)

    @property
    def whole(self) -> bool:
        """True if the text is the whole document, including its last line feed."""
        return self.first_line == 1 and not self.more


class Skipped(Struct, frozen=True):
    """A document that was not read because it is larger than the limit."""

    document: Document
    bytes: int

    @property
    def kilobytes(self) -> int:
        """The document's size in kilobytes, at least 1."""
        return max(1, round(self.bytes / 1024))


class Pages(Struct, frozen=True):
    """The result of `multi_get`: documents in order, and error messages for names without a document.

    `left_out` are the documents after the total size reached its limit, and `note` says what was left out to
    stay within a number of tokens.
    """

    items: tuple[Page | Skipped, ...]
    errors: tuple[str, ...]
    left_out: tuple[Document, ...] = ()
    note: str = ""
