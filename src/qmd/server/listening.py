"""Listening for HTTP: the socket, and the server on it."""

from __future__ import annotations

import errno
import json
import logging
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

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
            "make a key with 'qmd keys add NAME', or add --insecure if that is meant",
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


def serve(
    app: ASGIApp,
    listener: socket.socket,
    *,
    ready: Callable[[], None],
    beside: Callable[[], Awaitable[object]] | None = None,
) -> None:
    """Answer requests until the process is told to end (SIGINT, SIGTERM). Faults are logged to stderr.

    `ready` is called when requests are answered, and the process may be told. `beside` is done at the same
    time, and its end is the server's.
    """
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=form)
    settings: dict[str, Any] = {"log_config": None, "access_log": False, "ws": "none"}
    settings |= {"server_header": False, "proxy_headers": False, "http": _Protocol}
    server = _Server(uvicorn.Config(app, timeout_graceful_shutdown=_GRACE, **settings), ready)
    # uvicorn sends itself the signal once more when all is answered: then there is still an index to close.
    signal.signal(signal.SIGTERM, lambda *_: None)
    anyio.run(_serve, server, listener, beside)


async def _serve(
    server: uvicorn.Server, listener: socket.socket, beside: Callable[[], Awaitable[object]] | None
) -> None:
    async with anyio.create_task_group() as tasks:

        async def accompany(work: Callable[[], Awaitable[object]]) -> None:
            await work()
            server.should_exit = True

        if beside is not None:
            tasks.start_soon(accompany, beside)
        await server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()


class _Server(uvicorn.Server):
    """Says when it has begun."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


class _Protocol(H11Protocol):
    """Answers what is not HTTP in the form of all errors (H3)."""

    def send_400_response(self, msg: str) -> None:
        body = json.dumps({"detail": msg.rstrip("."), "status_code": 400}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
        answer = h11.Response(status_code=400, headers=[*headers, ("connection", "close")])
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _not_listening(host: str, port: int, error: OSError) -> Exception:
    match error.errno:
        case errno.EADDRINUSE:
            return BusyError(f"port {port} is in use", "choose another with --port, or end what uses it")
        case errno.EACCES:
            return ConflictError(f"port {port} may not be used", "choose one above 1023 with --port")
        case errno.EADDRNOTAVAIL:
            return UsageError(f"{host} is no address of this machine", "leave --host out")
    return BusyError(f"cannot listen on {host}:{port}: {error.strerror}")
