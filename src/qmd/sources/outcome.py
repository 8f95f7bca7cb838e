"""The outcome of reading a file: its documents or an error."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from qmd.errors import SourceError
from qmd.sources.formats.base import NO_TEXT, Unreadable
from qmd.sources.read import unreadable
from qmd.types import Fingerprint, SourceFile, SourceText


class Outcome(Struct, frozen=True):
    """A file that was read.

    Attributes:
        file: The file.
        documents: (key, content) of each document; a key is "" except in containers.
        fingerprint: The state of the file before it was read.
        error: Why there are no documents.
        reason: The reason in a few words, if reading the unchanged file again would fail again.
    """

    file: SourceFile
    documents: tuple[tuple[str, SourceText], ...] = ()
    fingerprint: Fingerprint | None = None
    error: SourceError | None = None
    reason: str = ""


def failed(file: SourceFile, error: Unreadable) -> Outcome:
    """Return the outcome for a file that a format in a child process cannot read."""
    return Outcome(file, error=unreadable(file.path, error), reason=error.reason)


def finished(file: SourceFile, found: Iterable[tuple[str, SourceText]], fingerprint: Fingerprint) -> Outcome:
    """Return the outcome for a file that a child process has read."""
    documents = tuple((key, source) for key, source in found if source.text.strip())
    return Outcome(file, documents, fingerprint) if documents else failed(file, Unreadable(NO_TEXT))
