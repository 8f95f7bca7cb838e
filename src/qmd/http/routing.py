"""How requests are read: JSON to the letter, nothing unknown, and every fault told in a line (H4, H5a)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, cast

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
from qmd.server.body_limit import NOT_JSON, says_json


class Body(Arguments):
    """What the bodies of requests have in common: fields are called as in Python, not as in MCP."""

    model_config = ConfigDict(alias_generator=str)
    noun: ClassVar[str] = "field"


def example(**fields: Any) -> ConfigDict:
    """Of a body, for the documentation."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Route(APIRoute):
    """An endpoint. Raises `UsageError` for what it does not understand."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(given: Request) -> Response:
            request = _Strict(given.scope, given.receive)
            if request.query_params:
                names = ", ".join(sorted(request.query_params))
                raise UsageError(f"{names}: no such parameter", "fields go into the body, as JSON")
            if self.body_field is not None and await request.body():
                _check_type(request)
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise self._refusal(error) from None

        return strict

    def _refusal(self, error: RequestValidationError) -> UsageError:
        assert self.body_field is not None
        body = cast(type[Arguments], self.body_field.field_info.annotation)
        faults = [{**fault, "loc": fault["loc"][1:]} for fault in error.errors()]
        match faults[0]:
            case {"loc": (), "type": "missing"}:
                return UsageError("the body is missing")
            case {"loc": (), "type": kind} if kind != "value_error":
                return UsageError("the body must be a JSON object")
        return body.refusal(faults)


class _Strict(Request):
    """Reads a body as RFC 8259 has it: in UTF-8, no NaN, no half of a character."""

    async def json(self) -> Any:
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError as error:
            raise HTTPException(400, f"the body is not JSON: {error}") from None


def _check_type(request: Request) -> None:
    if not says_json(request.headers):
        raise UsageError(NOT_JSON)


def router() -> APIRouter:
    """For the endpoints of a module."""
    return APIRouter(route_class=Route, responses=ALWAYS)
