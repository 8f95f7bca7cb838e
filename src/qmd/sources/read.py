"""Read a file: from bytes to the rows that a store keeps, without a store."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from stat import S_ISREG
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from qmd.errors import SourceError
from qmd.sources.decoding import decode
from qmd.sources.formats.base import (
    DAMAGED,
    NO_TEXT,
    TOO_LARGE,
    Unreadable,
    extracted,
    failure,
    fault,
)
from qmd.sources.formats.registry import Reader
from qmd.sources.paths import in_words
from qmd.sources.root import Root
from qmd.text.authorship import stated
from qmd.text.digest import sha256
from qmd.text.indexing import indexed
from qmd.text.languages import language_of
from qmd.types import (
    UTF_8,
    Decoding,
    Extracted,
    Fingerprint,
    Indexed,
    SourceFile,
    SourceText,
)

MAX_BYTES = 50 * 1024 * 1024

#: How a pointer of Git LFS begins, which stands for a file that was not fetched, and its most bytes.
_POINTER, _MAX_POINTER = b"version https://git-lfs.github.com/spec/v1\noid ", 1024
# Opening must not wait for the writer of a FIFO or acquire a terminal. O_BINARY is for Windows.
_OPEN = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    _OPEN |= getattr(os, _flag, 0)


class Outcome(Struct, frozen=True):
    """A file that was read.

    Attributes:
        file: The file.
        documents: (key, content, terms) of each document; a key is "" except in containers.
        fingerprint: The state of the file before it was read.
        error: Why there are no documents.
        failure: Why its format cannot read it, if that is the error.
        without: (key, why) of documents of a container that cannot be read.
    """

    file: SourceFile
    documents: tuple[tuple[str, SourceText, Indexed | None], ...] = ()
    fingerprint: Fingerprint | None = None
    error: SourceError | None = None
    failure: Unreadable | None = None
    without: tuple[tuple[str, Unreadable], ...] = ()


class Answer(Struct, frozen=True):
    """What a file was read as.

    Attributes:
        documents: (key, content, terms) of each document; a key is "" except in containers.
        decoding: How its text was decoded.
        failed: The key, reason and details of documents of a container that cannot be read.
        problem: The message and the hint if its bytes are not text.
        unread: The reason if its format cannot read it, "" if the format failed, with details, and the
            traceback if our reader failed.
    """

    documents: tuple[tuple[str, Extracted, Indexed | None], ...] = ()
    decoding: Decoding = UTF_8
    failed: tuple[tuple[str, str, str], ...] = ()
    problem: tuple[str, str | None] | None = None
    unread: tuple[str, str, str] | None = None


class Purpose(Struct, frozen=True):
    """What files are read for.

    Attributes:
        encoding: The encoding of the collection.
        language: Its language.
        terms: Whether their documents are indexed, and need terms.
    """

    encoding: str | None = None
    language: str | None = None
    terms: bool = False


#: The key and the content of a document, or why it cannot be read.
Found: TypeAlias = tuple[str, Extracted | Unreadable]


def read(
    raw: RawBytes, reader: Reader, purpose: Purpose, sent: Callable[[Found], Found] | None = None
) -> Answer:
    """Return what a file is read as. It depends on nothing but the arguments.

    A process that sends the answer gives `sent`, which makes a content one that can be sent; whoever gets it
    completes it again, see `checked`.
    """
    from qmd.sources.formats.checking import checked  # scans without a change start without it

    documents, failures = [], []
    try:
        for key, content in map(sent or _same, extracted(reader.format, raw)):
            whole = content if isinstance(content, Unreadable) else checked(content, reader, raw.path, key)
            if isinstance(whole, Unreadable):
                failures.append((key, whole.reason, whole.detail))
            else:
                made = _indexed(whole, raw.path, key, purpose) if purpose.terms else None
                if sent and isinstance(content, Extracted):
                    # The structure of a text with terms is sent once, beside these.
                    whole = replace(content, structure=None) if made else content
                documents.append((key, whole, made))
    except Unreadable as error:
        return not_read(error)
    except SourceError as error:
        if reader.row.isolated:
            return not_read(Unreadable(DAMAGED, error.message))
        return Answer(problem=(error.message, error.hint))
    except MemoryError:
        return not_read(Unreadable(TOO_LARGE, "needs too much memory"))
    except Exception as error:  # noqa: BLE001 - whatever a library raises for a broken file
        return not_read(failure(error))
    return Answer((*documents,), raw.decoding, (*failures,))


def _same(found: Found) -> Found:
    return found


def not_read(error: Unreadable) -> Answer:
    """Return the answer for a file that its format cannot read."""
    return Answer(unread=(error.reason, error.detail, error.trace))


def _indexed(found: Extracted, path: str, key: str, purpose: Purpose) -> Indexed | None:
    if not found.text.strip():
        return None
    try:
        place = f"{path}#{key}" if key else path
        made = indexed(found.title, found.fields, found.text, place, found.structure)
        return replace(
            made, language=language_of(found.text, found.fields, purpose.language, found.structure)
        )
    except Exception as error:
        raise fault(error) from error


def outcome(file: SourceFile, fingerprint: Fingerprint, reader: Reader, answer: Answer) -> Outcome:
    """Return the outcome of a file that was read."""
    if answer.problem is not None:
        return Outcome(file, error=SourceError(*answer.problem))
    if answer.unread is not None:
        reason, *more = answer.unread
        return failed(file, Unreadable(reason or reader.failure, *more))
    documents = [(key, to_source(found, answer.decoding), made) for key, found, made in answer.documents]
    without = tuple((key, Unreadable(*why)) for key, *why in answer.failed)
    if reader.row.isolated:
        documents = [each for each in documents if each[1].text.strip()]
        if not documents:
            return failed(file, without[0][1] if without else Unreadable(NO_TEXT))
    return Outcome(file, (*documents,), fingerprint, without=without)


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
        return RawBytes(file.path, data, encoding, file.recognized), fingerprint
    return RawBytes(file.path, data, encoding, second[0]), together(fingerprint, second[1])


def to_source(found: Extracted, decoding: Decoding = UTF_8) -> SourceText:
    """Return the content of a document as it is stored."""
    author, date = stated(found.fields)
    digest = sha256(found.text.encode())
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
    data = b"".join(parts)
    if data.startswith(_POINTER) and len(data) < _MAX_POINTER:
        raise SourceError(
            f"cannot read {path}: a pointer of Git LFS", "run 'git lfs pull' in its folder, then 'qmd update'"
        )
    # The state before reading, so that the next scan notices a change during reading.
    return data, Fingerprint.of(status)
