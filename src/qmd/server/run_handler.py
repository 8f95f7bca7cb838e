"""Searches of the command line that a running server answers, because its models are already loaded.

The module has both sides: the request that the command line sends to `/run`, and the handler in the server.
The response is the same value that the search itself returns.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from msgspec import ValidationError, convert, to_builtins

from qmd import errors
from qmd._version import __version__
from qmd.engine.index import Index
from qmd.engine.requests import SearchRequest
from qmd.errors import ConflictError, QmdError, UsageError
from qmd.server.discovery import Advertisement
from qmd.text.predicates import Predicate
from qmd.types import Anchor, Hit, SearchResponse, Snippet, Stage, TypedSearch, ValueCount
from qmd.types.traces import Trace

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


class RunHandler:
    """Answers searches in the server, for the index file that existed at the first search."""

    def __init__(self) -> None:
        self._file: _File | None = None

    def answer(self, index: Index, body: bytes, cancelled: Cancelled) -> bytes:
        """Return the answer to a request body of `ask`."""
        try:
            fields = json.loads(body)
            kind, request, identity = fields["kind"], _request(fields["request"]), fields["identity"]
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            raise UsageError("not a request of this version's command line") from error
        if self._file is None:
            self._file = _file_of(index)
        if identity != _identity(index, self._file):
            raise ConflictError("the server has another index, configuration or version: restart it")
        answer: dict[str, Any]
        try:
            answer = {"response": to_builtins(index.run(kind, request, cancelled=cancelled))}
        except QmdError as error:
            answer = {"error": {"kind": type(error).__name__, "message": error.message, "hint": error.hint}}
        return json.dumps(answer).encode()


def ask(server: Advertisement, index: Index, kind: str, request: SearchRequest) -> SearchResponse:
    """Let a running server answer a search. An error of the search itself is raised as it is there.

    If the server refuses the search or does not answer, `NoAnswerError` is raised.
    """
    body = {"kind": kind, "identity": _identity(index, _file_of(index)), "request": to_builtins(request)}
    answer = _post(server, json.dumps(body).encode(), (request.timeout or _MAX_TIME) + _EXTRA_TIME)
    match answer:
        case {"response": dict(response)}:
            return _response(response)
        case {"error": {"kind": str(name), "message": str(message), "hint": hint}}:
            raise _error(name, message, hint)
    raise NoAnswerError(str(answer.get("detail", "the server's answer is not valid")))


def _post(server: Advertisement, body: bytes, timeout: float) -> dict[str, Any]:
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=_CONNECT_TIMEOUT)
    headers = {"Authorization": f"Bearer {server.secret}", "Content-Type": "application/json"}
    try:
        connection.connect()
        connection.sock.settimeout(timeout)
        connection.request("POST", PATH, body, headers)
        answer = json.loads(connection.getresponse().read())
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswerError(f"the server at {server.url} does not answer: {error}") from error
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else {}


def _identity(index: Index, file: _File | None) -> str:
    """Return a digest of everything besides the request that an answer depends on."""
    config, settings = index.config, index.settings
    models = (settings.embed_model, settings.rerank_model, settings.generate_model)
    location = (file, index.locations.store)
    files = (config.digest, sorted(config.collections), _marks_of(index))
    parts = (__version__, location, files, settings.ranking, settings.scores, models)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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


def _request(fields: dict[str, Any]) -> SearchRequest:
    values = dict(fields)
    values["collections"], values["facets"] = tuple(fields["collections"]), tuple(fields["facets"])
    values["searches"] = tuple(TypedSearch(**search) for search in fields["searches"])
    values["where"] = convert(fields["where"], Predicate | None)
    return SearchRequest(**values)


def _hit(fields: dict[str, Any]) -> Hit:
    values = fields | {
        "snippet": Snippet(**fields["snippet"]),
        "passages": tuple(Snippet(**passage) for passage in fields["passages"]),
        "anchor": None if fields["anchor"] is None else Anchor(**fields["anchor"]),
        "also": tuple(fields["also"]),
        "traces": convert(fields["traces"], tuple[Trace, ...]),
    }
    return Hit(**values)


def _response(fields: dict[str, Any]) -> SearchResponse:
    hits = tuple(map(_hit, fields["hits"]))
    stages = tuple(Stage(**stage) for stage in fields["stages"])
    facets = {
        name: tuple(ValueCount(**value) for value in values) for name, values in fields["facets"].items()
    }
    return SearchResponse(fields["query"], hits, stages, fields["ranking"], facets)


def _error(kind: str, message: str, hint: str | None) -> QmdError:
    """Return an error of the same class as the server's error."""
    if kind == errors.VectorIndexMissingError.__name__:
        return errors.VectorIndexMissingError()
    error = getattr(errors, kind, QmdError)
    return error(message, hint=hint) if issubclass(error, QmdError) else QmdError(message, hint)
