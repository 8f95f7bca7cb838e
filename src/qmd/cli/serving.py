"""Serve HTTP and MCP in this process. Commands import this module when they serve: it loads the servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from socket import socket
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import anyio
from starlette.routing import Route

from qmd.cli.keys import keys_of
from qmd.cli.served import Commands
from qmd.cli.server import LOOPBACK, MCP_PORT, PORT, address
from qmd.cli.session import Session
from qmd.cli.terminal import say
from qmd.config.paths import cache_dir
from qmd.errors import UsageError
from qmd.http.app import app
from qmd.mcp import http as mcp_http
from qmd.server import discovery
from qmd.server.access import MCP, Gate
from qmd.server.audit import Audit
from qmd.server.connections import Limits
from qmd.server.host_check import is_loopback
from qmd.server.index_host import IndexHost
from qmd.server.installation import replaced
from qmd.server.keys import Keys
from qmd.server.listener import listen, serve, url
from qmd.server.metrics import Metrics
from qmd.server.watcher import watching

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from qmd.engine.index import Index
    from qmd.server.readers import ReaderProcesses

#: Prepares a server when entered, and closes what it uses on exit.
ServerContext: TypeAlias = "AbstractContextManager[Server[Any]]"
Streams: TypeAlias = tuple[BinaryIO, BinaryIO]


def index_over_stdio(session: Session, streams: Streams, watcher: str | None) -> None:
    """Serve MCP of the index on stdin and stdout. `watcher` is the name of the command if it watches."""
    host = IndexHost(lambda: session.whole_index)
    over_stdio(_index_server(session, host), streams, watching(host, watcher))


def over_stdio(
    context: ServerContext, streams: Streams, beside: AbstractAsyncContextManager[None] | None = None
) -> None:
    """Serve MCP on stdin and stdout. `beside` is entered meanwhile."""
    # Loading the SDK takes longer than all the rest, and `qmd server` does so when it is asked.
    from qmd.mcp import stdio

    async def run(server: Server[Any]) -> bool:
        async def end_if_replaced() -> None:
            await replaced()
            tasks.cancel_scope.cancel()

        async with beside or nullcontext(), anyio.create_task_group() as tasks:
            tasks.start_soon(end_if_replaced)
            await stdio.serve(server, *streams)
            tasks.cancel_scope.cancel()
            return True
        return False

    with context as server:
        if not anyio.run(run, server):
            raise SystemExit(1)


def index_over_http(session: Session, options: dict[str, Any], watcher: str | None) -> None:
    """Serve MCP of the index over HTTP. `watcher` is the name of the command if it watches."""
    host = IndexHost(lambda: session.whole_index)
    context, routes = _index_server(session, host), mcp_http.rest_routes(host)
    over_http(session, options, context, keys_of(session), routes, watching(host, watcher))


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
    limits = Limits.from_environ(os.environ)
    host, listener = _bind(session, options, MCP_PORT, keys, "read everything that is served")
    with context as server:
        serve(
            mcp_http.app(
                server, os.environ, host, Gate(keys, own_user=_only_own(options)), routes, beside=beside
            ),
            listener,
            limits=limits,
            ready=lambda: _announce(f"qmd serves MCP at {url(listener, MCP)}"),
        )


def index_server(session: Session, options: dict[str, Any], streams: Streams | None, watch: bool) -> None:
    """Serve HTTP, and MCP on `streams` too if they are given, until the server is told to stop."""
    limits = Limits.from_environ(os.environ)
    index = session.whole_index  # opened now, so that its errors and questions come before the server starts
    location, keys = (cache_dir(os.environ), session.index_file()), keys_of(session)
    with discovery.exclusive(*location, replace=options["replace"]):
        host, listener = _bind(session, options, PORT, keys, "read and change everything that is indexed")
        audit = Audit(f"{session.state_path('server')}.audit.jsonl", log_queries=options["log_queries"])
        index_host = IndexHost(lambda: index, readers=_readers(session, options, index))
        try:
            with discovery.advertise(*location, url(listener)) as advertisement:
                metrics = Metrics() if Metrics.available() else None
                gate = Gate(keys, advertisement.secret, _only_own(options), audit, metrics)
                application = app(index_host, os.environ, host, gate, watch=watch, commands=Commands().answer)
                line = f"qmd serves HTTP at {url(listener)}"
                if streams is None:
                    serve(application, listener, limits=limits, ready=lambda: _announce(line))
                else:
                    from qmd.mcp import stdio
                    from qmd.mcp.server import build

                    agent = build(index_host)
                    serve(
                        application,
                        listener,
                        limits=limits,
                        ready=lambda: session.note(f"{line}, and MCP on stdin and stdout"),
                        beside=lambda: stdio.serve(agent, *streams),
                    )
        finally:
            session.abandoned = not index_host.close()
            audit.close()


@contextmanager
def _index_server(session: Session, host: IndexHost) -> Iterator[Server[Any]]:
    """Prepare the MCP server of the index that `host` keeps open."""
    from qmd.mcp.server import build

    try:
        yield build(host)
    finally:
        session.abandoned = not host.close()


def _readers(session: Session, options: dict[str, Any], index: Index) -> ReaderProcesses | None:
    """Return the processes that the option asks for; None if there are none."""
    if not options["workers"]:
        return None
    if session.portable_file is not None or sys.platform == "win32":
        raise UsageError("--workers works neither with portable files nor on Windows", "leave out --workers")
    from qmd.server.readers import ReaderProcesses  # most servers have none

    return ReaderProcesses(options["workers"], index.locations, os.environ)


def _bind(
    session: Session, options: dict[str, Any], default_port: int, keys: Keys | None, exposed: str
) -> tuple[str, socket]:
    """Return the host and its socket, and note if everyone who reaches it can do what `exposed` says."""
    host, port = address(options, default_port)
    needs_key = keys is not None and keys.any()
    listener = listen(host, port, insecure=options["insecure"] or needs_key)
    if not is_loopback(host) and not needs_key:
        session.note(f"anyone who can reach {host} can {exposed}")
    return host, listener


def _only_own(options: dict[str, Any]) -> bool:
    """Return whether a server without keys answers only the user who runs it.

    Beyond this machine, `--insecure` lets everyone in.
    """
    return is_loopback(options["host"] or LOOPBACK) and not options["trust_local_users"]


def _announce(line: str) -> None:
    """Print the address of the server, then send stdout to stderr: clients read this line and no further."""
    say(line)
    sys.stdout.flush()
    os.dup2(2, 1)
