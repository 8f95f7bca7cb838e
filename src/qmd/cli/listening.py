"""Serve in this process or in the background, and look at the server of an index."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from glob import escape, glob
from itertools import chain
from typing import Any, BinaryIO
from urllib.parse import urlencode

from qmd.cli.client import is_alive
from qmd.cli.options import chosen_format
from qmd.cli.server import LOOPBACK, MCP_PORT, PORT, address
from qmd.cli.session import Session
from qmd.cli.terminal import is_terminal, say
from qmd.errors import AmbiguousReferenceError, BusyError, DocumentNotFoundError, QmdError, UsageError
from qmd.processes import browse, python
from qmd.server.daemon import Daemon
from qmd.server.discovery import Advertisement, goes_on, how_to_stop, of_other_version
from qmd.server.pages import page_maker

_OVER_HTTP = ("--transport", "http")


def serve(session: Session, /, transport: str, **options: Any) -> None:
    """Serve programs over HTTP, agents over MCP, or both."""
    if transport == "mcp":
        watch = watches(session, options)
        session.refuse(options, "--transport http or both")
        streams = take_stdio(session, "qmd server")
        from qmd.cli.serving import index_over_stdio

        index_over_stdio(session, streams, "qmd server" if watch else None)
    elif options["daemon"]:
        start_daemon(session, "server", _OVER_HTTP, options, PORT)
    else:
        pipes = _take_streams() if transport == "both" and _started_by_a_program() else None
        from qmd.cli.serving import index_server

        index_server(session, options, pipes, watches(session, options))


def serve_agents(session: Session, /, http: bool, **options: Any) -> None:
    """Serve agents over MCP."""
    if http and options["daemon"]:
        start_daemon(session, "mcp", ("--http",), options, MCP_PORT)
        return
    watcher = "qmd mcp" if watches(session, options) else None
    if http:
        from qmd.cli.serving import index_over_http

        index_over_http(session, options, watcher)
    else:
        session.refuse(options, "--http")
        streams = take_stdio(session, "qmd mcp")
        from qmd.cli.serving import index_over_stdio

        index_over_stdio(session, streams, watcher)


def stop_server(session: Session) -> None:
    """Stop the server that `qmd server --daemon` started."""
    stop_daemon(session, "server", "server")


def stop_mcp(session: Session) -> None:
    """Stop the server that `qmd mcp --http --daemon` started."""
    stop_daemon(session, "mcp", "MCP server")


def show_server(session: Session) -> None:
    """Show whether a server of this index is running, and its address."""
    running, strange = session.server(), session.strange_server()
    answers = running is not None and is_alive(running)
    if chosen_format() == "json":
        server = {} if running is None else {"url": running.url, "pid": running.pid}
        server |= {} if running is None or answers else {"answers": False}
        other = {} if strange is None else {"other_version": {"pid": strange or None}}
        say(json.dumps({"running": running is not None} | server | other))
    elif strange is not None:
        say(f"A server of this index is running: {of_other_version(strange)}; {how_to_stop(strange)}.")
    elif running is None:
        say(session.addressed("No server of this index is running. Start one: qmd server --daemon"))
    elif answers:
        say(f"qmd serves HTTP at {running.url} (process {running.pid})")
    else:
        say(f"{_silent(running)}; {goes_on(running)}.")


def _silent(server: Advertisement) -> str:
    return f"The server of this index does not answer: process {server.pid} at {server.url}"


def open_page(session: Session, text: tuple[str, ...], port: int | None) -> None:
    """Open the web page of the index, or of a document, in a browser; start a server if none is running."""
    page_maker()
    running = session.server()
    if running is None and (strange := session.strange_server()) is not None:
        running_already = f"a server of this index is already running: {of_other_version(strange)}"
        raise BusyError(running_already, how_to_stop(strange))
    if running is None:
        _start_server(session, port)
        running = session.server()
        if running is None:
            raise BusyError("the server has ended", "start it with 'qmd server' to see why")
    elif not is_alive(running):
        raise BusyError(_silent(running), goes_on(running))
    page = running.url + _page(session, " ".join(text).strip())
    say(page if browse(page) else f"Open {page} in a browser: none could be started here.")


def _page(session: Session, text: str) -> str:
    """Return the address on the server of the document that a text names, or of a search for it."""
    if "/" in text or "." in text or text[:1] == "#":  # other words may be titles
        with suppress(DocumentNotFoundError, AmbiguousReferenceError, UsageError):
            page = session.index.get(text)
            return page_maker().read_address(
                page.document.file, line=page.first_line if page.first_line > 1 else None
            )
    return f"/?{urlencode({'q': text})}" if text else "/"


def _start_server(session: Session, port: int | None) -> None:
    """Start a server in the background, on the port that it had, or else one that no other index has.

    The port is remembered, so that the address of the page stays the same.
    """
    file = f"{session.state_path('server')}.port"
    while True:
        chosen = next(_free_ports(file)) if port is None else port
        try:
            start_daemon(session, "server", _OVER_HTTP, {"host": None, "port": chosen}, PORT)
            break
        except QmdError:
            # Another program may have been faster.
            if port is not None or _is_free(chosen):
                raise
    if port is None:
        with suppress(OSError), open(file, "w", encoding="ascii") as opened:
            opened.write(str(chosen))


def _free_ports(file: str) -> Iterator[int]:
    """Yield free ports: the one that a file names, then those that no file beside it names."""
    named = {}
    for path in glob(f"{escape(os.path.dirname(file))}/server*.port"):
        with suppress(OSError, ValueError), open(path, encoding="ascii") as opened:
            named[path] = int(opened.read(8))
    own = named.pop(file, None)
    others = (port for port in range(PORT, 1 << 16) if port not in named.values())
    return filter(_is_free, others if own is None else chain((own,), others))


def _is_free(port: int) -> bool:
    from qmd.server.listener import listen  # most commands need no server

    try:
        listen(LOOPBACK, port).close()
    except (QmdError, OverflowError):
        return False
    return True


def _started_by_a_program() -> bool:
    """Return whether stdin is a pipe or a socket, whose other end may talk; not a terminal or /dev/null."""
    try:
        return not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:  # stdin is closed
        return False


def watches(session: Session, options: dict[str, Any]) -> bool:
    """Take `--no-watch` out of the options, and return whether the server watches."""
    refused = options.pop("no_watch") or os.environ.get("QMD_WATCH", "").strip() == "0"
    return not refused and session.portable_file is None


def take_stdio(session: Session, command: str) -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for MCP. Do this before the import of a server, which might print."""
    if is_terminal(sys.stdin):
        session.note(
            f"{command} speaks MCP on stdin and stdout, and waits for a client there; stop it with Ctrl-D"
        )
    return _take_streams()


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the streams that were stdin and stdout, reserved for the protocol.

    After the call stdin is empty and stdout is stderr, for this process and its children. So a library that
    reads or prints does not disturb the protocol.
    """
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(null, 1)
    os.close(null)
    sys.stdout = sys.stderr
    return source, sink


def start_daemon(
    session: Session, name: str, transport: tuple[str, ...], options: Mapping[str, Any], default_port: int
) -> None:
    """Start the command `name` in the background, with its options and the global options of this run.

    With `--replace`, a daemon of the same index is stopped first.
    """
    host, port = address(options, default_port)
    flags = [option for option, value in options.items() if value is True and option != "daemon"]
    words = [*transport, "--host", host, "--port", str(port)]
    words += [f"--{option.replace('_', '-')}" for option in flags]
    words += ["--workers", str(options["workers"])] if options.get("workers") else []
    daemon = _daemon(session, name)
    if options.get("replace"):
        daemon.stop()
    ready = daemon.start(python("qmd", name, *words, *session.options()))
    say(f"{ready} (in the background, process {daemon.running()})")
    session.note(f"stop it with 'qmd {name} stop'; its log is {daemon.log}")


def stop_daemon(session: Session, name: str, title: str) -> None:
    """Stop the daemon that the command `name` started. `title` is its name in messages."""
    pid = _daemon(session, name).stop()
    nothing = f"No {title} is running in the background."
    say(nothing if pid is None else f"Stopped the {title} (process {pid}).")


def _daemon(session: Session, name: str) -> Daemon:
    path = session.state_path(name)
    return Daemon(f"{path}.pid", f"{path}.log")
