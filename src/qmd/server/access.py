"""Who may ask what over HTTP: keys, and the index as the one who shows a key may see it (H7)."""

from __future__ import annotations

import hmac
import logging
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from qmd.engine.index import Index
from qmd.errors import ConfigError
from qmd.server.audit import Audit
from qmd.server.body_limit import BodyLimit
from qmd.server.host_check import Allowed, HostCheck, refuse
from qmd.server.keys import IN_SCOPE, Key, Keys, key_of
from qmd.server.metrics import Metrics

#: Open to all: it says that the server lives, and nothing else.
HEALTH = "/health"
#: Open to the user's own command line alone (`qmd.server.run_handler`).
RUN = "/run"

#: Stands for the secret in the beacon: whoever can read that is the user.
OWNER = Key("(command line)", "")
_ASK_FOR_KEY = (b"www-authenticate", b"Bearer")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gate:
    """What looks at a request before it is answered, besides the guard. `secret` is the beacon's."""

    keys: Keys | None = None
    secret: str | None = None
    audit: Audit | None = None
    metrics: Metrics | None = None

    def before(self, app: ASGIApp, allowed: Allowed) -> ASGIApp:
        """An application behind the gate and the guard. What is refused is counted and written down too."""
        # Nobody's body is read who may not ask.
        app = HostCheck(Access(BodyLimit(app), self.keys, self.secret), allowed)
        if self.metrics is not None:
            app = self.metrics.watch(app)
        return app if self.audit is None else self.audit.watch(app)


def index_of(scope: Scope | None, index: Index) -> Index:
    """The index as the one may see it who sent a request; None: it did not come over HTTP."""
    key = None if scope is None else key_of(scope)
    if key is None or (key.collections is None and not key.read_only):
        return index
    return index.limited(key.collections, read_only=key.read_only)


class Access:
    """Lets in who shows a key, where there are keys; otherwise everyone.

    Keys count at once when they are made and no more when they are removed. Where there were any, the last to
    be removed opens nothing.
    """

    def __init__(self, app: ASGIApp, keys: Keys | None, secret: str | None) -> None:
        self._app = app
        self._keys = keys
        self._secret = secret
        self._required = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != HEALTH:
            token = _bearer(scope)
            try:
                key = self._key(token)
                required = scope["path"] == RUN or self._needs_key()
            except ConfigError as error:
                logger.error("refused a request: %s", error.in_one_line())
                await refuse(scope, receive, send, 503, "The keys of this server cannot be read")
                return
            if key is not None and (scope["path"] != RUN or key is OWNER):
                scope[IN_SCOPE] = key
            elif required:
                how = "This server needs a key: 'Authorization: Bearer KEY'"
                detail = how if token is None else "The key is not known"
                await refuse(scope, receive, send, 401, detail, _ASK_FOR_KEY)
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


def _bearer(scope: Scope) -> str | None:
    """What stands after `Authorization: Bearer`; nothing of a header that comes twice."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:
        return None
    scheme, _, token = given[0].decode("latin-1").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None
