"""Searches of the command line that a running server answers, because its models are already loaded.

The module has both sides: the request that the command line sends to `/run`, and the handler in the server.
The response is the same value that the search itself returns.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct, json

from qmd import errors
from qmd._version import __version__
from qmd.engine.index import Index
from qmd.engine.requests import SearchRequest
from qmd.errors import ConflictError, QmdError, UsageError
from qmd.server.discovery import Advertisement
from qmd.text.digest import sha256
from qmd.types import SearchResponse

if TYPE_CHECKING:
    from qmd.models.base import Cancelled

PATH = "/run"

#: Device and inode of a file.
_File = tuple[int, int]
#: Seconds to connect. The server is on this machine.
_CONNECT_TIMEOUT = 0.5
#: Seconds for an answer in addition to the search's own timeout.
_EXTRA_TIME = 5.0
#: Seconds for a search without a timeout.
_MAX_TIME = 600.0


class NoAnswerError(QmdError):
    """The server cannot answer, or its answer would differ from that of this process."""


class _Question(Struct, frozen=True):
    kind: str
    identity: str
    request: SearchRequest


class _Failure(Struct, frozen=True):
    kind: str
    message: str
    hint: str | None


class _Answer(Struct, frozen=True, omit_defaults=True):
    """The response or the error of a search. An error of the server itself has a `detail`."""

    response: SearchResponse | None = None
    error: _Failure | None = None
    detail: str = "the server's answer is not valid"


class RunHandler:
    """Answers searches in the server, for the index file that existed at the first search."""

    def __init__(self) -> None:
        self._file: _File | None = None

    def answer(self, index: Index, body: bytes, cancelled: Cancelled) -> bytes:
        """Return the answer to a request body of `ask`."""
        try:
            question = json.decode(body, type=_Question)
        except ValueError as error:
            raise UsageError("not a request of this version's command line") from error
        if self._file is None:
            self._file = _file_of(index)
        if question.identity != _identity(index, self._file):
            raise ConflictError("the server has another index, configuration or version: restart it")
        try:
            response = index.run(question.kind, question.request, cancelled=cancelled)
        except QmdError as error:
            return json.encode(_Answer(error=_Failure(type(error).__name__, error.message, error.hint)))
        return json.encode(_Answer(response))


def ask(server: Advertisement, index: Index, kind: str, request: SearchRequest) -> SearchResponse:
    """Let a running server answer a search. An error of the search itself is raised as it is there.

    If the server refuses the search or does not answer, `NoAnswerError` is raised.
    """
    question = _Question(kind, _identity(index, _file_of(index)), request)
    body = post(server, PATH, json.encode(question), (request.timeout or _MAX_TIME) + _EXTRA_TIME)
    try:
        answer = json.decode(body, type=_Answer)
    except ValueError as error:
        raise NoAnswerError(f"the answer of the server at {server.url} is not valid: {error}") from error
    if answer.error is not None:
        raise _error(answer.error)
    if answer.response is None:
        raise NoAnswerError(answer.detail)
    return answer.response


def post(server: Advertisement, path: str, body: bytes, timeout: float) -> bytes:
    """Return the body of the answer to a request. Raises `NoAnswerError` if the server does not answer."""
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=_CONNECT_TIMEOUT)
    headers = {"Authorization": f"Bearer {server.secret}", "Content-Type": "application/json"}
    try:
        connection.connect()
        connection.sock.settimeout(timeout)
        connection.request("POST", path, body, headers)
        return connection.getresponse().read()
    except (OSError, HTTPException) as error:
        raise NoAnswerError(f"the server at {server.url} does not answer: {error}") from error
    finally:
        connection.close()


def _identity(index: Index, file: _File | None) -> str:
    """Return a digest of everything besides the request that an answer depends on."""
    config, settings = index.config, index.settings
    models = (settings.embed_model, settings.rerank_model, settings.generate_model)
    location = (file, index.locations.store)
    files = (config.digest, sorted(config.collections), _marks_of(index))
    parts = (__version__, location, files, settings.ranking, settings.scores, models)
    return sha256(json.encode(parts))


def _marks_of(index: Index) -> str:
    """Return a digest of the pins and marks that count; an error is that of the search."""
    try:
        return index.marks_digest()
    except QmdError as error:
        return error.message


def _file_of(index: Index) -> _File | None:
    try:
        state = os.stat(index.locations.index)
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _error(failure: _Failure) -> QmdError:
    """Return an error of the same class as the server's error."""
    if failure.kind == errors.VectorIndexMissingError.__name__:
        return errors.VectorIndexMissingError()
    error = getattr(errors, failure.kind, QmdError)
    if not issubclass(error, QmdError):
        error = QmdError
    return error(failure.message, hint=failure.hint)
