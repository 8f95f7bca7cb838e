"""Having a search answered by the server of the same index, whose models are warm (C4).

Both ends are here: what the command line sends to `/run`, and what it is answered, without any loss.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from qmd import errors
from qmd._version import __version__
from qmd.engine.index import Index
from qmd.engine.requests import SearchRequest
from qmd.errors import ConflictError, QmdError, UsageError
from qmd.server.discovery import Advertisement
from qmd.types import Hit, SearchResponse, Snippet, Stage, TypedSearch

if TYPE_CHECKING:
    from qmd.models.base import Cancelled

PATH = "/run"

#: Device and inode.
_File = tuple[int, int]

#: How long a server may take to be connected to, in seconds; it is on this machine.
_CONNECT = 0.5
#: How much longer than the search itself an answer may take, and what a search without a limit may take.
_SLACK, _PATIENCE = 5.0, 600.0


class NoAnswerError(QmdError):
    """The server cannot answer for this index, or not as this process would."""


class RunHandler:
    """The server's end: answers for the index file that was there at the first question, and no other."""

    def __init__(self) -> None:
        self._file: _File | None = None

    def answer(self, index: Index, body: bytes, cancelled: Cancelled) -> bytes:
        """The answer to a body that `ask` sent.

        Raises `UsageError` for any other, `ConflictError` where whoever asks would answer otherwise.
        """
        try:
            asked = json.loads(body)
            kind, request, theirs = asked["kind"], _request(asked["request"]), asked["identity"]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError("not what the command line of this version asks") from error
        if self._file is None:
            self._file = _file_of(index)
        if theirs != _identity(index, self._file):
            raise ConflictError("the server has another index, configuration or version: start it anew")
        told: dict[str, Any]
        try:
            told = {"response": asdict(index.run(kind, request, cancelled=cancelled))}
        except QmdError as error:
            told = {"error": {"kind": type(error).__name__, "message": error.message, "hint": error.hint}}
        return json.dumps(told).encode()


def ask(beacon: Advertisement, index: Index, kind: str, request: SearchRequest) -> SearchResponse:
    """A search, answered by the server.

    Raises what the search raises there, and `NoAnswerError` where the server would not or did not answer.
    """
    body = {"kind": kind, "identity": _identity(index, _file_of(index)), "request": asdict(request)}
    answer = _post(beacon, json.dumps(body).encode(), (request.timeout or _PATIENCE) + _SLACK)
    match answer:
        case {"response": dict(response)}:
            return _response(response)
        case {"error": {"kind": str(name), "message": str(message), "hint": hint}}:
            raise _error(name, message, hint)
    raise NoAnswerError(str(answer.get("detail", "the server's answer cannot be read")))


def _post(beacon: Advertisement, body: bytes, patience: float) -> dict[str, Any]:
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(beacon.url.removeprefix("http://"), timeout=_CONNECT)
    headers = {"Authorization": f"Bearer {beacon.secret}", "Content-Type": "application/json"}
    try:
        connection.connect()
        connection.sock.settimeout(patience)
        connection.request("POST", PATH, body, headers)
        told = json.loads(connection.getresponse().read())
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswerError(f"the server at {beacon.url} does not answer: {error}") from error
    finally:
        connection.close()
    return told if isinstance(told, dict) else {}


def _identity(index: Index, file: _File | None) -> str:
    """What answers depend on besides the request, as a digest: equal for those who would answer alike."""
    config, settings = index.config, index.settings
    models = (settings.embed_model, settings.rerank_model, settings.generate_model)
    place = (file, index.locations.store)
    parts = (__version__, place, config.digest, sorted(config.collections), settings.ranking, models)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _file_of(index: Index) -> _File | None:
    """Which file the index is; None where there is none yet."""
    try:
        state = os.stat(index.locations.index)
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _request(told: dict[str, Any]) -> SearchRequest:
    searches = tuple(TypedSearch(**each) for each in told["searches"])
    return SearchRequest(**told | {"collections": tuple(told["collections"]), "searches": searches})


def _response(told: dict[str, Any]) -> SearchResponse:
    hits = tuple(Hit(**hit | {"snippet": Snippet(**hit["snippet"])}) for hit in told["hits"])
    return SearchResponse(
        told["query"], hits, tuple(Stage(**stage) for stage in told["stages"]), told["ranking"]
    )


def _error(kind: str, message: str, hint: str | None) -> QmdError:
    """An error of the kind that the server met."""
    if kind == errors.VectorIndexMissingError.__name__:
        return errors.VectorIndexMissingError()
    raised = getattr(errors, kind, QmdError)
    return raised(message, hint=hint) if issubclass(raised, QmdError) else QmdError(message, hint)
