"""Strict parsing of requests: exact JSON, no unknown fields, errors in one line."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, cast

from fastapi import APIRouter
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ConfigDict
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response

from qmd.api.arguments import Arguments
from qmd.errors import UsageError
from qmd.http.errors import ALWAYS
from qmd.server.body_limit import NOT_JSON, is_json


def example(**fields: Any) -> ConfigDict:
    """Return the configuration of a model with an example for the documentation."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Route(APIRoute):
    """An endpoint that refuses an invalid request with a `UsageError`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(original: Request) -> Response:
            request = _StrictRequest(original.scope, original.receive)
            if request.query_params:
                names = ", ".join(sorted(request.query_params))
                raise UsageError(f"{names}: unknown parameter", "put fields into the body, as JSON")
            if self.body_field is not None and await request.body():
                _check_type(request)
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise self._usage_error(error) from None

        return handle_strictly

    def _usage_error(self, error: RequestValidationError) -> UsageError:
        assert self.body_field is not None
        body = cast(type[Arguments], self.body_field.field_info.annotation)
        errors = [{**item, "loc": item["loc"][1:]} for item in error.errors()]
        match errors[0]:
            case {"loc": (), "type": "missing"}:
                return UsageError("the body is missing")
            case {"loc": (), "type": kind} if kind != "value_error":
                return UsageError("the body must be a JSON object")
        return body.usage_error(errors)


class _StrictRequest(Request):
    """Parses the body by RFC 8259: UTF-8, without NaN and lone surrogates."""

    async def json(self) -> Any:
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError as error:
            raise HTTPException(400, f"the body is not JSON: {error}") from None


def _check_type(request: Request) -> None:
    if not is_json(request.headers):
        raise UsageError(NOT_JSON)


def router() -> APIRouter:
    """Return the router for the endpoints of a module."""
    return APIRouter(route_class=Route, responses=ALWAYS)
