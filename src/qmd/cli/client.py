"""Commands that a running server answers. This loads neither the parsers nor the engine.

The server gets the words, the folder and the environment of the command, runs it (`served`), and returns what
it has written and its exit code.
"""

from __future__ import annotations

import os
import time

from qmd._version import __version__
from qmd.cli.console import current
from qmd.cli.terminal import is_terminal, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.server.discovery import Advertisement

#: The commands that a server answers. They only read.
COMMANDS = frozenset(
    {
        *("search", "vsearch", "query", "vector-search", "deep-search", "similar"),
        *("get", "multi-get", "pack", "hook run"),
    }
)
#: Options with which a command is not sent.
_HERE = frozenset({"--help", "-h"})
#: The variables that a server gets, besides those of qmd.
_SENT = (
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "HOME",
    "INDEX_PATH",
    "NO_COLOR",
    "TERM",
    "TZ",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
)
#: Parts of the names of variables with secrets, which it does not get.
_SECRETS = ("KEY", "TOKEN", "SECRET", "PASS")
#: Stands for the exit code if the command reads stdin, and for the refusal if no server runs.
NEEDS_INPUT, NO_SERVER = "input", ""
#: Seconds until a server on this machine has begun to answer, and the same for a hook, which has little time.
_BEGINS, _BEGINS_FOR_HOOKS = 1.0, 0.5
#: While its answer is awaited, a server is asked whether it still runs: seconds between, and for the reply.
_CHECK, _ALIVE = 1.0, 2.0
#: Seconds that an answer may take longer than the command's --timeout.
_GRACE = 1.0
#: The most bytes of stdin that are sent.
_MAX_INPUT = 5_000_000


def ask(words: Sequence[str]) -> int | str:
    """Let the server of the index run a command, and write its output; return the exit code.

    Returns the reason in place of it if no server runs the command, and then nothing is written.
    """
    options, command = named(words)
    if command not in COMMANDS or options["--mode"] == "local":
        return NO_SERVER
    index_name, portable_file = options["--index"], options["--index-file"]
    from qmd.errors import QmdError

    try:
        found = _find(index_name, portable_file)
    except (QmdError, OSError):  # running the command here gives the error
        return NO_SERVER
    if found is None:
        return NO_SERVER
    server, file = found
    call = _pack(words, file, index_name or "", portable_file or "")
    due = time.monotonic() + _timeout(words) + _GRACE
    begins = _BEGINS_FOR_HOOKS if command == "hook run" else _BEGINS
    try:
        status, answer = _post(server, call + b"\0", begins, due)
        if status == 200 and answer.startswith(NEEDS_INPUT.encode()):
            data = current().read()
            if len(data) > _MAX_INPUT:
                return "stdin is too long for the server"
            status, answer = _post(server, call + b"\0\0" + data, begins, due)
        if status != 200:
            return _reason(answer)
        code, pieces = _read(answer)
    except (OSError, ValueError) as error:
        return f"the server at {server.url} does not answer: {error}"
    console = current()
    for stream, text in pieces:
        write(text, console.stdout if stream == b"1" else console.stderr)
    return code


def is_alive(server: Advertisement, seconds: float = _ALIVE) -> bool:
    """Return whether a server says within some seconds that it runs, which one that is stopped does not."""
    due = time.monotonic() + seconds
    try:
        return bool(_exchange(server, "GET /health", b"", seconds, due, checks=False))
    except (OSError, ValueError):
        return False


def _timeout(words: Sequence[str]) -> float:
    """Return the seconds of --timeout; endless without it."""
    for at, word in enumerate(words):
        name, _, value = word.partition("=")
        if name == "--timeout":
            try:
                return float(value or words[at + 1])
            except (ValueError, IndexError):
                break
    return float("inf")


def is_hook(words: Sequence[str]) -> bool:
    """Return whether words run a hook."""
    return named(words)[1] == "hook run"


def named(words: Sequence[str]) -> tuple[dict[str, str | None], str | None]:
    """Return the options that say where a command runs, and the command unless its help is wanted.

    The server reads the words exactly, and refuses the command if it understands other names.
    """
    options: dict[str, str | None] = {"--index": None, "--index-file": None, "--mode": None}
    command = None
    left = iter(words)
    for word in left:
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name in options:
            options[name] = value if equals else next(left, None)
        elif word in _HERE:
            return options, None
        elif command in (None, "hook") and word[:1] != "-":
            command = word if command is None else f"{command} {word}"
    return options, command


def _find(index_name: str | None, portable_file: str | None) -> tuple[Advertisement, str] | None:
    """Return the server of an index, and the index file."""
    from qmd.config.paths import ALTERNATIVE_INDEX, cache_dir, index_paths
    from qmd.server.discovery import find

    folder, environ = os.getcwd(), os.environ
    if portable_file is not None:
        files = [os.path.join(folder, portable_file)]
    else:
        index, _, is_default, _ = index_paths(index_name, environ, folder)
        beside = os.path.join(os.path.dirname(index), ALTERNATIVE_INDEX)
        files = [index, beside] if is_default else [index]
    cache = cache_dir(environ)
    return next(((server, file) for file in files if (server := find(cache, file)) is not None), None)


def _pack(words: Sequence[str], file: str, index_name: str, portable_file: str) -> bytes:
    """Return a call for `served.unpack`: texts between NULs, which arguments and variables do not contain."""
    console, environ = current(), os.environ
    streams = (console.stdin, console.stdout, console.stderr)
    terminals = "".join(str(int(is_terminal(stream))) for stream in streams)
    width = console.width() if is_terminal(console.stdout) else 80
    variables = [
        f"{name}={value}"
        for name, value in environ.items()
        if name in _SENT or (name.startswith("QMD_") and not any(word in name for word in _SECRETS))
    ]
    variables.append(f"LINES={console.height() if is_terminal(console.stdout) else 0}")
    fixed = [__version__, state_of(file), os.getcwd(), index_name, portable_file, terminals, str(width)]
    texts = [*fixed, str(len(variables)), *variables, str(len(words)), *words]
    return b"\0".join(map(os.fsencode, texts))


def state_of(file: str) -> str:
    """Return the device and inode of a file, which say whether the server has the same open."""
    try:
        state = os.stat(file)
    except OSError:
        return ""
    return f"{state.st_dev} {state.st_ino}"


def _post(server: Advertisement, body: bytes, begins: float, due: float) -> tuple[int, bytes]:
    """Return the status and body of the answer. Raises `OSError`, and `ValueError` if it is not complete."""
    from qmd.server.discovery import RUN

    # The server says that it goes on as soon as it takes the request, however long the answer takes.
    answer = _exchange(server, f"POST {RUN}", body, begins, due)
    head_of_answer, end, content = answer.partition(b"\r\n\r\n")
    while head_of_answer[9:10] == b"1":
        head_of_answer, end, content = content.partition(b"\r\n\r\n")
    lines = head_of_answer.lower().split(b"\r\n")
    lengths = [int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")]
    if not end or lengths != [len(content)]:
        raise ValueError("the answer is not complete")
    return int(lines[0].split()[1]), content


def _exchange(
    server: Advertisement, what: str, body: bytes, begins: float, due: float, *, checks: bool = True
) -> bytes:
    """Return all bytes that a server sends; with `checks`, only as long as it runs.

    Raises `TimeoutError` if it sends none within `begins` seconds, or not all until `due`.
    """
    # `socket` and `http.client` would take longer to import than all the rest.
    import _socket

    host, _, port = server.url.removeprefix("http://").rpartition(":")
    family = _socket.AF_INET6 if host.startswith("[") else _socket.AF_INET
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    head = (
        f"{what} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {server.secret}\r\n"
        f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n"
        f"{'Expect: 100-continue' if body else 'Accept: */*'}\r\nConnection: close\r\n\r\n"
    )
    begin_by = time.monotonic() + begins
    try:
        connection.settimeout(begins)
        connection.connect((host.strip("[]"), int(port)))
        connection.sendall(head.encode() + body)
        parts: list[bytes] = []
        while True:
            left = (due if parts else begin_by) - time.monotonic()
            connection.settimeout(max(0.001, min(left, _CHECK)))
            try:
                part = connection.recv(65_536)
            except TimeoutError:
                if left > _CHECK and checks and is_alive(server):
                    continue
                raise
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        connection.close()


def _read(answer: bytes) -> tuple[int, list[tuple[bytes, str]]]:
    """Return the exit code of a command, and its output by stream. Raises `ValueError`."""
    code, _, rest = answer.partition(b"\n")
    pieces = []
    while rest:
        head, _, rest = rest.partition(b"\n")
        stream, length = head.split()
        pieces.append((stream, rest[: int(length)].decode("utf-8", "surrogatepass")))
        rest = rest[int(length) :]
    return int(code), pieces


def _reason(answer: bytes) -> str:
    """Return the detail of a refusal."""
    import json

    try:
        return str(json.loads(answer)["detail"])
    except (ValueError, KeyError, TypeError):
        return "the server's answer is not valid"
