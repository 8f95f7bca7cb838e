"""Read a file."""

from __future__ import annotations

import os
import unicodedata
from hashlib import sha256
from stat import S_ISREG

from qmd.errors import SourceError
from qmd.sources.decoding import decode
from qmd.sources.formats import registry
from qmd.sources.formats.base import Unreadable
from qmd.sources.problems import in_words
from qmd.sources.root import Root
from qmd.text.authorship import stated
from qmd.types import UTF_8, Decoding, Extracted, Fingerprint, SourceFile, SourceText

MAX_BYTES = 50 * 1024 * 1024

# Opening must not wait for the writer of a FIFO or acquire a terminal. O_BINARY is for Windows.
_OPEN = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    _OPEN |= getattr(os, _flag, 0)


def read_raw(
    file: SourceFile, encoding: str | None = None, max_bytes: int = MAX_BYTES, root: Root | None = None
) -> tuple[RawBytes, Fingerprint]:
    """Return the bytes of a file, and its fingerprint before reading.

    The text of a text format is decoded when it is asked for; see `qmd.sources.decoding`. It may be blank.
    With a `root`, the file is not read if there is now a link on the way to it. Raises `SourceError` if the
    file cannot be read, is no regular file, or is larger than `max_bytes`.
    """
    try:
        data, fingerprint = _read(file, max_bytes, root)
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {file.path}: {in_words(error)}") from error
    return RawBytes(file.path, data, encoding), fingerprint


def extract(reader: registry.Reader, raw: RawBytes) -> list[tuple[str, Extracted]]:
    """Return (key, content) of each document of a file. Raises `SourceError` if the format fails."""
    try:
        return registry.extract(reader, raw)
    except Unreadable as error:
        raise unreadable(raw.path, error) from error


def unreadable(path: str, error: Unreadable) -> SourceError:
    """Return the error for a file that a format cannot read. Messages of libraries may have several lines."""
    reason = " ".join(str(error).split())
    return SourceError(f"cannot read {path}: {reason}", "Exclude it with an ignore glob.")


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
    )


class RawBytes:
    """A file in memory; see `RawFile`. `decoding` says how its text was decoded."""

    def __init__(self, path: str, data: bytes, encoding: str | None = None) -> None:
        self._encoding = encoding
        self.path = path
        self.data = data
        self.decoding = UTF_8

    def text(self, charset: str = "") -> str:
        text, self.decoding = decode(self.path, self.data, self._encoding, charset)
        return text


def absolute_path(root: str, path: str) -> str:
    """Return the absolute path of a file. Unlike `path`, the names on the disk need not be in NFC."""
    absolute = root
    for name in path.split("/"):
        exact = os.path.join(absolute, name)
        absolute = exact if os.path.lexists(exact) else os.path.join(absolute, _name_on_disk(absolute, name))
    return absolute


def _name_on_disk(folder: str, name: str) -> str:
    """Return the entry of a folder that equals `name` in NFC, or `name` if there is none."""
    return next((other for other in entries_of(folder) if unicodedata.normalize("NFC", other) == name), name)


def entries_of(folder: str) -> list[str]:
    """Return the names in a folder; [] if it cannot be listed."""
    try:
        return os.listdir(folder)
    except (OSError, ValueError):
        return []


def _read(file: SourceFile, max_bytes: int, root: Root | None) -> tuple[bytes, Fingerprint]:
    descriptor = os.open(file.absolute, _OPEN) if root is None else root.open(file.absolute, _OPEN)
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            raise SourceError(f"cannot read {file.path}: not a regular file")
        parts = []
        room = max_bytes + 1 if status.st_size <= max_bytes else 0
        while room and (part := os.read(descriptor, min(room, max(status.st_size + 1, 4096)))):
            parts.append(part)
            room -= len(part)
        if not room:
            raise SourceError(
                f"cannot read {file.path}: larger than {max_bytes / 1024 / 1024:.3g} MB",
                "Split the file, or exclude it with an ignore glob.",
            )
    finally:
        os.close(descriptor)
    # The state before reading, so that the next scan notices a change during reading.
    return b"".join(parts), Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino)
