"""Commands that a running server answers. This loads neither the parsers nor the engine.

The server gets the words, the folder and the environment of the command, runs it (`served`), and returns what
it has written and its exit code.
"""

from __future__ import annotations

import os

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
_SENT = ("HOME", "INDEX_PATH", "NO_COLOR", "TERM", "TZ", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
#: Parts of the names of variables with secrets, which it does not get.
_SECRETS = ("KEY", "TOKEN", "SECRET", "PASS")
#: Stands for the exit code if the command reads stdin, and for the refusal if no server runs.
NEEDS_INPUT, NO_SERVER = "input", ""
#: Seconds to connect, because the server is on this machine, and for an answer.
_CONNECT_TIMEOUT, _TIMEOUT = 0.5, 86_400.0
#: The most bytes of stdin that are sent.
_MAX_INPUT = 5_000_000


def ask(words: Sequence[str]) -> int | str:
    """Let the server of the index run a command, and write its output; return the exit code.

    Returns the reason in place of it if no server runs the command, and then nothing is written.
    """
    index_name, portable_file, command = _named(words)
    if command not in COMMANDS:
        return NO_SERVER
    from qmd.errors import QmdError

    try:
        found = _find(index_name, portable_file)
    except (QmdError, OSError):  # running the command here gives the error
        return NO_SERVER
    if found is None:
        return NO_SERVER
    server, file = found
    call = _pack(words, file, index_name or "", portable_file or "")
    try:
        status, answer = _post(server, call + b"\0")
        if status == 200 and answer.startswith(NEEDS_INPUT.encode()):
            data = current().read()
            if len(data) > _MAX_INPUT:
                return "stdin is too long for the server"
            status, answer = _post(server, call + b"\0\0" + data)
    except (OSError, ValueError) as error:
        return f"the server at {server.url} does not answer: {error}"
    return _show(answer) if status == 200 else _reason(answer)


def is_hook(words: Sequence[str]) -> bool:
    """Return whether words run a hook."""
    return _named(words)[2] == "hook run"


def _named(words: Sequence[str]) -> tuple[str | None, str | None, str | None]:
    """Return the index and the portable file that words name, and the command if it may be sent.

    The server reads the words exactly, and refuses the command if it understands other names.
    """
    named: dict[str, str | None] = {"--index": None, "--index-file": None, "--mode": None}
    command = None
    left = iter(words)
    for word in left:
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name in named:
            named[name] = value if equals else next(left, None)
        elif word in _HERE:
            return None, None, None
        elif command in (None, "hook") and word[:1] != "-":
            command = word if command is None else f"{command} {word}"
    return named["--index"], named["--index-file"], None if named["--mode"] == "local" else command


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


def _post(server: Advertisement, body: bytes) -> tuple[int, bytes]:
    """Return the status and body of the answer. Raises `OSError`, and `ValueError` if it is not complete."""
    # `socket` and `http.client` would take longer to import than all the rest.
    import _socket

    from qmd.server.discovery import RUN

    host, _, port = server.url.removeprefix("http://").rpartition(":")
    family = _socket.AF_INET6 if host.startswith("[") else _socket.AF_INET
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    head = (
        f"POST {RUN} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {server.secret}\r\n"
        f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    try:
        connection.settimeout(_CONNECT_TIMEOUT)
        connection.connect((host.strip("[]"), int(port)))
        connection.settimeout(_TIMEOUT)
        connection.sendall(head.encode() + body)
        parts = []
        while part := connection.recv(65_536):
            parts.append(part)
    finally:
        connection.close()
    head_of_answer, end, content = b"".join(parts).partition(b"\r\n\r\n")
    lines = head_of_answer.lower().split(b"\r\n")
    lengths = [int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")]
    if not end or lengths != [len(content)]:
        raise ValueError("the answer is not complete")
    return int(lines[0].split()[1]), content


def _show(answer: bytes) -> int:
    """Write what a command has written, in order, and return its exit code."""
    console = current()
    code, _, rest = answer.partition(b"\n")
    while rest:
        head, _, rest = rest.partition(b"\n")
        stream, length = head.split()
        text = rest[: int(length)].decode("utf-8", "surrogatepass")
        write(text, console.stdout if stream == b"1" else console.stderr)
        rest = rest[int(length) :]
    return int(code)


def _reason(answer: bytes) -> str:
    """Return the detail of a refusal."""
    import json

    try:
        return str(json.loads(answer)["detail"])
    except (ValueError, KeyError, TypeError):
        return "the server's answer is not valid"
