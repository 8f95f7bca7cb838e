"""`server` and `mcp`: serve the HTTP API and AI agents, over HTTP and stdio, in this process or a daemon."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from qmd.cli.agents import client_option, install_server, name_option, place_options, uninstall_server
from qmd.cli.command import Group, command
from qmd.cli.options import Decorated, OneOf, combined, flag, json_option, refuse, whole
from qmd.cli.session import Session
from qmd.cli.terminal import is_terminal, say
from qmd.errors import BusyError, QmdError

if TYPE_CHECKING:
    from socket import socket

    from mcp.server.lowlevel import Server
    from starlette.routing import Route

    from qmd.server.daemon import Daemon
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


def daemon_option(name: str) -> Callable[[Decorated], Decorated]:
    return flag("--daemon", help=f"Serve in the background; stop it with 'qmd {name} stop'.")


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
        watch = _watches(session, options)
        refuse(options, "--transport http or both")
        _over_stdio(session, "qmd server", watch)
    elif options["daemon"]:
        names = ("insecure", "log-queries", "no-watch")
        flags = [f"--{name}" for name in names if options[name.replace("-", "_")]]
        flags += ["--replace"] if options["replace"] else []
        _start_daemon(session, "server", ["--transport", "http", *_address_options(options, PORT), *flags])
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
    _stop_daemon(session, "server", "server")


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


@click.group("mcp", cls=Group, acts_alone=True)
@http_option
@listen_options(MCP_PORT)
@daemon_option("mcp")
@no_watch_option
@insecure_option
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
    if not http:
        watch = _watches(session, options)
        refuse(options, "--http")
        _over_stdio(session, "qmd mcp", watch)
    elif options["daemon"]:
        flags = [f"--{name}" for name in ("insecure", "no-watch") if options[name.replace("-", "_")]]
        _start_daemon(session, "mcp", ["--http", *_address_options(options, MCP_PORT), *flags])
    else:
        from qmd.mcp.http import rest_routes
        from qmd.server.index_host import IndexHost
        from qmd.server.keys import Keys, keys_path
        from qmd.server.watcher import watching

        index_host = IndexHost(lambda: session.index)
        keys = Keys(keys_path(os.environ), session.index_file())
        beside = watching(index_host, "qmd mcp" if _watches(session, options) else None)
        routes = rest_routes(index_host)
        over_http(session, options, _index_server(session, index_host), keys, routes, beside)


@mcp.subcommand("stop")
def stop_mcp(session: Session) -> None:
    """Stop the server that 'qmd mcp --http --daemon' started.

    Examples:
      qmd mcp stop
      qmd mcp stop --index work
    """
    _stop_daemon(session, "mcp", "MCP server")


@mcp.subcommand("install")
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


@mcp.subcommand("uninstall")
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
        address = _address_options({"host": None, "port": port}, PORT)
        _start_daemon(session, "server", ["--transport", "http", *address])
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
    from qmd.mcp.server import build
    from qmd.mcp.stdio import serve as serve_stdio
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
        host, listener = _listen(session, options, PORT, keys, "read and change everything that is indexed")
        audit = Audit(f"{_state_path(session, 'server')}.audit.jsonl", log_queries=options["log_queries"])
        index_host = IndexHost(lambda: index)
        try:
            with discovery.advertise(*location, url(listener)) as advertisement:
                gate = Gate(keys, advertisement.secret, audit, Metrics() if Metrics.available() else None)
                application = app(index_host, os.environ, host, gate, watch=_watches(session, options))
                line = f"qmd serves HTTP at {url(listener)}"
                if streams is None:
                    serve(application, listener, limits=limits, ready=lambda: _announce(line))
                else:
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


def _watches(session: Session, options: dict[str, Any]) -> bool:
    """Take `--no-watch` out of the options, and return whether the server watches."""
    refused = options.pop("no_watch") or os.environ.get("QMD_WATCH", "").strip() == "0"
    return not refused and session.portable_file is None


def _address(options: dict[str, Any], default_port: int) -> tuple[str, int]:
    port = options["port"]
    return options["host"] or LOOPBACK, default_port if port is None else port


def _address_options(options: dict[str, Any], default_port: int) -> list[str]:
    host, port = _address(options, default_port)
    return ["--host", host, "--port", str(port)]


def _listen(
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


def _over_stdio(session: Session, command: str, watch: bool) -> None:
    """Serve MCP of the index on stdin and stdout."""
    hosts: list[IndexHost] = []

    @contextmanager
    def context() -> Iterator[Server[Any]]:
        from qmd.server.index_host import IndexHost

        hosts.append(IndexHost(lambda: session.index))
        with _index_server(session, hosts[0]) as server:
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
    from qmd.mcp.http import PATH, app
    from qmd.server.access import Gate
    from qmd.server.connections import Limits
    from qmd.server.listener import serve, url

    limits = Limits.from_environ(os.environ)
    host, listener = _listen(session, options, MCP_PORT, keys, "read everything that is served")
    with context as server:
        serve(
            app(server, os.environ, host, Gate(keys), routes, beside=beside),
            listener,
            limits=limits,
            ready=lambda: _announce(f"qmd serves MCP at {url(listener, PATH)}"),
        )


@contextmanager
def _index_server(session: Session, host: IndexHost | None = None) -> Iterator[Server[Any]]:
    """Prepare the MCP server of the index. `host` keeps the index open; one is made if it is not given."""
    from qmd.mcp.server import build
    from qmd.server.index_host import IndexHost

    host = host or IndexHost(lambda: session.index)
    try:
        yield build(host)
    finally:
        session.abandoned = not host.close()


def _start_daemon(session: Session, name: str, arguments: Sequence[str]) -> None:
    """Start the command `name` in the background, with `arguments` and the global options of this run.

    With `--replace`, a daemon of the same index is stopped first.
    """
    command = [sys.executable, "-m", "qmd", name, *arguments, *session.options()]
    daemon = _daemon(session, name)
    if "--replace" in arguments:
        daemon.stop()
    say(f"{daemon.start(command)} (in the background, process {daemon.running()})")
    session.note(f"stop it with 'qmd {name} stop'; its log is {daemon.log}")


def _stop_daemon(session: Session, name: str, title: str) -> None:
    """Stop the daemon that the command `name` started. `title` is what messages call it."""
    pid = _daemon(session, name).stop()
    nothing = f"No {title} is running in the background."
    say(nothing if pid is None else f"Stopped the {title} (process {pid}).")


def _daemon(session: Session, name: str) -> Daemon:
    from qmd.server.daemon import Daemon

    path = _state_path(session, name)
    return Daemon(f"{path}.pid", f"{path}.log")


def _state_path(session: Session, name: str) -> str:
    """Return the path, without its extension, of the cache files that a server of this index keeps."""
    from qmd.config.paths import cache_dir

    label = session.label
    return os.path.join(cache_dir(os.environ), name if label is None else f"{name}-{label}")


def _announce(line: str) -> None:
    """Print the address of the server, then send stdout to stderr: clients read this line and no further."""
    say(line)
    sys.stdout.flush()
    os.dup2(2, 1)


def _started_by_a_program() -> bool:
    """Whether stdin is a pipe or a socket, whose other end may talk; not a terminal, and not /dev/null."""
    try:
        return not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:  # stdin is closed
        return False
