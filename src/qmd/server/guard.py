"""Who may ask over HTTP, and how much: the first to see a request, and to refuse it (H3, H6, H8)."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: A request's body is at most this large, in bytes.
MAX_BODY = 10_000_000

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s\[\]:/?#@,]+)(?::[0-9]{1,5})?")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The hosts that this server is called by, and the origins of web pages that may call it.

    Loopback is always allowed. A name in `hosts` is good with every port, `name:port` with that one. `beyond`
    loopback every address in numbers is allowed: a page that rebinds its name to this server sends that name.
    """

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    beyond: bool = False

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], bound: str) -> Self:
        """As `QMD_ALLOWED_HOSTS` and `QMD_ALLOWED_ORIGINS` say, for a server bound to a host."""
        hosts = _words(environ.get("QMD_ALLOWED_HOSTS", ""))
        origins = _words(environ.get("QMD_ALLOWED_ORIGINS", ""))
        return cls(hosts | {bound.lower()}, origins, beyond=not is_loopback(bound))

    def host(self, value: str) -> bool:
        """Whether a `Host` header is one of ours."""
        name = _name(value)
        if name is None:
            return False
        if is_loopback(name) or name in self.hosts or value.lower() in self.hosts:
            return True
        return self.beyond and _address(name) is not None

    def origin(self, value: str, host: str | None = None) -> bool:
        """Whether an `Origin` header is that of a page that may call: one of ours (at `host`) may."""
        if value.lower().rstrip("/") in self.origins:
            return True
        scheme, _, place = value.partition("://")
        ours = place.lower() == host.lower() if host else False
        return scheme in ("http", "https") and (ours or is_loopback(_name(place) or ""))


class Guard:
    """Refuses foreign hosts and origins, and bodies that are too large; cancels what a client left.

    Refusals are `{"detail": ..., "status_code": ...}`.
    """

    def __init__(self, app: ASGIApp, allowed: Allowed, max_body: int = MAX_BODY) -> None:
        self._app = app
        self._allowed = allowed
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        host, origin = headers.get("host"), headers.get("origin")
        if host is not None and not self._allowed.host(host):
            await self._forbid(send, "Host", host, "QMD_ALLOWED_HOSTS")
            return
        if origin is not None and not self._allowed.origin(origin, host):
            await self._forbid(send, "Origin", origin, "QMD_ALLOWED_ORIGINS")
            return
        declared = headers.get("content-length", "0")
        too_large = declared.isdigit() and int(declared[:20]) > self._max_body
        body = None if too_large else await self._body(receive)
        if body is None:
            await refuse(send, 413, f"The body is larger than {self._max_body:,} bytes")
            return
        try:
            await self._while_connected(scope, body, receive, send)
        except asyncio.CancelledError:
            # The server ends, and waits no longer. An answer that has begun stays cut off.
            with suppress(RuntimeError):
                await refuse(send, 503, "The server is ending")

    async def _forbid(self, send: Send, header: str, value: str, variable: str) -> None:
        logger.warning("refused a request with %s: %.200r", header, value)
        await refuse(send, 403, f"{header} is not allowed; {variable} names more that are")

    async def _body(self, receive: Receive) -> bytes | None:
        """The request's body, or what came of it before the client left; None for one that is too large."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b"".join(parts)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_body:
                return None
            if not message.get("more_body"):
                return b"".join(parts)

    async def _while_connected(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Have the request answered, unless its client goes away before it is."""
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            return await receive()

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await self._app(scope, replay, send)
            tasks.cancel_scope.cancel()


async def refuse(send: Send, status: int, detail: str, *more: tuple[bytes, bytes]) -> None:
    """Answer with an error, in the form of all errors of this server; `more` are headers."""
    body = json.dumps({"detail": detail, "status_code": status}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
    await send({"type": "http.response.body", "body": body})


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine, for this machine only."""
    if host.lower() == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _name(host: str) -> str | None:
    """The name in `name:port`, small, an IPv6 address without brackets; None where it is no such thing."""
    match = _HOST.fullmatch(host)
    return match[1].strip("[]").lower() if match else None


def _headers(scope: Scope) -> dict[str, str]:
    """Headers by small name; one that comes twice is joined, and so none that is allowed."""
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        text = value.decode("latin-1").strip()
        found[name] = f"{found[name]},{text}" if name in found else text
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip().lower().rstrip("/") for word in text.split(",") if word.strip())
