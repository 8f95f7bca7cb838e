"""A file's text, whatever its encoding."""

from __future__ import annotations

import codecs
import os
from hashlib import sha256
from stat import S_ISREG

from qmd.errors import SourceError
from qmd.sources.charset import detect_charset
from qmd.sources.problems import in_words
from qmd.text.markdown import properties
from qmd.types import Fingerprint, SourceFile, SourceText

MAX_BYTES = 50 * 1024 * 1024

# Opening must neither wait (for the other end of a FIFO) nor take a terminal; O_BINARY is for Windows.
_OPEN = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    _OPEN |= getattr(os, _flag, 0)
# The longer marks first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b") + b"\x7f"
_MAX_CONTROLS = 0.05  # of the bytes; text has next to none, other data about one in ten


def read_source(
    file: SourceFile, *, encoding: str | None = None, max_bytes: int = MAX_BYTES
) -> tuple[SourceText, Fingerprint]:
    """The text of `file`, and the fingerprint of the very file whose bytes these are.

    UTF-8 first, or what a byte-order mark says; then `encoding`, the collection's charset; then detection.
    The text has neither byte-order mark nor carriage returns, and spaces in place of NULs; it may be blank.

    Raises SourceError if the file cannot be read, is no regular file, is larger than `max_bytes`, or is not
    text.
    """
    try:
        data, fingerprint = _read(file, max_bytes)
    except (OSError, ValueError) as error:
        reason = in_words(error) if isinstance(error, OSError) else str(error)
        raise SourceError(f"cannot read {file.path}: {reason}") from error
    try:
        text = _decode(file, data, encoding)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        encoded = text.encode()
    except UnicodeError as error:
        raise SourceError(
            f"cannot read {file.path}: its encoding is unknown",
            "Set the collection's 'encoding', or convert the file to UTF-8.",
        ) from error
    if not _is_text(encoded):
        raise _not_text(file)
    zeros = encoded.count(0)
    if zeros:
        text, encoded = text.replace("\0", " "), encoded.replace(b"\0", b" ")
    said = properties(text, file.path)
    digest = sha256(encoded).hexdigest()
    return SourceText(text, digest, said.title, said.author, said.date, zeros), fingerprint


def _read(file: SourceFile, max_bytes: int) -> tuple[bytes, Fingerprint]:
    descriptor = os.open(file.absolute, _OPEN)
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
                "Split the file, or leave it out with an ignore glob.",
            )
    finally:
        os.close(descriptor)
    # The state before reading: a file that changes while it is read differs from it at the next scan.
    return b"".join(parts), Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino)


def _decode(file: SourceFile, data: bytes, encoding: str | None) -> str:
    """The text of `data`. Raises UnicodeError or SourceError if no charset fits or `encoding` is none."""
    if data[:1] in (b"\xef", b"\xff", b"\xfe", b"\0"):
        for mark, charset in _MARKS:
            if data.startswith(mark):
                return data[len(mark) :].decode(charset)
    zeros = data.count(0)
    try:
        # Beside a charset, so many zeros are rather halves of its characters (UTF-16).
        if encoding is None or zeros <= _MAX_CONTROLS * len(data):
            return data.decode()
    except UnicodeDecodeError:
        pass
    if encoding is not None:
        try:
            return data.decode(encoding)
        except UnicodeError:
            pass
        except (LookupError, ValueError) as error:
            raise SourceError(
                f"cannot read {file.path}: the encoding '{encoding}' is unknown",
                "Set the collection's 'encoding' to a charset such as shift_jis, gb18030 or windows-1252.",
            ) from error
    if zeros:
        raise _not_text(file)
    detected = detect_charset(data)
    if detected is None:
        raise UnicodeError("no charset fits")
    return data.decode(detected)


def _not_text(file: SourceFile) -> SourceError:
    return SourceError(f"cannot read {file.path}: not text", "Leave it out with an ignore glob.")


def _is_text(data: bytes) -> bool:
    controls = len(data) - len(data.translate(None, _CONTROLS))
    # A single one makes no data of a short note.
    return controls <= max(1, _MAX_CONTROLS * len(data))
