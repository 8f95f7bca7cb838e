"""Errors over HTTP. Every error has the form `{"detail": ..., "status_code": ...}`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from qmd.api.results import error_text
from qmd.errors import QmdError

Handler = Callable[[Request, Any], Coroutine[Any, Any, Response]]


def answer(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response for an error."""
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
