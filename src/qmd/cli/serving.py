"""Options of the commands that serve, and serving MCP over stdio and HTTP in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from qmd.cli.options import Decorated, combined, flag, whole
from qmd.cli.session import Session
from qmd.cli.terminal import is_terminal, say

if TYPE_CHECKING:
    from socket import socket

    from mcp.server.lowlevel import Server
    from starlette.routing import Route

    from qmd.server.index_host import IndexHost
    from qmd.server.keys import Keys

#: Prepares a server when entered, and closes what it uses on exit.
ServerContext: TypeAlias = "AbstractContextManager[Server[Any]]"

PORT, MCP_PORT = 18765, 8181
LOOPBACK = "127.0.0.1"

http_option = flag("--http", help="Serve over HTTP instead of stdin and stdout.")
no_watch_option = flag(
    "--no-watch", help="Do not watch the folders: the index changes only by update and embed."
)
insecure_option = flag("--insecure", help="Let other machines read everything that is served, without a key.")


def listen_options(default_port: int) -> Callable[[Decorated], Decorated]:
    port_help = f"Listen on this port.  [default: {default_port}]"
    return combined(
        click.option("--host", metavar="HOST", help=f"Listen on this address.  [default: {LOOPBACK}]"),
        click.option("--port", type=whole(0, 65535), metavar="N", help=port_help),
    )


def watches(session: Session, options: dict[str, Any]) -> bool:
    """Take `--no-watch` out of the options, and return whether the server watches."""
    refused = options.pop("no_watch") or os.environ.get("QMD_WATCH", "").strip() == "0"
    return not refused and session.portable_file is None


def _address(options: dict[str, Any], default_port: int) -> tuple[str, int]:
    port = options["port"]
    return options["host"] or LOOPBACK, default_port if port is None else port


def address_options(options: dict[str, Any], default_port: int) -> list[str]:
    host, port = _address(options, default_port)
    return ["--host", host, "--port", str(port)]


def bind(
    session: Session, options: dict[str, Any], default_port: int, keys: Keys | None, exposed: str
) -> tuple[str, socket]:
    """Return the host and its socket, and note if everyone who reaches it can do what `exposed` says."""
    from qmd.server.host_check import is_loopback
    from qmd.server.listener import listen

    host, port = _address(options, default_port)
    needs_key = keys is not None and keys.any()
    listener = listen(host, port, insecure=options["insecure"] or needs_key)
    if not is_loopback(host) and not needs_key:
        session.note(f"anyone who can reach {host} can {exposed}")
    return host, listener


def index_over_stdio(session: Session, command: str, watch: bool) -> None:
    """Serve MCP of the index on stdin and stdout."""
    hosts: list[IndexHost] = []

    @contextmanager
    def context() -> Iterator[Server[Any]]:
        from qmd.server.index_host import IndexHost

        hosts.append(IndexHost(lambda: session.index))
        with index_server(session, hosts[0]) as server:
            yield server

    def beside() -> AbstractAsyncContextManager[None]:
        from qmd.server.watcher import watching

        return watching(hosts[0], command if watch else None)

    over_stdio(session, command, context(), beside)


def over_stdio(
    session: Session,
    command: str,
    context: ServerContext,
    beside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
) -> None:
    """Serve MCP on stdin and stdout. The context manager that `beside` returns is entered meanwhile."""
    if is_terminal(sys.stdin):
        session.note(
            f"{command} speaks MCP on stdin and stdout, and waits for a client there; stop it with Ctrl-D"
        )
    from qmd.mcp.streams import take_streams

    # Before any other import, because an import might print.
    source, sink = take_streams()
    import anyio

    from qmd.mcp.stdio import serve

    async def run(server: Server[Any]) -> None:
        async with beside():
            await serve(server, source, sink)

    with context as server:
        anyio.run(run, server)


def over_http(
    session: Session,
    options: dict[str, Any],
    context: ServerContext,
    keys: Keys | None = None,
    routes: Sequence[Route] = (),
    beside: AbstractAsyncContextManager[None] | None = None,
) -> None:
    """Serve MCP, and `routes` beside it, over HTTP until the process is told to stop.

    `options` has `host`, `port` and `insecure`. Clients need one of `keys` if there are any. `beside` is
    entered while the server runs.
    """
    from qmd.mcp.http import app
    from qmd.server.access import MCP, Gate
    from qmd.server.connections import Limits
    from qmd.server.listener import serve, url

    limits = Limits.from_environ(os.environ)
    host, listener = bind(session, options, MCP_PORT, keys, "read everything that is served")
    with context as server:
        serve(
            app(server, os.environ, host, Gate(keys), routes, beside=beside),
            listener,
            limits=limits,
            ready=lambda: announce(f"qmd serves MCP at {url(listener, MCP)}"),
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


def announce(line: str) -> None:
    """Print the address of the server, then send stdout to stderr: clients read this line and no further."""
    say(line)
    sys.stdout.flush()
    os.dup2(2, 1)
