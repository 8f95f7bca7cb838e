"""`server`: the HTTP API, and MCP over HTTP and stdio, in one process with one set of models."""

from __future__ import annotations

import os
import stat
from typing import Any

import click

from qmd.cli.command import Command, Group
from qmd.cli.options import OneOf, json_option
from qmd.cli.serving import (
    address,
    announce,
    daemon_option,
    host_option,
    index_server,
    insecure_option,
    over_stdio,
    port_option,
    refuse,
    start_daemon,
    state_path,
    stop_daemon,
)
from qmd.cli.session import Session, pass_session
from qmd.cli.terminal import say

PORT = 18765


@click.group("server", cls=Group)
@click.option(
    "--transport",
    type=OneOf(("both", "mcp", "http")),
    metavar="T",
    default="both",
    help="Serve http, mcp (on stdin and stdout), or both.  [default: both]",
)
@host_option
@port_option(PORT)
@daemon_option("server")
@click.option("--replace", is_flag=True, help="Stop the running server of this index first.")
@insecure_option
@click.option("--log-queries", is_flag=True, help="Write the text of queries to the audit log.")
@pass_session
@click.pass_context
def server(ctx: click.Context, session: Session, /, transport: str, **options: Any) -> None:
    """Serve programs over HTTP, and AI agents over the Model Context Protocol (MCP).

    HTTP has the API, its documentation (/docs, /openapi.json) and MCP (/mcp). With "both", MCP is also spoken
    on stdin and stdout if another program started the server; the server then ends with that program. While
    it runs, the search commands of this index use it, because its models are already loaded.

    \b
    Examples:
      qmd server                       at http://127.0.0.1:18765
      qmd server --transport http --port 9000
      qmd server --daemon
      qmd server --daemon --replace
      qmd server status
      qmd server stop
    """
    if ctx.invoked_subcommand is not None:
        return
    if transport == "mcp":
        refuse(options, "--transport http or both")
        over_stdio(session, "qmd server", index_server(session))
    elif options["daemon"]:
        host, port = address(options, PORT)
        arguments = ["--transport", "http", "--host", host, "--port", str(port)]
        arguments += [f"--{name}" for name in ("insecure", "log-queries") if options[name.replace("-", "_")]]
        start_daemon(session, "server", arguments, replace=options["replace"])
    else:
        _serve(session, options, stdio=transport == "both" and _started_by_a_program())


@server.command("stop", cls=Command)
@pass_session
def stop(session: Session) -> None:
    """Stop the server that 'qmd server --daemon' started.

    A write in progress is completed or rolled back.

    \b
    Examples:
      qmd server stop
      qmd server stop --index work
    """
    stop_daemon(session, "server", "server")


@server.command("status", cls=Command)
@json_option
@pass_session
def status(session: Session, as_json: bool) -> None:
    """Show whether a server of this index is running, and its address.

    \b
    Examples:
      qmd server status
      qmd server status --index work --json
    """
    import json

    from qmd.config.paths import cache_dir
    from qmd.server import discovery

    running = discovery.find(cache_dir(os.environ), session.index_file())
    if as_json:
        server = {} if running is None else {"url": running.url, "pid": running.pid}
        say(json.dumps({"running": running is not None} | server))
    elif running is None:
        say(session.addressed("No server of this index is running. Start one: qmd server --daemon"))
    else:
        say(f"qmd serves HTTP at {running.url} (process {running.pid})")


def _serve(session: Session, options: dict[str, Any], *, stdio: bool) -> None:
    """Serve HTTP, and MCP on stdin and stdout too if `stdio` is set, until the server is told to stop."""
    from qmd.mcp.streams import take_streams

    # Before any other import, because an import might print.
    streams = take_streams() if stdio else None

    from qmd.config.paths import cache_dir
    from qmd.http.app import app
    from qmd.mcp.server import build
    from qmd.mcp.stdio import serve as serve_stdio
    from qmd.server import discovery
    from qmd.server.access import Gate
    from qmd.server.audit import Audit
    from qmd.server.connections import Limits
    from qmd.server.host_check import is_loopback
    from qmd.server.index_host import IndexHost
    from qmd.server.keys import Keys, keys_path
    from qmd.server.listener import listen, serve, url
    from qmd.server.metrics import Metrics

    host, port = address(options, PORT)
    limits = Limits.from_environ(os.environ)
    index = session.index  # opened now, so that its errors and questions come before the server starts
    location = cache_dir(os.environ), session.index_file()
    keys = Keys(keys_path(os.environ), session.index_file())
    with discovery.exclusive(*location, replace=options["replace"]):
        listener = listen(host, port, insecure=options["insecure"] or keys.any())
        if not is_loopback(host) and not keys.any():
            session.note(f"anyone who can reach {host} can read and change everything that is indexed")
        audit = Audit(f"{state_path(session, 'server')}.audit.jsonl", log_queries=options["log_queries"])
        index_host = IndexHost(lambda: index)
        try:
            with discovery.advertise(*location, url(listener)) as advertisement:
                gate = Gate(keys, advertisement.secret, audit, Metrics() if Metrics.available() else None)
                application = app(index_host, os.environ, host, gate)
                line = f"qmd serves HTTP at {url(listener)}"
                if streams is None:
                    serve(application, listener, limits=limits, ready=lambda: announce(line))
                else:
                    # Only one of the two may watch the folders.
                    agent = build(index_host, {**os.environ, "QMD_MCP_UPDATE": ""})
                    serve(
                        application,
                        listener,
                        limits=limits,
                        ready=lambda: session.note(f"{line}, and MCP on stdin and stdout"),
                        beside=lambda: serve_stdio(agent, *streams),
                    )
        finally:
            session.abandoned = not index_host.close()
            audit.close()


def _started_by_a_program() -> bool:
    """Whether stdin is a pipe or a socket, whose other end may talk; not a terminal, and not /dev/null."""
    try:
        return not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:  # stdin is closed
        return False
