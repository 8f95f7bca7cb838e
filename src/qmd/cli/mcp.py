"""`mcp`: serve AI agents over the Model Context Protocol, and add the server to their settings."""

from __future__ import annotations

from typing import Any

import click

from qmd.cli import listening
from qmd.cli.agents import client_option, install_server, name_option, place_options, uninstall_server
from qmd.cli.command import Group, refuse
from qmd.cli.options import flag
from qmd.cli.session import Session


@click.group("mcp", cls=Group, acts_alone=True)
@listening.http_option
@listening.listen_options(listening.MCP_PORT)
@listening.daemon_option("mcp")
@listening.no_watch_option
@listening.insecure_option
@listening.trust_option
@click.pass_context
def mcp(ctx: click.Context, /, http: bool, **options: Any) -> None:
    """Serve AI agents over the Model Context Protocol (MCP).

    Without options the server speaks on stdin and stdout: configure your agent to run "qmd mcp". It keeps the
    index as the files are; of several servers of an index one does so (see 'qmd watch').

    Examples:
      qmd mcp
      qmd mcp --http                   at http://127.0.0.1:8181/mcp
      qmd mcp --http --port 9000 --daemon
      qmd mcp stop
    """
    session = ctx.ensure_object(Session)
    if ctx.invoked_subcommand is not None:
        return
    if http and options["daemon"]:
        listening.start_daemon(session, "mcp", ("--http",), options, listening.MCP_PORT)
        return
    watcher = "qmd mcp" if listening.watches(session, options) else None
    if http:
        from qmd.cli.serving import index_over_http

        index_over_http(session, options, watcher)
    else:
        refuse(options, "--http")
        streams = listening.take_stdio(session, "qmd mcp")
        from qmd.cli.serving import index_over_stdio

        index_over_stdio(session, streams, watcher)


@mcp.command("stop")
def stop_mcp(session: Session) -> None:
    """Stop the server that 'qmd mcp --http --daemon' started.

    Examples:
      qmd mcp stop
      qmd mcp stop --index work
    """
    listening.stop_daemon(session, "mcp", "MCP server")


@mcp.command("install")
@client_option
@name_option
@place_options("settings")
@flag("--replace", help="Replace a different server of this name.")
def install_mcp(session: Session, client: str, name: str | None, **options: bool) -> None:
    """Add this server to the settings of a program, whose old file is kept as a backup.

    The program then starts "qmd mcp" itself. Nothing else in its settings changes. If they cannot be changed
    without loss, as JSON with comments, they are left alone, and --dry-run shows the entry.

    Examples:
      qmd mcp install --client claude
      qmd mcp install --client codex --dry-run
      qmd mcp install --client cursor --project
      qmd mcp install --client vscode --index work
    """
    install_server(session, client, name, options)


@mcp.command("uninstall")
@client_option
@name_option
@place_options("settings")
def uninstall_mcp(session: Session, client: str, name: str | None, **options: bool) -> None:
    """Remove this server from the settings of a program. A server that runs something else stays.

    Examples:
      qmd mcp uninstall --client claude
      qmd mcp uninstall --client cursor --project
    """
    uninstall_server(session, client, name, options)
