"""The protocol of source formats."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from qmd.types import Extracted


class RawFile(Protocol):
    """A file as it is read from the disk."""

    @property
    def path(self) -> str:
        """The path inside the collection, with forward slashes."""

    @property
    def data(self) -> bytes:
        """The bytes of the file."""

    def text(self) -> str:
        """Return the decoded text, with line feeds as line ends; the charset is detected.

        Raises:
            SourceError: If the bytes are not text.
        """


@runtime_checkable
class Format(Protocol):
    """A source format: a module or an object.

    Attributes:
        name: The value of the field `format` of its documents.
        version: A number from 1. Files are read again if it differs from the version that read them.
        media_type: The media type of the extracted text: `text/markdown` or `text/plain`.
    """

    name: str
    version: int
    media_type: str

    def extract(self, file: RawFile) -> Extracted:
        """Return the content of a file. An exception leaves out this file and is reported."""
