"""The program of a child process that reads files: `python -m qmd.sources.child MEMORY`.

A message on stdin is the number of its bytes on a line, then a `ChildRequest` in MessagePack, and then the
bytes of its files and of those beside them. The answer on stdout is the number of its bytes on a line, and
then an `Answer` for each file in MessagePack.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO, TypeVar

from msgspec import Struct, to_builtins
from msgspec.json import decode as decode_json
from msgspec.msgpack import Decoder, encode

from qmd.plugins import resolve
from qmd.sources.confinement import confine
from qmd.sources.formats.base import MAX_ANCHORS, Unreadable, failure
from qmd.sources.formats.registry import Reader, Row
from qmd.sources.read import Answer, Found, Purpose, RawBytes, not_read, read
from qmd.system import limit_reading, limit_time
from qmd.text.markdown.links import MAX_LINKS
from qmd.text.values import Date, written
from qmd.types import Extracted, Link

_Value = TypeVar("_Value", Answer, Extracted)
#: Events of no reader: programs, the network, changed files. They end reading with an error, also if the
#: system cannot refuse them.
_FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "pty.spawn"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod", "os.kill"),
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


class RequestedFile(Struct, frozen=True, array_like=True):
    """A file to read.

    Attributes:
        path: Its path inside the collection.
        format: The format as `module` or `module:attribute`.
        folder: The folder that the package of the format is imported from.
        isolated: Whether all files of the format are read in child processes.
        size: The number of its bytes.
        beside: The number of the bytes after these, of the second file that belongs to it.
    """

    path: str
    format: str
    folder: str
    isolated: bool
    size: int
    beside: int


class ChildRequest(Struct, frozen=True, array_like=True):
    """Files to read, what for, and the most seconds of processor time for all of them."""

    files: tuple[RequestedFile, ...]
    purpose: Purpose
    seconds: int


def main() -> None:
    requests, answers = _pipes()
    limit_reading(int(sys.argv[1]))
    confine()
    sys.addaudithook(_refuse)
    decode = Decoder(ChildRequest).decode
    while line := requests.readline():
        request = decode(requests.read(int(line)))
        files = [(file, requests.read(file.size), requests.read(file.beside)) for file in request.files]
        limit_time(request.seconds)
        data = _packed([_answer(*file, request.purpose) for file in files])
        answers.write(b"%d\n" % len(data))
        answers.write(data)
        answers.flush()


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes to the parent, and let nothing that libraries print reach it."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    return requests, answers


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & _WRITING and arguments[0] != os.devnull:
            raise PermissionError("a reader may not write files")
    elif event in _FORBIDDEN:
        raise PermissionError(f"a reader may not do this: {event}")


def _answer(file: RequestedFile, data: bytes, beside: bytes, purpose: Purpose) -> Answer:
    # Packages that are not installed for all of Python: those of the working folder are no absolute path.
    if os.path.isabs(file.folder) and file.folder not in sys.path:
        sys.path.append(file.folder)
    try:
        reader = Reader(resolve(file.format), Row(file.format, isolated=file.isolated))
    except Exception as error:  # noqa: BLE001 - whatever a package raises
        return not_read(failure(error))
    return read(RawBytes(file.path, data, purpose.encoding, beside), reader, purpose, _sent)


def _packed(answers: list[Answer]) -> bytes:
    try:
        return encode(answers)
    except UnicodeEncodeError:
        return encode([*map(_sendable, answers)])


def _sendable(value: _Value) -> _Value:
    """Return a value with question marks in place of lone surrogates, which damaged files contain."""
    try:
        encode(value)
    except UnicodeEncodeError:
        plain = json.dumps(to_builtins(value), ensure_ascii=False).encode("utf-8", "replace")
        return decode_json(plain, type=type(value))
    return value


def _sent(found: Found) -> Found:
    """Return a document that can be sent, within the limits. Packages make mistakes."""
    key, content = found
    if isinstance(content, Unreadable):
        return found
    if not all(isinstance(link, Link) for link in content.links):
        raise TypeError("links must be of the type qmd.types.Link")
    return key, _sendable(
        Extracted(
            content.text,
            content.title,
            {name: _values(values) for name, values in content.fields.items()},
            content.links[:MAX_LINKS],
            content.anchors[:MAX_ANCHORS],
            tuple(map(str, content.omitted[:100])),
            content.structure,
        )
    )


def _values(values: Any) -> tuple[str | float | bool, ...]:
    """Return the values of a field; one value in place of a tuple is a common mistake."""
    listed = (values,) if isinstance(values, str | float | int) else values
    return tuple(
        written(value) if isinstance(value, float | int | Date) else str(value).replace("\0", " ")
        for value in listed
        if value is not None
    )


if __name__ == "__main__":
    main()
