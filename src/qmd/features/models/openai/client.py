"""The HTTP client for OpenAI-compatible servers."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from qmd.errors import ModelError
from qmd.features.models.remote import RefusedError
from qmd.models.address import ModelAddress
from qmd.models.retry import TRANSIENT_STATUSES, TransientError, retry, without_errno

if TYPE_CHECKING:
    import httpx2

#: Seconds to connect. It is short so that a server that is down is reported quickly.
_CONNECT_TIMEOUT = 5.0
#: Characters of a server's error message that are quoted.
_MAX_QUOTE = 200
#: Bytes of a reply: 64 vectors of 8,192 numbers written out take about 10 MB.
_MAX_REPLY = 64_000_000
#: Bytes of a reply in parts, each of which has about 300 beside a few letters.
_MAX_STREAM = 8_000_000


class OpenAIClient:
    """Sends requests to one server and reuses its connections. Safe to call from several threads.

    The API key is only sent over an encrypted connection or to this machine. `timeout` is in seconds, for
    each reply.
    """

    loaded = False

    def __init__(self, address: ModelAddress, key: str | None = None, *, timeout: float) -> None:
        self.address = address
        self._key = key if key and address.is_encrypted else None
        self._withheld = bool(key) and not address.is_encrypted
        self._timeout = timeout
        self._lock = threading.Lock()
        self._http: httpx2.Client | None = None

    def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """Return the reply to a request as parsed JSON, after further attempts if the first one fails."""
        return retry(lambda: self._attempt(path, payload))

    def stream(
        self, path: str, payload: Mapping[str, Any], seconds: float, on_part: Callable[[Any], bool]
    ) -> None:
        """Give the parts of a reply to `on_part` until it returns true, in one attempt.

        A server that does not know streams sends one part.
        """
        try:
            with self._reported(seconds), self._opened(path, payload, seconds) as response:
                lines = self._lines(response)
                if not response.is_success:
                    raise self._refusal(response, b"\n".join(lines))
                whole: list[bytes] | None = []
                for line in lines:
                    if line.startswith(b"data:"):
                        data, whole = line.removeprefix(b"data:").strip(), None
                        if data == b"[DONE]" or on_part(self._parsed(data)):
                            return
                    elif whole is not None:
                        whole.append(line)
                if whole is not None:
                    on_part(self._parsed(b"\n".join(whole)))
        except TransientError as error:
            raise error.final from error.__cause__

    def _attempt(self, path: str, payload: Mapping[str, Any]) -> Any:
        with self._reported(self._timeout):
            response, body = self._send(path, payload)
        if response.status_code in TRANSIENT_STATUSES:
            raise TransientError(self._refusal(response, body), _retry_after(response))
        if not response.is_success:
            raise self._refusal(response, body)
        return self._parsed(body)

    @contextmanager
    def _reported(self, seconds: float) -> Iterator[None]:
        """Raise the errors of HTTP as those of the server."""
        import httpx2

        try:
            yield
        except httpx2.ConnectError as error:
            reason = without_errno(error)
            raise self._error(f"cannot be reached: {reason}", "Start it, or use another model.") from error
        except httpx2.TimeoutException as error:
            # Not repeated: another attempt would take as long.
            raise self._error(
                f"did not answer within {seconds:g} s", "Raise QMD_SERVER_TIMEOUT to wait longer."
            ) from error
        except httpx2.TransportError as error:
            raise TransientError(self._error(f"closed the connection: {error}")) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._error(f"cannot be used: {error}") from error

    def _parsed(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise TransientError(self._error(f"sent a reply that is not JSON: {error}")) from error

    def _opened(
        self, path: str, payload: Mapping[str, Any], seconds: float
    ) -> AbstractContextManager[httpx2.Response]:
        import httpx2

        # ASCII, because a text may contain a lone surrogate, which UTF-8 cannot encode.
        content = json.dumps(payload).encode("ascii")
        limits = httpx2.Timeout(seconds, connect=min(_CONNECT_TIMEOUT, seconds))
        return self._session().stream("POST", self.address.base + path, content=content, timeout=limits)

    def _lines(self, response: httpx2.Response) -> Iterator[bytes]:
        """Yield the lines of a reply as they arrive."""
        left, size = b"", 0
        for piece in response.iter_bytes():
            size += len(piece)
            if size > _MAX_STREAM:
                raise self._error(f"sent a reply of more than {_MAX_STREAM // 1_000_000} MB")
            *lines, left = (left + piece).split(b"\n")
            yield from lines
        yield left

    def _send(self, path: str, payload: Mapping[str, Any]) -> tuple[httpx2.Response, bytes]:
        with self._opened(path, payload, self._timeout) as response:
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MAX_REPLY:
                    raise self._error(f"sent a reply of more than {_MAX_REPLY // 1_000_000} MB")
            return response, bytes(body)

    def _session(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._http is None:
                headers = {"Content-Type": "application/json", "Accept": "application/json"}
                if self._key:
                    headers["Authorization"] = f"Bearer {self._key}"
                self._http = httpx2.Client(
                    headers=headers,
                    timeout=httpx2.Timeout(self._timeout, connect=min(_CONNECT_TIMEOUT, self._timeout)),
                    # Proxies are for other machines only.
                    trust_env=not self.address.is_local,
                )
                # A running request holds a reference to this object, so no request is interrupted.
                weakref.finalize(self, self._http.close)
            return self._http

    def _refusal(self, response: httpx2.Response, body: bytes) -> RefusedError:
        status = response.status_code
        message = _error_message(body)
        if self._key:
            message = message.replace(self._key, "***")
        error = self._error(f"answered {status}{f': {message}' if message else ''}", self._hint(status))
        return RefusedError(error.message, error.hint, status)

    def _hint(self, status: int) -> str | None:
        match status:
            case 401 | 403 if self._withheld:
                return "The API key is only sent over an encrypted connection: use https."
            case 401 | 403 if self._key:
                return "Check the API key in QMD_OPENAI_API_KEY or models.openai_api_key_file."
            case 401 | 403:
                return "It requires an API key: set QMD_OPENAI_API_KEY or models.openai_api_key_file."
            case 404:
                return "Check the model's name and the address, which usually ends in /v1."
            case 429:
                return "The server's rate limit is reached: try again later."
        return None

    def _error(self, reason: str, hint: str | None = None) -> ModelError:
        return ModelError(f"The server of '{self.address}' {reason}", hint)


def _retry_after(response: httpx2.Response) -> float | None:
    """Return the seconds that the server asks to wait; None for a date or a missing header."""
    text = response.headers.get("Retry-After", "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _error_message(body: bytes) -> str:
    """Return the message in an error's body on one line."""
    text = body.decode("utf-8", "replace")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    while isinstance(content, dict):
        content = next((content[key] for key in ("error", "message", "detail") if key in content), None)
    line = " ".join((content if isinstance(content, str) else text).split())
    return line if len(line) <= _MAX_QUOTE else line[: _MAX_QUOTE - 1] + "…"
