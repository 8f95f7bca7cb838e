"""`mcp`: serving AI agents, in the foreground or the background."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from qmd.cli.command import Command, Group, fail
from qmd.cli.options import whole
from qmd.cli.session import Session, pass_session
from qmd.cli.terminal import is_terminal, say

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.routing import Route

    from qmd.server.daemon import Daemon
    from qmd.server.index_host import IndexHost
    from qmd.server.keys import Keys

#: A server that is made ready once it is entered, and let go at the end.
Opened: TypeAlias = "AbstractContextManager[Server[Any]]"

MCP_PORT = 8181
LOOPBACK = "127.0.0.1"


http_option = click.option("--http", is_flag=True, help="Serve over HTTP, not stdin and stdout.")
host_option = click.option("--host", metavar="HOST", help=f"Listen at this address.  [default: {LOOPBACK}]")
port_option = click.option(
    "--port", type=whole(0, 65535), metavar="N", help=f"Listen at this port.  [default: {MCP_PORT}]"
)


@click.group("mcp", cls=Group)
@http_option
@host_option
@port_option
@click.option("--daemon", is_flag=True, help="Serve in the background; 'qmd mcp stop' ends it.")
@click.option("--insecure", is_flag=True, help="Let other machines read all that is indexed.")
@pass_session
@click.pass_context
def mcp(ctx: click.Context, session: Session, /, http: bool, **options: Any) -> None:
    """Serve AI agents by the Model Context Protocol.

    Without options it speaks on stdin and stdout: an agent's settings name it as the command "qmd mcp". With
    QMD_MCP_UPDATE=1 it scans the collections when it starts, and again whenever their files change.

    \b
    Examples:
      qmd mcp
      qmd mcp --http                   at http://127.0.0.1:8181/mcp
      qmd mcp --http --port 9000 --daemon
      qmd mcp stop
    """
    if ctx.invoked_subcommand is not None:
        return
    if not http:
        refuse_without_http(options)
        over_stdio(session, "qmd mcp", opened(session))
    elif options["daemon"]:
        _start(session, options)
    else:
        from qmd.mcp.rest import routes
        from qmd.server.index_host import IndexHost
        from qmd.server.keys import Keys, keys_path

        resident = IndexHost(lambda: session.index)
        keys = Keys(keys_path(os.environ), session.index_file())
        over_http(session, options, opened(session, resident), keys, routes(resident))


@mcp.command("stop", cls=Command)
@pass_session
def stop(session: Session) -> None:
    """End the server that 'qmd mcp --http --daemon' started.

    \b
    Examples:
      qmd mcp stop
      qmd mcp stop --index work
    """
    pid = daemon_of(session).stop()
    nothing = "No MCP server is running in the background."
    say(nothing if pid is None else f"Stopped the MCP server (process {pid}).")


def refuse_without_http(options: dict[str, Any]) -> None:
    """Fail for an option that has a meaning over HTTP only."""
    for name, value in options.items():
        if value not in (None, False):
            fail(f"--{name} needs --http")


def over_stdio(session: Session, command: str, served: Opened) -> None:
    """Serve on stdin and stdout until stdin ends."""
    if is_terminal(sys.stdin):
        session.note(
            f"{command} speaks MCP on stdin and stdout, and waits for a client there; Ctrl-D ends it"
        )
    from qmd.mcp.streams import take_streams

    # Before anything else is imported, which might print.
    source, sink = take_streams()
    import anyio

    from qmd.mcp.stdio import serve

    with served as server:
        anyio.run(serve, server, source, sink)


def over_http(
    session: Session,
    options: dict[str, Any],
    served: Opened,
    keys: Keys | None = None,
    more: Sequence[Route] = (),
) -> None:
    """Serve over HTTP, at the place that the options name, until told to end.

    `keys` say who may call; `more` are routes beside that of MCP.
    """
    from qmd.mcp.http import PATH, app
    from qmd.server.access import Gate
    from qmd.server.connections import Limits
    from qmd.server.host_check import is_loopback
    from qmd.server.listener import listen, serve, url

    host, port = _place(options)
    limits = Limits.from_environ(os.environ)
    locked = keys is not None and keys.any()
    listener = listen(host, port, insecure=options["insecure"] or locked)
    if not is_loopback(host) and not locked:
        session.note(f"whoever can reach {host} can read all that is served")
    with served as server:
        serve(
            app(server, os.environ, host, Gate(keys), more),
            listener,
            limits=limits,
            ready=lambda: announce(f"qmd serves MCP at {url(listener, PATH)}"),
        )


@contextmanager
def opened(session: Session, resident: IndexHost | None = None) -> Iterator[Server[Any]]:
    """The server over the index, which `resident` opens if it is given."""
    from qmd.mcp.server import build
    from qmd.server.index_host import IndexHost

    resident = resident or IndexHost(lambda: session.index)
    try:
        yield build(resident)
    finally:
        session.abandoned = not resident.close()


def _start(session: Session, options: dict[str, Any]) -> None:
    """Start the server in the background: the same command without `--daemon`."""
    host, port = _place(options)
    command = [sys.executable, "-m", "qmd", "mcp", "--http", "--host", host, "--port", str(port)]
    if options["insecure"]:
        command.append("--insecure")
    if session.index_name is not None:
        command += ["--index", session.index_name]
    if session.store is not None:
        command += ["--store", session.store]
    daemon = daemon_of(session)
    say(f"{daemon.start(command)} (in the background, process {daemon.running()})")
    session.note(f"'qmd mcp stop' ends it; it writes to {daemon.log}")


def _place(options: dict[str, Any]) -> tuple[str, int]:
    port = options["port"]
    return options["host"] or LOOPBACK, MCP_PORT if port is None else port


def daemon_of(session: Session, kind: str = "mcp") -> Daemon:
    """The files of this index's server of a kind."""
    from qmd.server.daemon import Daemon

    path = file_of(session, kind)
    return Daemon(f"{path}.pid", f"{path}.log")


def file_of(session: Session, kind: str) -> str:
    """The path, less its ending, of the files that a server of this index keeps in the cache directory."""
    from hashlib import sha256

    from qmd.config.paths import cache_dir, locate

    project = locate(session.index_name, os.environ, session.folder()).project
    # Projects have no names: a digest of the folder tells their servers apart.
    name = session.index_name if project is None else sha256(os.fsencode(project)).hexdigest()[:8]
    return os.path.join(cache_dir(os.environ), kind if name is None else f"{kind}-{name}")


def announce(line: str) -> None:
    """Say where the server is. From then on stdout is stderr: who waited for the line reads no further."""
    say(line)
    sys.stdout.flush()
    os.dup2(2, 1)
