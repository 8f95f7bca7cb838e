"""Read a file in this process."""

from __future__ import annotations

import errno
import os
from hashlib import sha256
from stat import S_ISREG

from msgspec import Struct

from qmd.errors import SourceError
from qmd.sources.decoding import decode
from qmd.sources.formats.base import Unreadable
from qmd.sources.paths import in_words
from qmd.sources.root import Root
from qmd.text.authorship import stated
from qmd.types import UTF_8, Decoding, Extracted, Fingerprint, SourceFile, SourceText

MAX_BYTES = 50 * 1024 * 1024

# Opening must not wait for the writer of a FIFO or acquire a terminal. O_BINARY is for Windows.
_OPEN = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    _OPEN |= getattr(os, _flag, 0)


class Outcome(Struct, frozen=True):
    """A file that was read.

    Attributes:
        file: The file.
        documents: (key, content) of each document; a key is "" except in containers.
        fingerprint: The state of the file before it was read.
        error: Why there are no documents.
        failure: Why its format cannot read it, if that is the error.
        without: (key, why) of documents of a container that cannot be read.
    """

    file: SourceFile
    documents: tuple[tuple[str, SourceText], ...] = ()
    fingerprint: Fingerprint | None = None
    error: SourceError | None = None
    failure: Unreadable | None = None
    without: tuple[tuple[str, Unreadable], ...] = ()


def failed(file: SourceFile, error: Unreadable) -> Outcome:
    """Return the outcome for a file that its format cannot read."""
    problem = SourceError(f"cannot read {file.path}: {error}", "exclude it with an ignore glob")
    return Outcome(file, error=problem, failure=error)


def read_raw(
    file: SourceFile,
    encoding: str | None = None,
    max_bytes: int = MAX_BYTES,
    root: Root | None = None,
    beside: str = "",
) -> tuple[RawBytes, Fingerprint]:
    """Return the bytes of a file, and its fingerprint before reading.

    The text of a text format is decoded when it is asked for; see `qmd.sources.decoding`. It may be blank.
    With a `root`, the file is not read if there is now a link on the way to it. `beside` is what the name of
    a second file ends with that belongs to it, if there is one; the fingerprint is that of both. Raises
    `SourceError` if the file cannot be read, is no regular file, or is larger than `max_bytes`.
    """
    try:
        data, fingerprint = _read(file.path, file.absolute, max_bytes, root)
        second = _second(file, beside, max_bytes, root, fingerprint) if beside else None
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {file.path}: {in_words(error)}") from error
    if second is None:
        return RawBytes(file.path, data, encoding), fingerprint
    return RawBytes(file.path, data, encoding, second[0]), together(fingerprint, second[1])


def to_source(found: Extracted, decoding: Decoding = UTF_8) -> SourceText:
    """Return the content of a document as it is stored."""
    author, date = stated(found.fields)
    digest = sha256(found.text.encode()).hexdigest()
    return SourceText(
        found.text,
        digest,
        found.title,
        author,
        date,
        decoding,
        found.fields,
        found.links,
        found.anchors,
        found.omitted,
        found.structure,
    )


class RawBytes:
    """A file in memory; see `RawFile`. `decoding` says how its text was decoded."""

    def __init__(self, path: str, data: bytes, encoding: str | None = None, beside: bytes = b"") -> None:
        self._encoding = encoding
        self.path = path
        self.data = data
        self.beside = beside
        self.decoding = UTF_8

    def text(self, charset: str = "") -> str:
        text, self.decoding = decode(self.path, self.data, self._encoding, charset)
        return text


def together(one: Fingerprint, other: Fingerprint) -> Fingerprint:
    """Return the fingerprint of two files that are one."""
    return Fingerprint(one.size + other.size, max(one.mtime_ns, other.mtime_ns), one.inode)


def _second(
    file: SourceFile, ending: str, max_bytes: int, root: Root | None, first: Fingerprint
) -> tuple[bytes, Fingerprint] | None:
    """Return the file beside a file; None if there is none. Raises `OSError` if the file has changed."""
    try:
        found = _read(file.path + ending, file.absolute + ending, max_bytes, root)
    except FileNotFoundError:
        found = None
    status = os.stat(file.absolute, follow_symlinks=False) if root is None else root.stat(file.absolute)
    if Fingerprint.of(status) != first:
        raise OSError(errno.EAGAIN, "it is being written")
    return found


def _read(path: str, absolute: str, max_bytes: int, root: Root | None) -> tuple[bytes, Fingerprint]:
    descriptor = os.open(absolute, _OPEN) if root is None else root.open(absolute, _OPEN)
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            raise SourceError(f"cannot read {path}: not a regular file")
        parts = []
        room = max_bytes + 1 if status.st_size <= max_bytes else 0
        while room and (part := os.read(descriptor, min(room, max(status.st_size + 1, 4096)))):
            parts.append(part)
            room -= len(part)
            if len(part) == status.st_size:
                break  # asking for more costs as much as reading a short file
        if not room:
            raise SourceError(
                f"cannot read {path}: larger than {max_bytes / 1024 / 1024:.3g} MB",
                "split the file, or exclude it with an ignore glob",
            )
    finally:
        os.close(descriptor)
    # The state before reading, so that the next scan notices a change during reading.
    return b"".join(parts), Fingerprint.of(status)
