"""The program of a child process that reads files: `python -m qmd.sources.child MEMORY`.

A request on stdin is a line of JSON with path, format, the folder of its package, encoding, size and the
most seconds of processor time, and then the bytes of the file. An answer on stdout is the number of its bytes
on a line, and then JSON with the documents and how their text was decoded, or the reason, which is "" if the
format failed, and its detail.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any, BinaryIO, cast

from qmd.errors import SourceError
from qmd.plugins import resolve
from qmd.sources.confinement import confine, limit
from qmd.sources.formats.base import DAMAGED, MAX_ANCHORS, TOO_LARGE, Container, Format, Unreadable
from qmd.sources.read import RawBytes
from qmd.text.links import MAX_LINKS
from qmd.types import Link

#: What no reader needs: programs, the network, changed files. They end reading with an error, also if the
#: system cannot refuse them.
_FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "pty.spawn"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod", "os.kill"),
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


def main() -> None:
    requests, answers = _pipes()
    limit(int(sys.argv[1]))
    confine()
    sys.addaudithook(_refuse)
    while line := requests.readline():
        request = json.loads(line)
        _limit_time(request["seconds"])
        data = requests.read(request["size"])
        answer = json.dumps(_answer(request, data), ensure_ascii=False).encode()
        answers.write(b"%d\n" % len(answer) + answer)
        answers.flush()


def _limit_time(seconds: int) -> None:
    """End this process if a file takes more processor time, also if the parent has died meanwhile."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, hard))


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


def _answer(request: Any, data: bytes) -> dict[str, Any]:
    try:
        return _content(request, data)
    except Unreadable as error:
        return {"reason": error.reason, "detail": _printable(error.detail)}
    except SourceError as error:
        return {"reason": DAMAGED, "detail": _printable(error.message)}
    except MemoryError:
        return {"reason": TOO_LARGE, "detail": "needs too much memory"}
    except Exception as error:  # noqa: BLE001 - whatever a library raises for a broken file
        return {"reason": "", "detail": _printable(f"{type(error).__name__}: {error}")}


def _content(request: Any, data: bytes) -> dict[str, Any]:
    # Packages that are not installed for all of Python: those of the working folder are no absolute path.
    if os.path.isabs(request["folder"]) and request["folder"] not in sys.path:
        sys.path.append(request["folder"])
    part = cast("Format", resolve(request["format"]))
    file = RawBytes(request["path"], data, request["encoding"])
    found = part.extract_all(file) if isinstance(part, Container) else [("", part.extract(file))]
    documents = [
        {
            "key": _printable(key),
            "text": _printable(content.text),
            "title": _printable(content.title),
            "fields": {_printable(name): _plain(values) for name, values in content.fields.items()},
            "links": [*map(_link, content.links[:MAX_LINKS])],
            "anchors": [(each.line, each.kind, each.value) for each in content.anchors[:MAX_ANCHORS]],
            "omitted": [*map(_printable, content.omitted[:100])],
        }
        for key, content in found
    ]
    decoding = file.decoding
    return {"documents": documents, "decoding": (decoding.charset, decoding.doubtful, decoding.zeros)}


def _plain(values: Any) -> list[str | float | None]:
    """Return the values of a field; one value in place of a tuple is a common mistake of packages."""
    listed = (values,) if isinstance(values, str | float | int) else values
    return [
        value if value is None or isinstance(value, float | int) else _printable(str(value))
        for value in listed
    ]


def _link(link: Link) -> tuple[str, str, int, str]:
    if not isinstance(link, Link):
        raise TypeError("links must be of the type qmd.types.Link")
    return _printable(link.target), _printable(link.text), link.line, link.kind


def _printable(text: str) -> str:
    """Replace lone surrogates, which damaged files contain, by question marks."""
    return text.encode("utf-8", "replace").decode()


if __name__ == "__main__":
    main()
