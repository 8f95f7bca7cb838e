"""`server`: the HTTP API, and MCP over HTTP and stdio, in one process with one set of models."""

from __future__ import annotations

import os
import stat
import sys
from typing import Any

import click

from qmd.cli.command import Command, Group, fail
from qmd.cli.options import OneOf, json_option, whole
from qmd.cli.serving import LOOPBACK, announce, daemon_of, file_of, opened, over_stdio
from qmd.cli.session import Session, pass_session
from qmd.cli.terminal import say

PORT = 18765


@click.group("server", cls=Group)
@click.option(
    "--transport",
    type=OneOf(("both", "mcp", "http")),
    metavar="T",
    default="both",
    help="Speak both, mcp (on stdin and stdout) or http.  [default: both]",
)
@click.option("--host", metavar="HOST", help=f"Listen at this address.  [default: {LOOPBACK}]")
@click.option("--port", type=whole(0, 65535), metavar="N", help=f"Listen at this port.  [default: {PORT}]")
@click.option("--daemon", is_flag=True, help="Serve in the background; 'qmd server stop' ends it.")
@click.option("--replace", is_flag=True, help="End a running server of this index, and take its place.")
@click.option("--insecure", is_flag=True, help="Let other machines read all that is indexed.")
@click.option("--log-queries", is_flag=True, help="Write down in the audit log what is searched for.")
@pass_session
@click.pass_context
def server(ctx: click.Context, session: Session, /, transport: str, **options: Any) -> None:
    """Serve programs over HTTP, and AI agents by the Model Context Protocol.

    HTTP has the API, what describes it (/docs, /openapi.json) and MCP (/mcp). With "both", MCP is spoken on
    stdin and stdout too where a program started the server, which then ends with that program. While it runs,
    it answers this index's searches on the command line.

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
        for name, value in options.items():
            if value not in (None, False):
                fail(f"--{name.replace('_', '-')} needs --transport http or both")
        over_stdio(session, "qmd server", opened(session))
    elif options["daemon"]:
        _start(session, options)
    else:
        _serve(session, options, talks=transport == "both" and _a_program_started_this())


@server.command("stop", cls=Command)
@pass_session
def stop(session: Session) -> None:
    """End the server that 'qmd server --daemon' started.

    A write in progress is finished, or what it has not kept yet is rolled back.

    \b
    Examples:
      qmd server stop
      qmd server stop --index work
    """
    pid = daemon_of(session, "server").stop()
    say("No server is running in the background." if pid is None else f"Stopped the server (process {pid}).")


@server.command("status", cls=Command)
@json_option
@pass_session
def status(session: Session, as_json: bool) -> None:
    """Tell whether a server of this index is running, and where.

    \b
    Examples:
      qmd server status
      qmd server status --index work --json
    """
    import json

    from qmd.config.paths import cache_dir
    from qmd.server import discovery

    found = discovery.find(cache_dir(os.environ), session.index_file())
    if as_json:
        say(
            json.dumps(
                {"running": False} if found is None else {"running": True, "url": found.url, "pid": found.pid}
            )
        )
    elif found is None:
        say(session.addressed("No server of this index is running. Start one: qmd server --daemon"))
    else:
        say(f"qmd serves HTTP at {found.url} (process {found.pid})")


def _serve(session: Session, options: dict[str, Any], *, talks: bool) -> None:
    """Serve HTTP, and where someone `talks` MCP on stdin, that too, until it ends."""
    from qmd.mcp.streams import take_streams

    # Before anything else is imported, which might print.
    streams = take_streams() if talks else None

    from qmd.config.paths import cache_dir
    from qmd.http.app import app
    from qmd.mcp.server import build
    from qmd.mcp.stdio import serve as serve_lines
    from qmd.server import discovery
    from qmd.server.access import Gate
    from qmd.server.audit import Audit
    from qmd.server.connections import Limits
    from qmd.server.host_check import is_loopback
    from qmd.server.index_host import IndexHost
    from qmd.server.keys import Keys, keys_path
    from qmd.server.listener import listen, serve, url
    from qmd.server.metrics import Metrics

    host, port = _place(options)
    limits = Limits.from_environ(os.environ)
    index = session.index  # opened now: what is wrong with it is told, and what a project asks for answered
    place = cache_dir(os.environ), session.index_file()
    keys = Keys(keys_path(os.environ), session.index_file())
    with discovery.exclusive(*place, replace=options["replace"]):
        listener = listen(host, port, insecure=options["insecure"] or keys.any())
        if not is_loopback(host) and not keys.any():
            session.note(f"whoever can reach {host} can read and change all that is indexed")
        audit = Audit(f"{file_of(session, 'server')}.audit.jsonl", log_queries=options["log_queries"])
        resident = IndexHost(lambda: index)
        try:
            with discovery.advertise(*place, url(listener)) as advertisement:
                gate = Gate(keys, advertisement.secret, audit, Metrics() if Metrics.available() else None)
                served = app(resident, os.environ, host, gate)
                line = f"qmd serves HTTP at {url(listener)}"
                if streams is None:
                    serve(served, listener, limits=limits, ready=lambda: announce(line))
                else:
                    # Only one of both is to watch the folders.
                    agent = build(resident, {**os.environ, "QMD_MCP_UPDATE": ""})
                    serve(
                        served,
                        listener,
                        limits=limits,
                        ready=lambda: session.note(f"{line}, and MCP on stdin and stdout"),
                        beside=lambda: serve_lines(agent, *streams),
                    )
        finally:
            session.abandoned = not resident.close()
            audit.close()


def _start(session: Session, options: dict[str, Any]) -> None:
    """Start the server in the background: the same command without `--daemon`, and without stdin."""
    host, port = _place(options)
    command = [
        sys.executable,
        "-m",
        "qmd",
        "server",
        "--transport",
        "http",
        "--host",
        host,
        "--port",
        str(port),
    ]
    command += [f"--{name}" for name in ("insecure", "log-queries") if options[name.replace("-", "_")]]
    if session.index_name is not None:
        command += ["--index", session.index_name]
    if session.store is not None:
        command += ["--store", session.store]
    daemon = daemon_of(session, "server")
    if options["replace"]:
        daemon.stop()
        command.append("--replace")
    say(f"{daemon.start(command)} (in the background, process {daemon.running()})")
    session.note(f"'qmd server stop' ends it; it writes to {daemon.log}")


def _place(options: dict[str, Any]) -> tuple[str, int]:
    port = options["port"]
    return options["host"] or LOOPBACK, PORT if port is None else port


def _a_program_started_this() -> bool:
    """Whether stdin is a pipe or the like, whose other end may talk; not a terminal, and not /dev/null."""
    try:
        return not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:  # there is none
        return False
