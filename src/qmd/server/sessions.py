"""Sessions of the web page: who has signed in with a key, and the cookie that proves it."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie

from qmd.server.keys import Key, Keys

#: Seconds after its last use that a session ends.
IDLE = 12 * 3600.0
#: Maximum number of sessions. The one that was unused for longest ends first.
MAX_SESSIONS = 1_000


class Sessions:
    """Maps random tokens to the digests of keys, in memory.

    The cookie has the token and not the key, because browsers send a cookie to every port of a host. A
    session ends with the server, after `IDLE` seconds without a request, and with its key.
    """

    def __init__(self, keys: Keys, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._clock = clock
        self._lock = threading.Lock()
        #: The digest of the key and the time of the last request, by token; last used last.
        self._sessions: dict[str, tuple[str, float]] = {}

    def start(self, secret: str) -> str | None:
        """Return the token of a new session for the holder of a key; None if the key is not known."""
        key = self._keys.find(secret)
        if key is None:
            return None
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._sessions[token] = key.digest, self._clock()
            while len(self._sessions) > MAX_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        return token

    def key(self, token: str) -> Key | None:
        """Return the key of a session; None if the session or the key has ended."""
        with self._lock:
            digest, used = self._sessions.pop(token, ("", 0.0))
            if not digest or self._clock() - used > IDLE:
                return None
            self._sessions[token] = digest, self._clock()
        key = next((key for key in self._keys.all() if key.digest == digest), None)
        if key is None:
            self.end(token)
        return key

    def end(self, token: str) -> None:
        with self._lock:
            self._sessions.pop(token, None)


def cookie_name(headers: Mapping[str, str]) -> str:
    """Return the name of the cookie of a server. It has the port, because ports share cookies."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"qmd_session_{port}" if port.isdigit() else "qmd_session"


def token_of(headers: Mapping[str, str]) -> str | None:
    """Return the token in the cookie of a request, or None."""
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return None
    morsel = cookies.get(cookie_name(headers))
    return None if morsel is None else morsel.value


def set_cookie(headers: Mapping[str, str], token: str, *, secure: bool) -> str:
    """Return the header `Set-Cookie` that starts a session, or ends it if the token is empty."""
    more = ("; Secure" if secure else "") + ("" if token else "; Max-Age=0")
    return f"{cookie_name(headers)}={token}; Path=/; HttpOnly; SameSite=Strict{more}"
