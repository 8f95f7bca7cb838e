"""`server` and `open`: serve the HTTP API, the web page and AI agents, in this process or a daemon."""

from __future__ import annotations

import os
import stat
from typing import Any

import click

from qmd.cli.command import Group, command
from qmd.cli.daemons import daemon_option, start_daemon, state_path, stop_daemon
from qmd.cli.options import OneOf, flag, json_option, refuse, whole
from qmd.cli.serving import (
    PORT,
    address_options,
    announce,
    bind,
    index_over_stdio,
    insecure_option,
    listen_options,
    no_watch_option,
    watches,
)
from qmd.cli.session import Session
from qmd.cli.terminal import say
from qmd.errors import BusyError, QmdError


@click.group("server", cls=Group, acts_alone=True)
@click.option(
    "--transport",
    type=OneOf(("both", "mcp", "http")),
    metavar="T",
    default="both",
    help="Serve http, mcp (on stdin and stdout), or both.  [default: both]",
)
@listen_options(PORT)
@daemon_option("server")
@flag("--replace", help="Stop the running server of this index first.")
@no_watch_option
@insecure_option
@flag("--log-queries", help="Write the text of queries to the audit log.")
@click.pass_context
def server(ctx: click.Context, /, transport: str, **options: Any) -> None:
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
    session = ctx.ensure_object(Session)
    if ctx.invoked_subcommand is not None:
        return
    if transport == "mcp":
        watch = watches(session, options)
        refuse(options, "--transport http or both")
        index_over_stdio(session, "qmd server", watch)
    elif options["daemon"]:
        names = ("insecure", "log-queries", "no-watch")
        flags = [f"--{name}" for name in names if options[name.replace("-", "_")]]
        flags += ["--replace"] if options["replace"] else []
        start_daemon(session, "server", ["--transport", "http", *address_options(options, PORT), *flags])
    else:
        _serve(session, options, stdio=transport == "both" and _started_by_a_program())


@server.subcommand("stop")
def stop(session: Session) -> None:
    """Stop the server that 'qmd server --daemon' started.

    A write in progress is completed or rolled back.

    Examples:
      qmd server stop
      qmd server stop --index work
    """
    stop_daemon(session, "server", "server")


@server.subcommand("status")
@json_option
def status(session: Session, as_json: bool) -> None:
    """Show whether a server of this index is running, and its address.

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


@command("open")
@click.argument("text", metavar="[QUERY]...", nargs=-1)
@click.option(
    "--port", type=whole(0, 65535), metavar="N", help=f"Start a server on this port.  [default: {PORT}]"
)
def open_(session: Session, text: tuple[str, ...], port: int | None) -> None:
    """Open the web page of the index in a browser, and search there if there is a QUERY.

    If no server of this index is running, one is started in the background. Stop it with "qmd server stop".

    Examples:
      qmd open
      qmd open how do I restore a backup
    """
    import webbrowser
    from urllib.parse import urlencode

    from qmd.config.paths import cache_dir
    from qmd.server import discovery
    from qmd.web import MISSING, available

    if not available():
        raise QmdError(MISSING)
    location = cache_dir(os.environ), session.index_file()
    running = discovery.find(*location)
    if running is None:
        address = address_options({"host": None, "port": port}, PORT)
        start_daemon(session, "server", ["--transport", "http", *address])
        running = discovery.find(*location)
    if running is None:
        raise BusyError("the server has ended", "start it with 'qmd server' to see why")
    query = " ".join(text).strip()
    page = f"{running.url}/" + (f"?{urlencode({'q': query})}" if query else "")
    opened = webbrowser.open(page)
    say(page if opened else f"Open {page} in a browser: none could be started here.")


def _serve(session: Session, options: dict[str, Any], *, stdio: bool) -> None:
    """Serve HTTP, and MCP on stdin and stdout too if `stdio` is set, until the server is told to stop."""
    from qmd.mcp.streams import take_streams

    # Before any other import, because an import might print.
    streams = take_streams() if stdio else None

    from qmd.config.paths import cache_dir
    from qmd.http.app import app
    from qmd.server import discovery
    from qmd.server.access import Gate
    from qmd.server.audit import Audit
    from qmd.server.connections import Limits
    from qmd.server.index_host import IndexHost
    from qmd.server.keys import Keys, keys_path
    from qmd.server.listener import serve, url
    from qmd.server.metrics import Metrics

    limits = Limits.from_environ(os.environ)
    index = session.index  # opened now, so that its errors and questions come before the server starts
    location = cache_dir(os.environ), session.index_file()
    keys = Keys(keys_path(os.environ), session.index_file())
    with discovery.exclusive(*location, replace=options["replace"]):
        host, listener = bind(session, options, PORT, keys, "read and change everything that is indexed")
        audit = Audit(f"{state_path(session, 'server')}.audit.jsonl", log_queries=options["log_queries"])
        index_host = IndexHost(lambda: index)
        try:
            with discovery.advertise(*location, url(listener)) as advertisement:
                gate = Gate(keys, advertisement.secret, audit, Metrics() if Metrics.available() else None)
                application = app(index_host, os.environ, host, gate, watch=watches(session, options))
                line = f"qmd serves HTTP at {url(listener)}"
                if streams is None:
                    serve(application, listener, limits=limits, ready=lambda: announce(line))
                else:
                    from qmd.mcp.server import build
                    from qmd.mcp.stdio import serve as serve_stdio

                    agent = build(index_host)
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
