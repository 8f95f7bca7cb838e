"""The listening socket, the HTTP server on it, and its log."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

import anyio
import uvicorn
from starlette.types import ASGIApp

from qmd.errors import BusyError, ConflictError, UsageError
from qmd.server.connections import Connection, Limits
from qmd.server.host_check import is_loopback
from qmd.server.installation import replaced
from qmd.server.logs import client_logger, configure

#: Seconds for requests in progress when the server shuts down.
_GRACE = 5
#: Maximum number of connections that wait to be accepted, and of connections accepted at once before the
#: limit on connections is checked.
_BACKLOG = 1024
_ACCEPTED_AT_ONCE = 16
#: Seconds between two checks of the connections, and the number of uvicorn's ticks in them.
_CHECK_SECONDS = 1.0
_CHECK_TICKS = 10
#: Errors of a system that has no resources for another connection.
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

logger = client_logger(__name__)


def listen(host: str, port: int, *, insecure: bool = False) -> socket.socket:
    """Return a listening socket. Port 0 is any free port.

    If other machines can reach the host, `insecure` must be set.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"no such host: {host}", "give a host name or address of this machine") from error
    if not insecure and not is_loopback(str(address[0])):
        raise UsageError(
            f"other machines can reach {host}, and without a key they could read all documents",
            "create a key with 'qmd server keys add NAME', or add --insecure to allow this",
        )
    listener = socket.socket(family, kind, protocol)
    try:
        # Allow the port of a server that has just stopped.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise _listen_error(host, port, error) from error
    return listener


def url(listener: socket.socket, path: str = "") -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


def serve(
    app: ASGIApp,
    listener: socket.socket,
    *,
    ready: Callable[[], None],
    limits: Limits,
    beside: Callable[[], Awaitable[object]] | None = None,
) -> None:
    """Answer requests until the process gets SIGINT or SIGTERM. Errors are logged to stderr.

    `ready` is called when the server accepts requests and handles signals. `beside` runs at the same time;
    when it ends, the server shuts down. The process ends with 1 if the package is replaced.
    """
    configure()
    settings: dict[str, Any] = {"log_config": None, "access_log": False, "ws": "none"}
    settings |= {"server_header": False, "proxy_headers": False, "http": partial(Connection, limits)}
    settings |= {"timeout_keep_alive": limits.idle, "backlog": _ACCEPTED_AT_ONCE}
    server = _Server(uvicorn.Config(app, timeout_graceful_shutdown=_GRACE, **settings), ready)
    # uvicorn raises the signal again after its shutdown. Ignore it, because the index must still be closed.
    signal.signal(signal.SIGTERM, lambda *_: None)
    anyio.run(_serve, server, listener, beside)
    if server.replaced:
        raise SystemExit(1)


async def _serve(
    server: _Server, listener: socket.socket, beside: Callable[[], Awaitable[object]] | None
) -> None:
    asyncio.get_running_loop().set_exception_handler(_log_exception)
    async with anyio.create_task_group() as tasks:

        async def shut_down_after(work: Callable[[], Awaitable[object]]) -> None:
            await work()
            server.end()

        async def shut_down_if_replaced() -> None:
            await replaced()
            server.replaced = True
            server.end()

        tasks.start_soon(shut_down_if_replaced)
        if beside is not None:
            tasks.start_soon(shut_down_after, beside)
        await server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()


class _Server(uvicorn.Server):
    """Calls `ready` after the start, and checks the connections every second."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self.replaced = False  # whether it ends for another version of its package
        self._ending = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def end(self) -> None:
        """Shut down. May be called by a signal handler."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._ending.set)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)
        self._ready()

    async def main_loop(self) -> None:
        # uvicorn wakes up ten times a second, which is most of the cost of an idle server.
        counter = 0
        while not await self.on_tick(counter):
            counter += _CHECK_TICKS
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _CHECK_SECONDS)

    async def on_tick(self, counter: int) -> bool:
        now = asyncio.get_running_loop().time()
        for connection in [*self.server_state.connections]:
            if isinstance(connection, Connection):
                connection.check(now)
        return await super().on_tick(counter)


def _log_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an exception of the event loop, without a traceback if the system lacks resources."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        logger.warning("cannot accept connections: %s", error.strerror)
    else:
        loop.default_exception_handler(context)


def _listen_error(host: str, port: int, error: OSError) -> Exception:
    match error.errno:
        case errno.EADDRINUSE:
            return BusyError(
                f"port {port} is in use", "choose another with --port, or stop the program that uses it"
            )
        case errno.EACCES:
            return ConflictError(f"no permission to use port {port}", "choose a port above 1023 with --port")
        case errno.EADDRNOTAVAIL:
            return UsageError(f"{host} is not an address of this machine", "leave out --host")
    return BusyError(f"cannot listen on {host}:{port}: {error.strerror}")
