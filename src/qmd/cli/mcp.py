"""`mcp`: serve AI agents."""

from __future__ import annotations

import os
from typing import Any

import click

from qmd.cli.command import Command, Group
from qmd.cli.serving import (
    MCP_PORT,
    address,
    daemon_option,
    host_option,
    http_option,
    index_server,
    insecure_option,
    over_http,
    over_stdio,
    port_option,
    refuse,
    start_daemon,
    stop_daemon,
)
from qmd.cli.session import Session, pass_session


@click.group("mcp", cls=Group)
@http_option
@host_option
@port_option(MCP_PORT)
@daemon_option("mcp")
@insecure_option
@pass_session
@click.pass_context
def mcp(ctx: click.Context, session: Session, /, http: bool, **options: Any) -> None:
    """Serve AI agents over the Model Context Protocol (MCP).

    Without options the server speaks on stdin and stdout: configure your agent to run "qmd mcp". If
    QMD_MCP_UPDATE=1 is set, it scans the collections when it starts, and again whenever a file changes.

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
        refuse(options, "--http")
        over_stdio(session, "qmd mcp", index_server(session))
    elif options["daemon"]:
        host, port = address(options, MCP_PORT)
        arguments = ["--http", "--host", host, "--port", str(port)]
        start_daemon(session, "mcp", [*arguments, *(["--insecure"] if options["insecure"] else [])])
    else:
        from qmd.mcp.http import rest_routes
        from qmd.server.index_host import IndexHost
        from qmd.server.keys import Keys, keys_path

        index_host = IndexHost(lambda: session.index)
        keys = Keys(keys_path(os.environ), session.index_file())
        over_http(session, options, index_server(session, index_host), keys, rest_routes(index_host))


@mcp.command("stop", cls=Command)
@pass_session
def stop(session: Session) -> None:
    """Stop the server that 'qmd mcp --http --daemon' started.

    \b
    Examples:
      qmd mcp stop
      qmd mcp stop --index work
    """
    stop_daemon(session, "mcp", "MCP server")
