"""Listening for HTTP: the socket, and the server on it."""

from __future__ import annotations

import errno
import logging
import socket
import sys
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from qmd.errors import BusyError, ConflictError, UsageError
from qmd.server.guard import is_loopback

#: Requests that are still answered when the server is told to end have this many seconds.
_GRACE = 5


def listen(host: str, port: int, *, insecure: bool = False) -> socket.socket:
    """A socket that listens; port 0 takes any that is free.

    Raises `UsageError` for a host that there is not, or one beyond loopback unless `insecure`, and
    `BusyError` for a port in use.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"no such host: {host}", "give an address of this machine") from error
    if not insecure and not is_loopback(str(address[0])):
        raise UsageError(
            f"{host} can be reached from other machines, and whoever reaches it can read all that is indexed",
            "leave --host out to serve this machine only, or add --insecure if that is meant",
        )
    listener = socket.socket(family, kind, protocol)
    try:
        # A server that has just ended keeps its port for a while: this one may have it.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise _not_listening(host, port, error) from error
    return listener


def url(listener: socket.socket, path: str = "") -> str:
    """The address of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Answer requests until the process is told to end (SIGINT, SIGTERM). Faults are logged to stderr."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=form)
    settings: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False, "proxy_headers": False}
    config = uvicorn.Config(app, timeout_graceful_shutdown=_GRACE, ws="none", **settings)
    uvicorn.Server(config).run(sockets=[listener])


def _not_listening(host: str, port: int, error: OSError) -> Exception:
    match error.errno:
        case errno.EADDRINUSE:
            return BusyError(f"port {port} is in use", "choose another with --port, or end what uses it")
        case errno.EACCES:
            return ConflictError(f"port {port} may not be used", "choose one above 1023 with --port")
        case errno.EADDRNOTAVAIL:
            return UsageError(f"{host} is no address of this machine", "leave --host out")
    return BusyError(f"cannot listen on {host}:{port}: {error.strerror}")
