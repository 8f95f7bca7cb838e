"""Errors over HTTP. Every error has the form `{"detail": ..., "status_code": ...}`."""

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
    400: "The request is wrong; the detail says why",
    401: "The server needs a key, and the request has none that is valid",
    403: "The host, the origin or the key is not allowed to do this",
    404: "Not found",
    413: "The request is too large",
    500: "An internal error of the server",
    501: "A required package is not installed",
    503: "The index, its vectors or a model are not ready",
}


class Error(BaseModel):
    """The body of every error."""

    detail: str = Field(description="The error message.")
    status_code: int = Field(description="The HTTP status.")


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors of an endpoint for its documentation."""
    return {status: {"model": Error, "description": _REASONS[status]} for status in statuses}


#: Errors of all endpoints.
ALWAYS = errors(400, 401, 403, 500, 503)


def install(app: FastAPI) -> None:
    """Give all errors of an application the common form."""
    app.add_exception_handler(QmdError, _qmd_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _internal_error)


async def _qmd_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, QmdError)
    return answer(error.http_status, error_text(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    match error.status_code:
        case 404:
            return answer(404, f"There is nothing at {request.url.path}; see /docs")
        case 405:
            allowed = ", ".join(_methods(request))
            detail = f"{request.method} is not allowed at {request.url.path}, only {allowed}"
            return answer(405, detail, {"allow": allowed})
    return answer(error.status_code, error.detail, error.headers)


async def _internal_error(request: Request, error: Exception) -> Response:
    """Answer an unexpected exception. Its traceback is in the server's log."""
    return answer(500, "Internal error")


def answer(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response for an error."""
    return JSONResponse({"detail": detail, "status_code": status}, status, headers)


def _methods(request: Request) -> list[str]:
    """Return the allowed methods of the first route that matches a request's path."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    methods = {method for route in routes if route.path == routes[0].path for method in route.methods}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))
