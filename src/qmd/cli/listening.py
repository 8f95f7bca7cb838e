"""Serve in this process or in the background, and look at the server of an index."""

from __future__ import annotations

import json
import os
import stat
import sys
import webbrowser
from collections.abc import Mapping
from typing import Any, BinaryIO
from urllib.parse import urlencode

from qmd.cli.client import is_alive
from qmd.cli.options import chosen_format
from qmd.cli.server import MCP_PORT, PORT, address
from qmd.cli.session import Session
from qmd.cli.terminal import is_terminal, say
from qmd.errors import BusyError
from qmd.processes import python
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
    """Open the web page of the index in a browser, and start a server if none is running."""
    page_maker()
    running = session.server()
    if running is None and (strange := session.strange_server()) is not None:
        running_already = f"a server of this index is already running: {of_other_version(strange)}"
        raise BusyError(running_already, how_to_stop(strange))
    if running is None:
        start_daemon(session, "server", _OVER_HTTP, {"host": None, "port": port}, PORT)
        running = session.server()
    if running is None:
        raise BusyError("the server has ended", "start it with 'qmd server' to see why")
    if not is_alive(running):
        raise BusyError(_silent(running), goes_on(running))
    query = " ".join(text).strip()
    page = f"{running.url}/" + (f"?{urlencode({'q': query})}" if query else "")
    opened = webbrowser.open(page)
    say(page if opened else f"Open {page} in a browser: none could be started here.")


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
