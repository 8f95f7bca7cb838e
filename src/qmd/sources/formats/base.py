"""The protocol of source formats, and the reasons why a file cannot be read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from qmd.types import Extracted

#: Reasons for `Unreadable`.
DAMAGED = "damaged"
ENCRYPTED = "encrypted"
NO_TEXT = "no text"
SCAN = "no text layer (scan)"
TOO_LARGE = "too large"
TOO_SLOW = "too slow"
READER_FAILED = "reader failed"
NOT_INSTALLED = "a package is missing"
#: The detail of a file whose reader ended.
CRASHED = "its reader crashed, or needed too much memory"
#: Reasons that pass: with another load of the machine, or more memory, the same file may be read.
PASSING = frozenset({TOO_SLOW, NOT_INSTALLED, CRASHED})
#: Reasons of files that were read: text of an earlier state is not in them any more.
EMPTY = frozenset({NO_TEXT, SCAN})

#: The longest detail, and the longest traceback.
_MAX_DETAIL, _MAX_TRACE = 200, 4_000
#: Errors of our own code if it does not expect the content of a file. Libraries raise it for damaged files.
_FAULTS = (AssertionError, AttributeError, IndexError, KeyError, NameError, TypeError, ZeroDivisionError)

#: The largest text of one document, in characters.
MAX_TEXT = 10_000_000
#: The most anchors of one document. Later ones are left out.
MAX_ANCHORS = 100_000


class Unreadable(Exception):  # noqa: N818 - a state of the file rather than an error of qmd
    """A file cannot be read.

    Args:
        reason: Why, in a few words that are the same for all such files.
        detail: More about this file.
        trace: The traceback, if the reader is at fault.
    """

    def __init__(self, reason: str, detail: str = "", trace: str = "") -> None:
        detail = " ".join(detail.split())[:_MAX_DETAIL]  # messages of libraries may have several lines
        text = f"{reason} ({detail})" if detail else reason
        super().__init__(f"{reason}: {detail}, this is a fault of qmd" if reason == READER_FAILED else text)
        self.reason = reason
        self.detail = detail
        self.trace = trace

    @property
    def passes(self) -> bool:
        """True if another attempt may succeed."""
        return not PASSING.isdisjoint((self.reason, self.detail))


def failure(error: Exception) -> Unreadable:
    """Return why a format could not read a file; the reason is "" if that is the file or another package."""
    detail = f"{type(error).__name__}: {error}"
    if isinstance(error, ImportError):
        return Unreadable(NOT_INSTALLED, detail)
    import traceback  # files are mostly read without a fault

    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    if isinstance(error, _FAULTS) and frame.f_globals.get("__name__", "").startswith("qmd."):
        return fault(error)
    return Unreadable("", detail)


def fault(error: Exception) -> Unreadable:
    """Return why our own code could not deal with a file."""
    import traceback

    trace = "".join(traceback.format_exception(error))
    return Unreadable(READER_FAILED, f"{type(error).__name__}: {error}", trace[-_MAX_TRACE:])


class RawFile(Protocol):
    """A file as it is read from the disk."""

    @property
    def path(self) -> str:
        """The path inside the collection, with forward slashes."""

    @property
    def data(self) -> bytes:
        """The bytes of the file."""

    @property
    def beside(self) -> bytes:
        """The bytes of the second file that belongs to it, if its format has such files."""

    def text(self, charset: str = "") -> str:
        """Return the decoded text, with line feeds as line ends.

        Args:
            charset: The charset that the file declares. It is used before guessing, if the text is not UTF-8.

        Raises:
            SourceError: If the bytes are not text.
        """


@runtime_checkable
class Format(Protocol):
    """A source format: a module or an object.

    A format of files that contain several documents also has a method `extract_all`, see `Container`. One
    of another package may have a `source_type`, the media type of its files.

    Attributes:
        name: The value of the field `format` of its documents.
        version: A number from 1. Files are read again if it differs from the version that read them.
        media_type: The media type of the extracted text: `text/markdown` or `text/plain`.
    """

    name: str
    version: int
    media_type: str

    def extract(self, file: RawFile) -> Extracted:
        """Return the content of a file.

        An exception leaves out this file and is reported: as it is if it is `Unreadable`.
        """


@runtime_checkable
class Container(Format, Protocol):
    """A format of files that contain several documents, such as mailboxes."""

    def extract_all(self, file: RawFile) -> Iterable[tuple[str, Extracted | Unreadable]]:
        """Yield (key, content) of each document. Its path is that of the file with `#key`.

        An `Unreadable` in place of the content leaves this document as it was indexed, and is reported. Keys
        are not empty, have no `#`, and stay the same while other documents of the file change.
        """


def extracted(part: Format, file: RawFile) -> Iterable[tuple[str, Extracted | Unreadable]]:
    """Yield (key, content) of each document of a file. A key is "" except in containers."""
    # Comparing an object with a protocol takes longer than reading a short file.
    extract_all = getattr(part, "extract_all", None)
    return extract_all(file) if extract_all else [("", part.extract(file))]
