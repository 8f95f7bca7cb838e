"""The check of the headers Host and Origin, against DNS rebinding and requests from foreign web pages."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from typing import Self

from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from qmd.server.logs import client_logger

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s\[\]:/?#@,]+)(?::[0-9]{1,5})?")

#: Maximum number of bytes of a refused request's body that are read before the connection is closed.
MAX_DISCARDED = 100_000_000

#: What browsers say about the page that a request comes from.
_SITE = "sec-fetch-site"

logger = client_logger(__name__)


class Allowed(Struct, frozen=True):
    """The allowed values of the headers Host and Origin. Loopback is always allowed."""

    #: `name` with any port, or `name:port`.
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    #: Every IP address is safe as host, because a web page that rebinds a name to this server sends the name.
    any_address: bool = False

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], bound: str) -> Self:
        """Read `QMD_ALLOWED_HOSTS` and `QMD_ALLOWED_ORIGINS` for a server bound to a host."""
        hosts = _words(environ.get("QMD_ALLOWED_HOSTS", ""))
        origins = _words(environ.get("QMD_ALLOWED_ORIGINS", ""))
        return cls(hosts | {bound.lower()}, origins, any_address=not is_loopback(bound))

    def allows_host(self, value: str) -> bool:
        """Return whether a `Host` header is allowed."""
        name = _name(value)
        if name is None:
            return False
        if is_loopback(name) or name in self.hosts or value.lower() in self.hosts:
            return True
        return self.any_address and _address(name) is not None

    def names_origin(self, value: str | None) -> bool:
        """Return whether an `Origin` header is one of the environment."""
        return value is not None and value.lower().rstrip("/") in self.origins

    def allows_origin(self, value: str, host: str | None = None) -> bool:
        """Return whether an `Origin` header is allowed. An origin on the request's own `host` is."""
        if self.names_origin(value):
            return True
        scheme, _, address = value.partition("://")
        same_host = address.lower() == host.lower() if host else False
        return scheme in ("http", "https") and (same_host or is_loopback(_name(address) or ""))


class HostCheck:
    """Refuses requests with a foreign Host or Origin, and those that pages of other sites send.

    Browsers name no origin if such a page shows an image or leads somewhere, but they say that it is of
    another site. It may lead to what `is_linkable` accepts.
    """

    def __init__(
        self, app: ASGIApp, allowed: Allowed, is_linkable: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._app = app
        self._allowed = allowed
        self._is_linkable = is_linkable

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = headers_of(scope)
        host, origin = headers.get("host"), headers.get("origin")
        if host is not None and not self._allowed.allows_host(host):
            await self._forbid(scope, receive, send, "Host", host, "QMD_ALLOWED_HOSTS")
            return
        if origin is not None and not self._allowed.allows_origin(origin, host):
            await self._forbid(scope, receive, send, "Origin", origin, "QMD_ALLOWED_ORIGINS")
            return
        if (
            is_foreign(headers)
            and not self._allowed.names_origin(origin)
            and not (_leads_here(scope, headers) and self._is_linkable(scope["path"]))
        ):
            await self._forbid(scope, receive, send, "Origin", headers[_SITE], "QMD_ALLOWED_ORIGINS")
            return
        await self._app(scope, receive, send)

    async def _forbid(
        self, scope: Scope, receive: Receive, send: Send, header: str, value: str, variable: str
    ) -> None:
        logger.warning("refused a request with %s: %.200r", header, value)
        detail = f"{header} is not allowed; add it to the environment variable {variable} of the server"
        await refuse(scope, receive, send, 403, detail)


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Return whether a browser says that a page of another site sends a request, or leads to it."""
    return headers.get(_SITE) in ("cross-site", "same-site")


def _leads_here(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Return whether a browser shows the answer as a page of its own."""
    shown = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return scope["method"] in ("GET", "HEAD") and shown == ("navigate", "document")


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, detail: str, *headers: tuple[bytes, bytes]
) -> None:
    """Answer with an error in the server's common form, with additional headers.

    The rest of the body is read and discarded up to a limit. Many clients read the answer only after they
    have sent the whole body, and would not see it if the connection were closed first.
    """
    body = json.dumps({"detail": detail, "status_code": status}).encode()
    entity = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*entity, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    # A client that sent `Expect: 100-continue` now has its answer and sends no body.
    if "expect" not in headers_of(scope):
        await _discard(receive)
    await send({"type": "http.response.body", "body": b""})


async def _discard(receive: Receive) -> None:
    remaining = MAX_DISCARDED
    while remaining > 0:
        message = await receive()
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return
        remaining -= len(message["body"])


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is a loopback address."""
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
    """Return the name in `name:port` in lower case, IPv6 without brackets; None if the syntax is wrong."""
    match = _HOST.fullmatch(host)
    return match[1].strip("[]").lower() if match else None


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name. Repeated headers are joined, so that no check accepts them."""
    headers: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        text = value.decode("latin-1").strip()
        headers[name] = f"{headers[name]},{text}" if name in headers else text
    return headers


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip().lower().rstrip("/") for word in text.split(",") if word.strip())
