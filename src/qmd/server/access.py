"""Access control over HTTP: keys, and the index as the holder of a key may see it."""

from __future__ import annotations

import hmac

import anyio
from msgspec import Struct
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from qmd.engine.index import Index
from qmd.errors import ConfigError
from qmd.server.audit import Audit
from qmd.server.body_limit import BodyLimit
from qmd.server.discovery import RUN
from qmd.server.host_check import Allowed, HostCheck, refuse
from qmd.server.keys import SCOPE_KEY, Key, Keys, key_of
from qmd.server.logs import client_logger
from qmd.server.metrics import Metrics
from qmd.server.pages import PageSource
from qmd.server.peers import PEER, REFUSAL, Peer

#: Needs no key, because it only says that the server is running.
HEALTH = "/health"
#: Says how to ask.
DOCS = "/docs"
#: The path of MCP.
MCP = "/mcp"
#: The key of a request with the secret of the advertisement, which only the user can read.
OWNER = Key("(command line)", "")
#: Answers of at least this many bytes are compressed, by a level of zlib that is fast.
_MIN_COMPRESSED = 1_000
_COMPRESSION = 4
_METHODS = ("GET", "POST", "PUT", "DELETE")
_CHALLENGE = (b"www-authenticate", b"Bearer")

logger = client_logger(__name__)


class Gate(Struct, frozen=True):
    """The checks before each request, besides those of `HostCheck`.

    `secret` is that of the advertisement. Without keys, `own_user` refuses connections of other users.
    """

    keys: Keys | None = None
    secret: str | None = None
    own_user: bool = False
    audit: Audit | None = None
    metrics: Metrics | None = None

    def wrap(self, app: ASGIApp, allowed: Allowed, pages: PageSource | None = None) -> ASGIApp:
        """Return an application behind all checks. Refused requests are also counted and logged.

        `pages` are the parts of the application that people sign in to.
        """
        # Check the key before reading the request body.
        checked: ASGIApp = Access(BodyLimit(app), self.keys, self.secret, pages, own_user=self.own_user)
        checked = GZipMiddleware(
            checked,
            _MIN_COMPRESSED,
            _COMPRESSION,
            exclude_content_types=(*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/pdf"),
        )
        if allowed.origins:
            # Without credentials: pages of other origins send a key, and get no cookies.
            checked = CORSMiddleware(checked, allowed.origins, _METHODS, ["*"], allow_private_network=True)
        checked = HostCheck(
            checked, allowed, lambda path: path == DOCS or (pages is not None and pages.may_be_linked(path))
        )
        if self.metrics is not None:
            checked = self.metrics.wrap(checked)
        if self.audit is not None:
            checked = self.audit.wrap(checked, None if pages is None else pages.target)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            # The only other scope is the lifespan of the application.
            await (checked if scope["type"] == "http" else app)(scope, receive, send)

        return answer


def index_of(scope: Scope | None, index: Index) -> Index:
    """Return the index as the sender of a request may see it.

    `scope` is None if the request did not come over HTTP; its sender may see the whole index.
    """
    key = None if scope is None else key_of(scope)
    return index if key is None else key.index_of(index)


class Access:
    """Refuses requests without a valid key if there are keys; otherwise those of other users, if it shall.

    New and removed keys take effect at once. After the last key has been removed, the server still requires
    a key until it is restarted.
    """

    def __init__(
        self,
        app: ASGIApp,
        keys: Keys | None,
        secret: str | None,
        pages: PageSource | None = None,
        *,
        own_user: bool = False,
    ) -> None:
        self._app = app
        self._own_user = own_user
        self._pages = pages
        self._keys = keys
        self._secret = secret
        self._required = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != HEALTH:
            token = _bearer(scope)
            page = self._pages if self._pages is not None and self._pages.owns(scope["path"]) else None
            try:
                key = self._key(token) if page is None or token is not None else page.key(scope)
                required = scope["path"] == RUN or self._needs_key()
            except ConfigError as error:
                logger.error("refused a request: %s", error.in_one_line())
                await refuse(scope, receive, send, 503, "The keys of this server cannot be read")
                return
            if key is not None and (scope["path"] != RUN or key is OWNER):
                scope[SCOPE_KEY] = key
            elif required and page is not None:
                await (self._app if page.is_public(scope["path"]) else page.refuse)(scope, receive, send)
                return
            elif required:
                usage = "This server needs a key: 'Authorization: Bearer KEY'"
                detail = usage if token is None else "The key is not known"
                await refuse(scope, receive, send, 401, detail, _CHALLENGE)
                return
            elif self._own_user and not await _is_of_own_user(scope):
                await refuse(scope, receive, send, 401, REFUSAL, _CHALLENGE)
                return
        await self._app(scope, receive, send)

    def _key(self, token: str | None) -> Key | None:
        if token is None:
            return None
        if self._secret is not None and hmac.compare_digest(token.encode(), self._secret.encode()):
            return OWNER
        return None if self._keys is None else self._keys.find(token)

    def _needs_key(self) -> bool:
        self._required = self._required or (self._keys is not None and self._keys.any())
        return self._required


async def _is_of_own_user(scope: Scope) -> bool:
    peer: Peer | None = scope.get("state", {}).get(PEER)
    if peer is None:
        return False
    # It is looked up once for a connection, in a thread because that can take long.
    return (
        await anyio.to_thread.run_sync(getattr, peer, "is_own_user") if not peer.known else peer.is_own_user
    )


def _bearer(scope: Scope) -> str | None:
    """Return the token after `Authorization: Bearer`; None if the header is missing or repeated."""
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(values) != 1:
        return None
    scheme, _, token = values[0].decode("latin-1").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None
