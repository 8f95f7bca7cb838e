"""Errors over HTTP: every one, from whatever layer, is `{"detail": ..., "status_code": ...}` (H3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from qmd.api.results import error_text
from qmd.errors import QmdError

_REASONS = {
    400: "The request is wrong; the text names what",
    401: "A key is wanted, and none that is known was given",
    403: "The host, the origin or the key may not",
    404: "There is no such thing",
    413: "More was sent than is taken at once",
    500: "A fault of the server",
    501: "A package that this needs is not installed",
    503: "The index, its vectors or a model are not ready",
}


class Error(BaseModel):
    """What every error answers."""

    detail: str = Field(description="What is wrong, for a person to read.")
    status_code: int = Field(description="The status, once more.")


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Which errors an endpoint knows, for its documentation."""
    return {status: {"model": Error, "description": _REASONS[status]} for status in statuses}


#: What any endpoint may answer.
ALWAYS = errors(400, 401, 403, 500, 503)


def install(app: FastAPI) -> None:
    """Have every error of an application answered in the one form."""
    app.add_exception_handler(QmdError, _expected)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _unexpected)


async def _expected(request: Request, error: Exception) -> Response:
    assert isinstance(error, QmdError)
    return answer(error.http_status, error_text(error))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    match error.status_code:
        case 404:
            return answer(404, f"There is nothing at {request.url.path}; see /docs")
        case 405:
            allowed = ", ".join(_methods(request))
            told = f"{request.method} is not allowed at {request.url.path}, only {allowed}"
            return answer(405, told, {"allow": allowed})
    return answer(error.status_code, error.detail, error.headers)


async def _unexpected(request: Request, error: Exception) -> Response:
    """A bug. Whoever runs the server finds the trace in its log."""
    return answer(500, "Internal error")


def answer(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as it is sent."""
    return JSONResponse({"detail": detail, "status_code": status}, status, headers)


def _methods(request: Request) -> list[str]:
    """The methods that there are at the first path that a request's fits."""
    routes = [each for each in request.app.routes if each.matches(request.scope)[0] is not Match.NONE]
    methods = {method for each in routes if each.path == routes[0].path for method in each.methods}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))
