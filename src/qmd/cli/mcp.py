"""`mcp`: serve AI agents over the Model Context Protocol."""

from __future__ import annotations

from typing import Any

from qmd.cli import listening
from qmd.cli.command import group
from qmd.cli.commands import LOADABLE, WITHIN
from qmd.cli.session import Session
from qmd.plugins import resolve


@group("mcp", acts_alone=True)
@listening.http_option
@listening.listen_options(listening.MCP_PORT)
@listening.daemon_option("mcp")
@listening.no_watch_option
@listening.insecure_option
@listening.trust_option
def mcp(session: Session, /, subcommand: str | None, http: bool, **options: Any) -> None:
    """Serve AI agents over the Model Context Protocol (MCP).

    Without options the server speaks on stdin and stdout: configure your agent to run "qmd mcp". It keeps the
    index as the files are; of several servers of an index one does so (see 'qmd watch').

    Examples:
      qmd mcp
      qmd mcp --http                   at http://127.0.0.1:8181/mcp
      qmd mcp --http --port 9000 --daemon
      qmd mcp stop
    """
    if subcommand is not None:
        return
    if http and options["daemon"]:
        listening.start_daemon(session, "mcp", ("--http",), options, listening.MCP_PORT)
        return
    watcher = "qmd mcp" if listening.watches(session, options) else None
    if http:
        from qmd.cli.serving import index_over_http

        index_over_http(session, options, watcher)
    else:
        session.refuse(options, "--http")
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


for _name in WITHIN:
    if _name.startswith("mcp "):
        mcp.add(resolve(LOADABLE.builtin[_name]))
