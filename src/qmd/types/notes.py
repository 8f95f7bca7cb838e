"""Notes: what there is to say of a hit or a document beside its text, such as its state.

A kind of note is a class, with a row in the table `qmd.notes` (`qmd.engine.documents.notes`) if documents
have it. Faces print notes by what is here, without knowing the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from msgspec import Struct

from qmd.types.content import Snippet

#: A line for people: its heading, its text, and how that is written. A `name` may have any characters, and a
#: `command` is never wrapped, so that it can be copied.
Row: TypeAlias = tuple[str, str, Literal["text", "aside", "name", "command"]]


class Note(Struct, frozen=True, omit_defaults=True):
    """Base class of the kinds of notes. The fields are those of its object in JSON.

    Attributes:
        key: The name in JSON, of columns, and of attributes.
        label: What stands before its line in lists.
        nothing: What stands in its column for documents without one.
        quotes: Whether it quotes a passage, so that it follows those of the hit.
        apart: Whether it has more than a remark, so that it stands behind others and below a hit on the page.
    """

    key: ClassVar[str]
    label: ClassVar[str] = ""
    nothing: ClassVar[Any] = None
    quotes: ClassVar[bool] = False
    apart: ClassVar[bool] = False

    @property
    def line(self) -> str:
        """The note in one line; "" if its name says everything."""
        return ""

    @property
    def said(self) -> str:
        """Its text in a list of notes."""
        return " ".join(filter(None, (self.label, self.line)))

    @property
    def rows(self) -> tuple[Row, ...]:
        """The line for people above the text."""
        return ((self.key.replace("_", " ").capitalize(), self.line, "text"),)

    @property
    def remark(self) -> str:
        """The words for people beside the score."""
        return ""

    @property
    def sentence(self) -> str:
        """What people are told of a document whose text goes elsewhere, after its name: `is a draft`."""
        return ""

    @property
    def warns(self) -> bool:
        """True if an agent must know it before it reads the text."""
        return False

    @property
    def data(self) -> Any:
        """The value in JSON."""
        return self

    @property
    def cell(self) -> Any:
        """The value in a column."""
        return self.line or True

    def addressed(self, address: Callable[[str], str]) -> Self:
        """Return the note with the addresses of the documents that it lists, in place of their paths."""
        return self

    def inert(self, address: Callable[[str], str], text: Callable[[str], str]) -> Self:
        """Return the note with its paths and texts of others as these functions write them."""
        return self


class Pin(Note, frozen=True):
    """The user pinned the document to the query."""

    key = "pinned"
    label = "pinned"
    nothing = False

    @property
    def rows(self) -> tuple[Row, ...]:
        return ()

    @property
    def remark(self) -> str:
        return "pinned to this query"

    @property
    def data(self) -> bool:
        return True


class Copies(Note, frozen=True):
    """Other documents have the same text."""

    key = "also"
    label = "also"
    nothing = ()

    files: tuple[str, ...]

    @property
    def line(self) -> str:
        return ", ".join(self.files)

    @property
    def rows(self) -> tuple[Row, ...]:
        return (("Also", self.line, "name"),)

    @property
    def data(self) -> tuple[str, ...]:
        return self.files

    @property
    def cell(self) -> tuple[str, ...]:
        return self.files

    def addressed(self, address: Callable[[str], str]) -> Copies:
        return Copies(tuple(map(address, self.files)))


class Source(Note, frozen=True):
    """The passage of the document asked about that a hit is similar to."""

    key = "similar_to"
    quotes = True

    passage: Snippet

    @property
    def line(self) -> str:
        return ", ".join(filter(None, (f"line {self.passage.line}", self.passage.section)))

    @property
    def rows(self) -> tuple[Row, ...]:
        return (("Similar to", self.line, "aside"),)

    @property
    def data(self) -> Snippet:
        return self.passage


class Stale(Note, frozen=True):
    """The file of a document is not as it was indexed: it is gone, or has changed."""

    key = "stale"

    file: Literal["gone", "changed"]

    @property
    def line(self) -> str:
        return "its file is gone" if self.file == "gone" else "its file has changed since it was indexed"

    @property
    def said(self) -> str:
        return self.line

    @property
    def sentence(self) -> str:
        what = "gone" if self.file == "gone" else "changed"
        return f"is {what} on the disk since it was indexed: 'qmd update' or --fresh reads it"

    @property
    def warns(self) -> bool:
        return True

    @property
    def data(self) -> str:
        return self.file

    @property
    def cell(self) -> str:
        return self.file


Noted = TypeVar("Noted", bound=Note)
Keyed = TypeVar("Keyed", bound=Note | type[Note])

#: The kinds of notes that searches make, and documents do not have by themselves.
OF_SEARCHES: tuple[type[Note], ...] = (Pin, Copies, Source)
#: What each face shows, in the order that programs know. Kinds that stand nowhere here follow on each.
ORDERS: Mapping[str, str] = {
    "hit": "state pinned also session similar_to",
    "document": "session state",
    "list": "pinned state also session",
    "people": "state similar_to session also pinned",
    "page": "state session",
    "markdown": "state pinned also",
    "attributes": "pinned state also",
    "columns": "pinned also state",
}
#: Columns that are there if any of them has a value.
TOGETHER = ("pinned", "also")
_ORDERED = {key for order in ORDERS.values() for key in order.split()}


def shown(notes: Sequence[Keyed], face: str) -> list[Keyed]:
    """Return the notes, or the kinds of notes, that a face shows, in its order."""
    order = ORDERS[face].split()
    more = [note for note in notes if note.key not in _ORDERED]
    return [note for key in order for note in notes if note.key == key] + more


def first(notes: Iterable[Note], kind: type[Noted]) -> Noted | None:
    """Return the note of a kind; None if there is none."""
    return next((note for note in notes if isinstance(note, kind)), None)
