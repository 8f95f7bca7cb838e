"""A server's HTTP, in the shape that OpenAI gave it: JSON posted, JSON back, tried again where that helps."""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from qmd.errors import ModelError
from qmd.models.openai.address import Address
from qmd.models.served import RefusedError

if TYPE_CHECKING:
    import httpx2

#: Answers that may be others a moment later: too many requests, and a server in trouble.
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_ATTEMPTS = 4
#: Seconds to wait before the second attempt, doubled for each further one, and the most there may be.
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
#: Seconds for a connection to come about: a server that is down is told at once.
_CONNECT = 5.0
#: Characters of a server's own words in an error.
_QUOTED = 200
#: Bytes of an answer: 64 vectors of 8,192 numbers written out take about 10 MB.
_MOST_BYTES = 64_000_000


class Client:
    """Posts to one server. Safe to call from several threads; connections are kept and used again.

    `timeout` is in seconds, for each answer; `wait` is how time is passed between attempts.
    """

    def __init__(
        self,
        address: Address,
        key: str | None = None,
        *,
        timeout: float,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address = address
        self._key = key if key and address.is_private else None
        self._withheld = bool(key) and not address.is_private
        self._timeout = timeout
        self._wait = wait
        self._lock = threading.Lock()
        self._http: httpx2.Client | None = None

    @property
    def loaded(self) -> bool:
        return False

    def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """The answer to a request, as JSON read.

        Raises `RefusedError` for an answer that says no, `ModelError` for a server that is down, too slow, or
        answers what is no JSON, each once another attempt would not help any more.
        """
        import httpx2

        pause = _FIRST_WAIT
        for attempt in range(1, _ATTEMPTS + 1):
            wanted: float | None = None
            try:
                return self._attempt(path, payload)
            except httpx2.ConnectError as error:
                raise self._fail(
                    f"cannot be reached: {_in_words(error)}", "Start it, or use another model."
                ) from error
            except httpx2.TimeoutException as error:
                # What took a minute once would take it again.
                raise self._fail(
                    f"did not answer within {self._timeout:g} s", "QMD_SERVER_TIMEOUT gives it more seconds."
                ) from error
            except _PassingError as error:
                if attempt == _ATTEMPTS:
                    raise error.final from error.__cause__
                wanted = error.retry_after
            except httpx2.TransportError as error:
                if attempt == _ATTEMPTS:
                    raise self._fail(f"broke off: {error}") from error
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise self._fail(f"cannot be asked: {error}") from error
            self._wait(min(_LONGEST_WAIT, pause if wanted is None else wanted))
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, path: str, payload: Mapping[str, Any]) -> Any:
        import json

        # Escaped throughout: half a surrogate pair is no UTF-8, and a text may hold one.
        content = json.dumps(payload).encode("ascii")
        with self._session().stream("POST", self.address.base + path, content=content) as response:
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise self._fail("answered more than a model can have to say")
        if response.status_code in _PASSING:
            raise _PassingError(self._refused(response, body), _retry_after(response))
        if not response.is_success:
            raise self._refused(response, body)
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise _PassingError(self._fail(f"answered what is not JSON: {error}")) from error

    def _session(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._http is None:
                headers = {"Content-Type": "application/json", "Accept": "application/json"}
                if self._key:
                    headers["Authorization"] = f"Bearer {self._key}"
                self._http = httpx2.Client(
                    headers=headers,
                    timeout=httpx2.Timeout(self._timeout, connect=min(_CONNECT, self._timeout)),
                    # A proxy is for other machines.
                    trust_env=not self.address.is_local,
                )
                # Whoever still waits for an answer holds the client, so no answer is cut off.
                weakref.finalize(self, self._http.close)
            return self._http

    def _refused(self, response: httpx2.Response, body: bytes | bytearray) -> RefusedError:
        status = response.status_code
        said = _own_words(bytes(body))
        if self._key:
            said = said.replace(self._key, "***")
        error = self._fail(f"answered {status}{f': {said}' if said else ''}", self._hint(status))
        return RefusedError(error.message, error.hint, status)

    def _hint(self, status: int) -> str | None:
        match status:
            case 401 | 403 if self._withheld:
                return "The key is not sent unencrypted: use https."
            case 401 | 403 if self._key:
                return "It does not take the key: check QMD_OPENAI_API_KEY or models.openai_api_key_file."
            case 401 | 403:
                return "It wants a key: set QMD_OPENAI_API_KEY or models.openai_api_key_file."
            case 404:
                return "Check the model's name and the address, which most often ends in /v1."
            case 429:
                return "Its limit is reached: try again later."
        return None

    def _fail(self, what: str, hint: str | None = None) -> ModelError:
        return ModelError(f"The server of '{self.address}' {what}", hint)


class _PassingError(Exception):
    """A failure that another attempt may mend; `final` is what to raise where none did."""

    def __init__(self, final: ModelError, retry_after: float | None = None) -> None:
        super().__init__(final.message)
        self.final = final
        self.retry_after = retry_after


def _in_words(error: Exception) -> str:
    """What went wrong with a connection, without the system's number for it."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error))


def _retry_after(response: httpx2.Response) -> float | None:
    """How many seconds the server asks to wait; None where it says nothing, or gives a date."""
    text = response.headers.get("Retry-After", "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _own_words(body: bytes) -> str:
    """What a server says of its refusal, in a line."""
    import json

    text = body.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    while isinstance(found, dict):
        found = next((found[key] for key in ("error", "message", "detail") if key in found), None)
    said = " ".join((found if isinstance(found, str) else text).split())
    return said if len(said) <= _QUOTED else said[: _QUOTED - 1] + "…"
