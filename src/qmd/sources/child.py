"""The program of a child process that reads files: `python -m qmd.sources.child MEMORY`.

A request on stdin is a `Request` in JSON on a line, and then the bytes of the file and of the one beside it.
An answer on stdout is the number of its bytes on a line, and then an `Answer` in JSON.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

from msgspec import Struct, to_builtins
from msgspec.json import decode

from qmd.errors import SourceError
from qmd.plugins import resolve
from qmd.sources.confinement import confine
from qmd.sources.formats.base import DAMAGED, MAX_ANCHORS, TOO_LARGE, Unreadable, extracted, failure
from qmd.sources.read import RawBytes
from qmd.system import limit_reading, limit_time
from qmd.text.markdown.links import MAX_LINKS
from qmd.text.values import Date, written
from qmd.types import UTF_8, Decoding, Extracted, Link

#: Events of no reader: programs, the network, changed files. They end reading with an error, also if the
#: system cannot refuse them.
_FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "pty.spawn"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod", "os.kill"),
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


class Request(Struct, frozen=True):
    """A file to read.

    Attributes:
        path: Its path inside the collection.
        format: The format as `module` or `module:attribute`.
        folder: The folder that the package of the format is imported from.
        encoding: The encoding of the collection.
        size: The number of its bytes.
        beside: The number of the bytes after these, of the second file that belongs to it.
        seconds: The most processor time.
    """

    path: str
    format: str
    folder: str
    encoding: str | None
    size: int
    beside: int
    seconds: int


class Answer(Struct, frozen=True):
    """The documents of a file by key, and how their text was decoded.

    If the file cannot be read there are none, but the reason, which is "" if the format failed, details, and
    the traceback if our reader failed. `failed` has the key, reason and details of documents of a container
    that cannot be read.
    """

    documents: tuple[tuple[str, Extracted], ...] | None = None
    decoding: Decoding = UTF_8
    reason: str = ""
    detail: str = ""
    trace: str = ""
    failed: tuple[tuple[str, str, str], ...] = ()


def main() -> None:
    requests, answers = _pipes()
    limit_reading(int(sys.argv[1]))
    confine()
    sys.addaudithook(_refuse)
    while line := requests.readline():
        request = decode(line, type=Request)
        limit_time(request.seconds)
        answer = to_builtins(_answer(request, requests.read(request.size), requests.read(request.beside)))
        # Lone surrogates, which damaged files contain, become question marks.
        data = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
        answers.write(b"%d\n" % len(data) + data)
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


def _answer(request: Request, data: bytes, beside: bytes) -> Answer:
    # Packages that are not installed for all of Python: those of the working folder are no absolute path.
    if os.path.isabs(request.folder) and request.folder not in sys.path:
        sys.path.append(request.folder)
    file = RawBytes(request.path, data, request.encoding, beside)
    try:
        documents, failed = [], []
        for key, found in extracted(resolve(request.format), file):
            if isinstance(found, Unreadable):
                failed.append((key, found.reason, found.detail))
            else:
                documents.append((key, _plain(found)))
        return Answer((*documents,), file.decoding, failed=(*failed,))
    except Unreadable as error:
        return Answer(reason=error.reason, detail=error.detail)
    except SourceError as error:
        return Answer(reason=DAMAGED, detail=error.message)
    except MemoryError:
        return Answer(reason=TOO_LARGE, detail="needs too much memory")
    except Exception as error:  # noqa: BLE001 - whatever a library raises for a broken file
        found = failure(error)
        return Answer(reason=found.reason, detail=found.detail, trace=found.trace)


def _plain(found: Extracted) -> Extracted:
    """Return a content within the limits. Packages make mistakes."""
    if not all(isinstance(link, Link) for link in found.links):
        raise TypeError("links must be of the type qmd.types.Link")
    return Extracted(
        found.text,
        found.title,
        {name: _values(values) for name, values in found.fields.items()},
        found.links[:MAX_LINKS],
        found.anchors[:MAX_ANCHORS],
        tuple(map(str, found.omitted[:100])),
        found.structure,
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
