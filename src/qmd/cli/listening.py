"""What commands that serve share: options, the address, and servers in the background."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from qmd.cli.options import Decorated, combined, flag, option, whole
from qmd.cli.session import Session
from qmd.cli.terminal import is_terminal, say
from qmd.mcp.streams import take_streams
from qmd.processes import python

if TYPE_CHECKING:
    from qmd.server.daemon import Daemon

PORT, MCP_PORT = 18765, 8181
LOOPBACK = "127.0.0.1"

http_option = flag("--http", help="Serve over HTTP instead of stdin and stdout.")
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


def watches(session: Session, options: dict[str, Any]) -> bool:
    """Take `--no-watch` out of the options, and return whether the server watches."""
    refused = options.pop("no_watch") or os.environ.get("QMD_WATCH", "").strip() == "0"
    return not refused and session.portable_file is None


def address(options: Mapping[str, Any], default_port: int) -> tuple[str, int]:
    """Return the host and the port of `listen_options`."""
    port = options["port"]
    return options["host"] or LOOPBACK, default_port if port is None else port


def take_stdio(session: Session, command: str) -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for MCP. Do this before the import of a server, which might print."""
    if is_terminal(sys.stdin):
        session.note(
            f"{command} speaks MCP on stdin and stdout, and waits for a client there; stop it with Ctrl-D"
        )
    return take_streams()


def start_daemon(
    session: Session, name: str, transport: tuple[str, ...], options: Mapping[str, Any], default_port: int
) -> None:
    """Start the command `name` in the background, with its options and the global options of this run.

    With `--replace`, a daemon of the same index is stopped first.
    """
    host, port = address(options, default_port)
    flags = [option for option, value in options.items() if value is True and option != "daemon"]
    words = [*transport, "--host", host, "--port", str(port)]
    words += [f"--{option.replace('_', '-')}" for option in flags]
    daemon = _daemon(session, name)
    if options.get("replace"):
        daemon.stop()
    ready = daemon.start(python("qmd", name, *words, *session.options()))
    say(f"{ready} (in the background, process {daemon.running()})")
    session.note(f"stop it with 'qmd {name} stop'; its log is {daemon.log}")


def stop_daemon(session: Session, name: str, title: str) -> None:
    """Stop the daemon that the command `name` started. `title` is what messages call it."""
    pid = _daemon(session, name).stop()
    nothing = f"No {title} is running in the background."
    say(nothing if pid is None else f"Stopped the {title} (process {pid}).")


def _daemon(session: Session, name: str) -> Daemon:
    from qmd.server.daemon import Daemon

    path = state_path(session, name)
    return Daemon(f"{path}.pid", f"{path}.log")


def state_path(session: Session, name: str) -> str:
    """Return the path, without its extension, of the cache files that a server of this index keeps."""
    from qmd.config.paths import cache_dir

    label = session.label
    return os.path.join(cache_dir(os.environ), name if label is None else f"{name}-{label}")
