"""The time limit of a connection whose client reads its answer slowly."""

from __future__ import annotations

import asyncio
import socket

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from qmd.server.connections import Connection, Limits

SIZE = 4_000_000


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x" * SIZE})


async def reads(part: int, seconds: float, times: int) -> bool:
    """Return whether a connection stays open if a client takes `part` bytes of an answer every `seconds`."""
    loop = asyncio.get_running_loop()
    here, there = socket.socketpair()
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    there.setblocking(False)
    config = uvicorn.Config(answer, log_config=None)
    config.load()

    def connection() -> Connection:
        return Connection(Limits(progress=15), config=config, server_state=ServerState(), app_state={})

    transport, protocol = await loop.create_connection(connection, sock=here)
    await loop.sock_sendall(there, b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
    await loop.sock_recv(there, 1)
    now = loop.time()
    for _ in range(times):
        left = part
        while left:
            left -= len(await loop.sock_recv(there, min(left, 1_000)))
        now += seconds
        protocol.check(now)
        if transport.is_closing():
            break
    is_open = not transport.is_closing()
    transport.abort()
    there.close()
    return is_open


@pytest.mark.parametrize(
    ("part", "seconds", "stays"),
    [(0, 5, False), (3_000, 1, False), (100_000, 1, True), (200_000, 10, True)],
)
def test_client_keeps_its_connection_if_it_reads_enough(part: int, seconds: float, stays: bool) -> None:
    async def talk() -> bool:
        return await reads(part, seconds, 10 if stays else 40)

    assert asyncio.run(talk()) is stays
