"""The rows of `server`, `open` and `mcp`: serve the HTTP API, the web page and AI agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from qmd.cli.command import command, group
from qmd.cli.options import Decorated, argument, combined, flag, json_option, option, whole

PORT, MCP_PORT = 18765, 8181
LOOPBACK = "127.0.0.1"

http_option = flag("--http", help="Serve over HTTP instead of stdin and stdout.", agents=False)
no_watch_option = flag(
    "--no-watch", help="Do not watch the folders: the index changes only by update and embed."
)
insecure_option = flag("--insecure", help="Let other machines read everything that is served, without a key.")

trust_option = flag(
    "--trust-local-users", help="Answer all users of this machine, not only you, also without a key."
)


def listen_options(default_port: int) -> Callable[[Decorated], Decorated]:
    return combined(
        option("--host HOST", None, f"Listen on this address.  [default: {LOOPBACK}]"),
        port_option(f"Listen on this port.  [default: {default_port}]"),
    )


def port_option(help: str) -> Callable[[Decorated], Decorated]:
    return option("--port N", whole(0, 65535), help)


def daemon_option(name: str) -> Callable[[Decorated], Decorated]:
    return flag("--daemon", help=f"Serve in the background; stop it with 'qmd {name} stop'.")


def address(options: Mapping[str, Any], default_port: int) -> tuple[str, int]:
    """Return the host and the port of `listen_options`."""
    port = options["port"]
    return options["host"] or LOOPBACK, default_port if port is None else port


_LISTENING = "qmd.cli.listening"


@group("server", acts_alone=True, runs=f"{_LISTENING}:serve")
@option(
    "--transport T",
    ("both", "mcp", "http"),
    "Serve http, mcp (on stdin and stdout), or both.  [default: both]",
    default="both",
)
@listen_options(PORT)
@daemon_option("server")
@flag("--replace", help="Stop the running server of this index first.")
@no_watch_option
@insecure_option
@trust_option
@option("--workers N", whole(1, 64), "Search by words in N processes beside the server, for many clients.")
@flag("--log-queries", help="Write the text of queries to the audit log.")
def server() -> None:
    """Serve programs over HTTP, and AI agents over the Model Context Protocol (MCP).

    HTTP has the API, its documentation (/docs, /openapi.json) and MCP (/mcp). With "both", MCP is also spoken
    on stdin and stdout if another program started the server; the server then ends with that program. While
    it runs, the search commands of this index use it, because its models are already loaded, and it keeps the
    index as the files are (see 'qmd watch').

    Examples:
      qmd server                       at http://127.0.0.1:18765
      qmd server --transport http --port 9000
      qmd server --daemon
      qmd server --daemon --replace
      qmd server status
      qmd server stop
    """


@server.command("stop", runs=f"{_LISTENING}:stop_server")
def stop() -> None:
    """Stop the server that 'qmd server --daemon' started.

    A write in progress is completed or rolled back.

    Examples:
      qmd server stop
      qmd server stop --index work
    """


@server.command("status", runs=f"{_LISTENING}:show_server")
@json_option
def status() -> None:
    """Show whether a server of this index is running, and its address.

    Examples:
      qmd server status
      qmd server status --index work --json
    """


@command("open", runs=f"{_LISTENING}:open_page")
@argument("text", "[QUERY|DOC]...", "paths")
@port_option(f"Start a server on this port.  [default: {PORT}, or the next free one; it is remembered]")
def open_() -> None:
    """Open the web page of the index in a browser: a search for QUERY, or the document DOC.

    DOC is a path, an address or a docid, also with a line or a section: plan.md, notes/plan.md:40. If no
    server of this index is running, one is started in the background. Stop it with "qmd server stop".

    Examples:
      qmd open
      qmd open how do I restore a backup
      qmd open notes/ops.md#Backups
    """


@group("mcp", acts_alone=True, runs=f"{_LISTENING}:serve_agents", agents=True)
@http_option
@listen_options(MCP_PORT)
@daemon_option("mcp")
@no_watch_option
@insecure_option
@trust_option
def mcp() -> None:
    """Serve AI agents over the Model Context Protocol (MCP).

    Without options the server speaks on stdin and stdout: configure your agent to run "qmd mcp". It keeps the
    index as the files are; of several servers of an index one does so (see 'qmd watch').

    Examples:
      qmd mcp
      qmd mcp --http                   at http://127.0.0.1:8181/mcp
      qmd mcp --http --port 9000 --daemon
      qmd mcp stop
    """


@mcp.command("stop", runs=f"{_LISTENING}:stop_mcp")
def stop_mcp() -> None:
    """Stop the server that 'qmd mcp --http --daemon' started.

    Examples:
      qmd mcp stop
      qmd mcp stop --index work
    """
