"""Who may ask over HTTP, and from where: the first to see a request, and to refuse it (H3, H6)."""

from __future__ import annotations

import ipaddress
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from starlette.types import ASGIApp, Receive, Scope, Send

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s\[\]:/?#@,]+)(?::[0-9]{1,5})?")

#: Of the body of a request that is refused, as much is read before the connection is closed, in bytes.
MAX_DISCARDED = 100_000_000

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


class HostCheck:
    """Refuses foreign hosts and origins, with `{"detail": ..., "status_code": ...}`."""

    def __init__(self, app: ASGIApp, allowed: Allowed) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = headers_of(scope)
        host, origin = headers.get("host"), headers.get("origin")
        if host is not None and not self._allowed.host(host):
            await self._forbid(scope, receive, send, "Host", host, "QMD_ALLOWED_HOSTS")
            return
        if origin is not None and not self._allowed.origin(origin, host):
            await self._forbid(scope, receive, send, "Origin", origin, "QMD_ALLOWED_ORIGINS")
            return
        await self._app(scope, receive, send)

    async def _forbid(
        self, scope: Scope, receive: Receive, send: Send, header: str, value: str, variable: str
    ) -> None:
        logger.warning("refused a request with %s: %.200r", header, value)
        detail = f"{header} is not allowed; {variable} names more that are"
        await refuse(scope, receive, send, 403, detail)


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, detail: str, *more: tuple[bytes, bytes]
) -> None:
    """Answer with an error, in the form of all errors of this server; `more` are headers.

    A body that is still arriving is read and thrown away, up to a bound: many clients read an answer only
    once they have sent all, and never see it if the connection is closed before.
    """
    body = json.dumps({"detail": detail, "status_code": status}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    # A client that asked whether to send its body has the answer, and sends none.
    if "expect" not in headers_of(scope):
        await _discard(receive)
    await send({"type": "http.response.body", "body": b""})


async def _discard(receive: Receive) -> None:
    left = MAX_DISCARDED
    while left > 0:
        message = await receive()
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return
        left -= len(message["body"])


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


def headers_of(scope: Scope) -> dict[str, str]:
    """Headers by small name; one that comes twice is joined, and so none that is allowed."""
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        text = value.decode("latin-1").strip()
        found[name] = f"{found[name]},{text}" if name in found else text
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip().lower().rstrip("/") for word in text.split(",") if word.strip())
