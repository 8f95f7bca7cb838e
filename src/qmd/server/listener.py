"""Listening for HTTP: the socket, and the server on it."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import uvicorn
from starlette.types import ASGIApp

from qmd.errors import BusyError, ConflictError, UsageError
from qmd.server.connections import Connection, Limits
from qmd.server.host_check import is_loopback
from qmd.server.logs import configure

#: Requests that are still answered when the server is told to end have this many seconds.
_GRACE = 5
#: Connections that wait to be accepted, and how many are accepted before any of them is counted.
_BACKLOG = 1024
_ACCEPTED_AT_ONCE = 16
#: Of uvicorn's ticks, ten a second, the connections are checked at every so many.
_TICKS = 10
#: What the system lacks if it does not accept a connection.
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

logger = logging.getLogger(__name__)


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
    limits: Limits = Limits(),  # noqa: B008 - it is frozen
    beside: Callable[[], Awaitable[object]] | None = None,
) -> None:
    """Answer requests until the process is told to end (SIGINT, SIGTERM). Faults are logged to stderr.

    `ready` is called when requests are answered, and the process may be told. `beside` is done at the same
    time, and its end is the server's.
    """
    configure()
    settings: dict[str, Any] = {"log_config": None, "access_log": False, "ws": "none"}
    settings |= {"server_header": False, "proxy_headers": False, "http": partial(Connection, limits)}
    settings |= {"timeout_keep_alive": limits.idle, "backlog": _ACCEPTED_AT_ONCE}
    server = _Server(uvicorn.Config(app, timeout_graceful_shutdown=_GRACE, **settings), ready)
    # uvicorn sends itself the signal once more when all is answered: then there is still an index to close.
    signal.signal(signal.SIGTERM, lambda *_: None)
    anyio.run(_serve, server, listener, beside)


async def _serve(
    server: uvicorn.Server, listener: socket.socket, beside: Callable[[], Awaitable[object]] | None
) -> None:
    asyncio.get_running_loop().set_exception_handler(_log_fault)
    async with anyio.create_task_group() as tasks:

        async def accompany(work: Callable[[], Awaitable[object]]) -> None:
            await work()
            server.should_exit = True

        if beside is not None:
            tasks.start_soon(accompany, beside)
        await server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()


class _Server(uvicorn.Server):
    """Says when it has begun, and checks the connections every second."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)
        self._ready()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0:
            now = asyncio.get_running_loop().time()
            for connection in [*self.server_state.connections]:
                if isinstance(connection, Connection):
                    connection.check(now)
        return await super().on_tick(counter)


def _log_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what went wrong in the event loop; for lack of open files, without a traceback."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        logger.warning("cannot accept connections: %s", error.strerror)
    else:
        loop.default_exception_handler(context)


def _not_listening(host: str, port: int, error: OSError) -> Exception:
    match error.errno:
        case errno.EADDRINUSE:
            return BusyError(f"port {port} is in use", "choose another with --port, or end what uses it")
        case errno.EACCES:
            return ConflictError(f"port {port} may not be used", "choose one above 1023 with --port")
        case errno.EADDRNOTAVAIL:
            return UsageError(f"{host} is no address of this machine", "leave --host out")
    return BusyError(f"cannot listen on {host}:{port}: {error.strerror}")
