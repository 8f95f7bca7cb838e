"""`server` and `open`: serve the HTTP API, the web page and AI agents, in this process or a daemon."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

from qmd.cli import listening
from qmd.cli.command import command, group
from qmd.cli.options import argument, chosen_format, flag, json_option, option
from qmd.cli.session import Session
from qmd.cli.terminal import say
from qmd.errors import BusyError
from qmd.mcp.streams import take_streams

if TYPE_CHECKING:
    from qmd.server.discovery import Advertisement

_OVER_HTTP = ("--transport", "http")


@group("server", acts_alone=True)
@option(
    "--transport T",
    ("both", "mcp", "http"),
    "Serve http, mcp (on stdin and stdout), or both.  [default: both]",
    default="both",
)
@listening.listen_options(listening.PORT)
@listening.daemon_option("server")
@flag("--replace", help="Stop the running server of this index first.")
@listening.no_watch_option
@listening.insecure_option
@listening.trust_option
@flag("--log-queries", help="Write the text of queries to the audit log.")
def server(session: Session, /, subcommand: str | None, transport: str, **options: Any) -> None:
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
    if subcommand is not None:
        return
    if transport == "mcp":
        watch = listening.watches(session, options)
        session.refuse(options, "--transport http or both")
        streams = listening.take_stdio(session, "qmd server")
        from qmd.cli.serving import index_over_stdio

        index_over_stdio(session, streams, "qmd server" if watch else None)
    elif options["daemon"]:
        listening.start_daemon(session, "server", _OVER_HTTP, options, listening.PORT)
    else:
        pipes = take_streams() if transport == "both" and _started_by_a_program() else None
        from qmd.cli.serving import index_server

        index_server(session, options, pipes, listening.watches(session, options))


@server.command("stop")
def stop(session: Session) -> None:
    """Stop the server that 'qmd server --daemon' started.

    A write in progress is completed or rolled back.

    Examples:
      qmd server stop
      qmd server stop --index work
    """
    listening.stop_daemon(session, "server", "server")


@server.command("status")
@json_option
def status(session: Session) -> None:
    """Show whether a server of this index is running, and its address.

    Examples:
      qmd server status
      qmd server status --index work --json
    """
    from qmd.cli.client import is_alive
    from qmd.server.discovery import goes_on, how_to_stop, of_other_version

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


@command("open")
@argument("text", "[QUERY]...")
@listening.port_option(f"Start a server on this port.  [default: {listening.PORT}]")
def open_(session: Session, text: tuple[str, ...], port: int | None) -> None:
    """Open the web page of the index in a browser, and search there if there is a QUERY.

    If no server of this index is running, one is started in the background. Stop it with "qmd server stop".

    Examples:
      qmd open
      qmd open how do I restore a backup
    """
    import webbrowser
    from urllib.parse import urlencode

    from qmd.cli.client import is_alive
    from qmd.server.discovery import goes_on, how_to_stop, of_other_version
    from qmd.server.pages import page_maker

    page_maker()
    running = session.server()
    if running is None and (strange := session.strange_server()) is not None:
        running_already = f"a server of this index is already running: {of_other_version(strange)}"
        raise BusyError(running_already, how_to_stop(strange))
    if running is None:
        listening.start_daemon(session, "server", _OVER_HTTP, {"host": None, "port": port}, listening.PORT)
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
    """Whether stdin is a pipe or a socket, whose other end may talk; not a terminal, and not /dev/null."""
    try:
        return not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:  # stdin is closed
        return False
