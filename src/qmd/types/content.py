"""The content of a file, as formats extract it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from qmd.types.structure import Structure

#: The field `format` of Markdown documents.
MARKDOWN = "markdown"
#: The version of what is read from a file; files are read again if it differs.
#: 2: fields of nested maps, TOML and JSON; tags and links outside indented code and HTML
#: 3: code, comments and headings in lists and quotes
#: 4: text with invalid bytes, and in charsets that were not known before
#: 5: dates, comments and highlighted code as other programs write them
#: 6: properties and links as other programs write them
#: 7: blocks and links by a parser of CommonMark
#: 8: fields in lines without `---` around them, tags of several words, drawings
MARKDOWN_VERSION = 8

LinkKind = Literal["wikilink", "markdown", "embed", "url"]


class Link(Struct, frozen=True):
    """A link in a document: its target as written, its text, and its line, counted from 1."""

    target: str
    text: str
    line: int
    kind: LinkKind


class Anchor(Struct, frozen=True):
    """A place in the source file where a line of the text begins, such as page 12 or cell 4.

    `kind` is a word in lower case. The places of a document have one kind, and their values increase.
    """

    line: int
    kind: str
    value: int

    @property
    def address(self) -> str:
        """The place as references write it after a path, such as `p12`."""
        return f"{self.kind[0]}{self.value}"


class Snippet(Struct, frozen=True):
    """A passage of a document for a query."""

    text: str  #: The passage as in the file
    first_line: int  #: The line number of the passage's first line in the file
    line: int  #: The line number of the first line with a match
    section: str = ""  #: The headings above the line, as `Operations > Backups`
    score: float = 0.0  #: How well it matches compared with the document's other passages, 0..1
    fences: tuple[tuple[int, int], ...] = ()  #: [start, end) of code in it


class Extracted(Struct, frozen=True):
    """The content of a source file.

    Attributes:
        text: The text that is indexed, chunked and shown.
        title: The title, in one line.
        fields: Values by field name. Dates have the form `2024-03-07` or `2024-03-07T10:00:00`.
        links: The links in order.
        anchors: Places in the source file, by line; empty if lines of the text are lines of the file.
        omitted: What was left out because of limits or errors, a phrase each.
        structure: The structure of the text; None if the text is Markdown and is to be read as such.
    """

    text: str
    title: str
    fields: Mapping[str, tuple[str | float | bool, ...]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    omitted: tuple[str, ...] = ()
    structure: Structure | None = None


class Decoding(Struct, frozen=True):
    """The way in which the bytes of a file became text.

    Attributes:
        charset: The charset, `utf-8` for formats that are not text.
        doubtful: Whether it is a guess that may be wrong.
        zeros: The number of NUL characters that were replaced by spaces.
        invalid: The number of places with bytes that did not fit it.
        lines: The first lines with such places.
    """

    charset: str = "utf-8"
    doubtful: bool = False
    zeros: int = 0
    invalid: int = 0
    lines: tuple[int, ...] = ()


UTF_8 = Decoding()


class Indexed(Struct, frozen=True):
    """What stores keep of a document to find it by its words; see `qmd.text.indexing`."""

    forms: tuple[str, str, str]  #: The terms of its names, text and path, joined by spaces
    structure: bytes  #: The structure of its text, packed; see `qmd.text.layout`
    language: str | None = None  #: The language that the text states, is configured or is found to be in


class SourceText(Struct, frozen=True):
    """The decoded text of a file, and properties from its content."""

    text: str  #: The text without byte-order mark, with line feeds as line ends
    hash: str  #: The SHA-256 of the text, in hexadecimal
    title: str
    author: str = ""  #: The author in the front matter, or ""
    date: str = ""  #: The date in the front matter, or ""
    decoding: Decoding = UTF_8
    #: Values by field name.
    fields: Mapping[str, tuple[str | float | bool, ...]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()  #: The links in order
    anchors: tuple[Anchor, ...] = ()  #: Places in the source file, in order
    omitted: tuple[str, ...] = ()  #: What was left out, a phrase each
    structure: Structure | None = None  #: Its structure; None if the text is Markdown that was not read yet
