"""What the server commands (`mcp`, `server`, `archive mcp`) share: options, transports and daemons."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from qmd.cli.command import fail
from qmd.cli.options import Decorated, whole
from qmd.cli.session import Session
from qmd.cli.terminal import is_terminal, say

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.routing import Route

    from qmd.server.daemon import Daemon
    from qmd.server.index_host import IndexHost
    from qmd.server.keys import Keys

#: Prepares a server when entered, and closes what it uses on exit.
ServerContext: TypeAlias = "AbstractContextManager[Server[Any]]"

MCP_PORT = 8181
LOOPBACK = "127.0.0.1"

http_option = click.option("--http", is_flag=True, help="Serve over HTTP instead of stdin and stdout.")
host_option = click.option("--host", metavar="HOST", help=f"Listen on this address.  [default: {LOOPBACK}]")
insecure_option = click.option(
    "--insecure", is_flag=True, help="Let other machines read everything that is served, without a key."
)


def port_option(default: int) -> Callable[[Decorated], Decorated]:
    """Add `--port` to a command."""
    return click.option(
        "--port", type=whole(0, 65535), metavar="N", help=f"Listen on this port.  [default: {default}]"
    )


def daemon_option(name: str) -> Callable[[Decorated], Decorated]:
    """Add `--daemon` to the command `name`."""
    return click.option(
        "--daemon", is_flag=True, help=f"Serve in the background; stop it with 'qmd {name} stop'."
    )


def address(options: dict[str, Any], default_port: int) -> tuple[str, int]:
    """Return the host and port to listen on."""
    port = options["port"]
    return options["host"] or LOOPBACK, default_port if port is None else port


def refuse(options: dict[str, Any], needed: str) -> None:
    """Fail if an option is given that has no effect without another option, `needed`."""
    for name, value in options.items():
        if value not in (None, False):
            fail(f"--{name.replace('_', '-')} needs {needed}")


def over_stdio(session: Session, command: str, context: ServerContext) -> None:
    """Serve MCP on stdin and stdout until stdin ends."""
    if is_terminal(sys.stdin):
        session.note(
            f"{command} speaks MCP on stdin and stdout, and waits for a client there; stop it with Ctrl-D"
        )
    from qmd.mcp.streams import take_streams

    # Before any other import, because an import might print.
    source, sink = take_streams()
    import anyio

    from qmd.mcp.stdio import serve

    with context as server:
        anyio.run(serve, server, source, sink)


def over_http(
    session: Session,
    options: dict[str, Any],
    context: ServerContext,
    keys: Keys | None = None,
    routes: Sequence[Route] = (),
) -> None:
    """Serve MCP over HTTP until the process is told to stop.

    Args:
        session: This run of the program.
        options: `host`, `port` and `insecure` from the command line.
        context: Prepares the server.
        keys: The keys that clients need, if there are any.
        routes: Routes to serve besides the one of MCP.
    """
    from qmd.mcp.http import PATH, app
    from qmd.server.access import Gate
    from qmd.server.connections import Limits
    from qmd.server.host_check import is_loopback
    from qmd.server.listener import listen, serve, url

    host, port = address(options, MCP_PORT)
    limits = Limits.from_environ(os.environ)
    needs_key = keys is not None and keys.any()
    listener = listen(host, port, insecure=options["insecure"] or needs_key)
    if not is_loopback(host) and not needs_key:
        session.note(f"anyone who can reach {host} can read everything that is served")
    with context as server:
        serve(
            app(server, os.environ, host, Gate(keys), routes),
            listener,
            limits=limits,
            ready=lambda: announce(f"qmd serves MCP at {url(listener, PATH)}"),
        )


@contextmanager
def index_server(session: Session, host: IndexHost | None = None) -> Iterator[Server[Any]]:
    """Prepare the MCP server of the index. `host` keeps the index open; one is made if it is not given."""
    from qmd.mcp.server import build
    from qmd.server.index_host import IndexHost

    host = host or IndexHost(lambda: session.index)
    try:
        yield build(host)
    finally:
        session.abandoned = not host.close()


def start_daemon(session: Session, name: str, arguments: Sequence[str], *, replace: bool = False) -> None:
    """Start the command `name` in the background, with `arguments` and the global options of this run.

    If `replace` is set, a daemon of the same index is stopped first.
    """
    command = [sys.executable, "-m", "qmd", name, *arguments]
    for option, value in (("--index", session.index_name), ("--store", session.store)):
        if value is not None:
            command += [option, value]
    daemon = _daemon(session, name)
    if replace:
        daemon.stop()
        command.append("--replace")
    say(f"{daemon.start(command)} (in the background, process {daemon.running()})")
    session.note(f"stop it with 'qmd {name} stop'; its log is {daemon.log}")


def stop_daemon(session: Session, name: str, title: str) -> None:
    """Stop the daemon that the command `name` started. `title` is what messages call it."""
    pid = _daemon(session, name).stop()
    nothing = f"No {title} is running in the background."
    say(nothing if pid is None else f"Stopped the {title} (process {pid}).")


def _daemon(session: Session, name: str) -> Daemon:
    from qmd.server.daemon import Daemon

    path = state_path(session, name)
    return Daemon(f"{path}.pid", f"{path}.log")


def state_path(session: Session, name: str) -> str:
    """Return the path, without its extension, of the cache files that a server of this index keeps."""
    from hashlib import sha256

    from qmd.config.paths import cache_dir, locate

    project = locate(session.index_name, os.environ, session.folder()).project
    # Projects have no names: a digest of the folder tells their servers apart.
    index = session.index_name if project is None else sha256(os.fsencode(project)).hexdigest()[:8]
    return os.path.join(cache_dir(os.environ), name if index is None else f"{name}-{index}")


def announce(line: str) -> None:
    """Print the address of the server, then send stdout to stderr: clients read this line and no further."""
    say(line)
    sys.stdout.flush()
    os.dup2(2, 1)
