"""Errors over HTTP. Every error has the form `{"detail": ..., "status_code": ...}`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from qmd.api.texts import error_text
from qmd.errors import QmdError

#: The errors of operations.
REASONS = {
    400: "The request is wrong; the detail says why",
    401: "The server needs a key, and the request has none that is valid",
    403: "The host, the origin or the key is not allowed to do this",
    404: "Not found",
    413: "The request is too large",
    500: "An internal error of the server",
    501: "A required package is not installed",
    503: "The index, its vectors or a model are not ready",
}

#: Errors of all operations.
ALWAYS = (400, 401, 403, 500, 503)

Handler = Callable[[Request, Any], Coroutine[Any, Any, Response]]


class Error(Struct, frozen=True):
    """The body of every error."""

    detail: Annotated[str, Meta(description="The error message.")]
    status_code: Annotated[int, Meta(description="The HTTP status.")]


def answer(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"detail": detail, "status_code": status}, status, headers)


def handlers(elsewhere: str) -> dict[int | type[Exception], Handler]:
    """Return the exception handlers of an application. `elsewhere` is a hint for unknown paths."""

    async def qmd_error(request: Request, error: QmdError) -> Response:
        return answer(error.http_status, error_text(error))

    async def http_error(request: Request, error: HTTPException) -> Response:
        missing = f"There is nothing at {request.url.path}; {elsewhere}"
        return answer(error.status_code, missing if error.status_code == 404 else error.detail, error.headers)

    async def internal_error(request: Request, error: Exception) -> Response:
        return answer(500, "Internal error")  # the traceback is in the log

    return {QmdError: qmd_error, HTTPException: http_error, Exception: internal_error}


async def not_allowed(request: Request, error: Exception) -> Response:
    """Answer a request whose method is not allowed, with the methods of the first route of its path."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    methods = {method for route in routes if route.path == routes[0].path for method in route.methods}
    allowed = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
    detail = f"{request.method} is not allowed at {request.url.path}, only {allowed}"
    return answer(405, detail, {"allow": allowed})
