"""Endpoints: strict parsing of requests, and calls of the index in threads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

from fastapi import APIRouter
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response

from qmd.api.arguments import Arguments
from qmd.engine.index import Index
from qmd.errors import UsageError
from qmd.models.base import Cancelled
from qmd.server.access import index_of
from qmd.server.body_limit import NOT_JSON, is_json
from qmd.server.errors import ALWAYS, errors
from qmd.server.index_host import IndexHost

#: Takes an index, a function that returns true after the client has left, and the parameters of the request.
#: Returns the body of the answer. Runs in a thread.
Work = Callable[..., BaseModel]

_REQUEST = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)


def example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Router(APIRouter):
    """The endpoints of a module."""

    def __init__(self) -> None:
        super().__init__(route_class=_Route, responses=ALWAYS)

    def endpoint(
        self,
        method: str,
        path: str,
        *statuses: int,
        write: bool = False,
        models: bool = False,
        slow: bool = False,
    ) -> Callable[[Work], Work]:
        """Add an endpoint that answers with the result of the decorated function.

        `statuses` are its errors besides those of all endpoints. With `write` the function waits in the queue
        of writes. `models` is whether it may use models, and `slow` whether it reads whole documents.
        """

        def add(work: Work) -> Work:
            signature = inspect.signature(work, eval_str=True)
            fields = [*signature.parameters.values()][2:]

            async def answer(request: Request, **arguments: Any) -> Response:
                def run(index: Index, cancelled: Cancelled) -> bytes:
                    result = work(index_of(request.scope, index), cancelled, **arguments)
                    # Leave out optional fields that are not set, such as the explanation of a hit.
                    return result.model_dump_json(exclude_unset=True).encode()

                index_host: IndexHost = request.app.state.index_host
                call = index_host.write if write else partial(index_host.call, slow=slow)
                return Response(await call(run, models=models), media_type="application/json")

            # FastAPI parses the parameters of the function, but the index comes from the application.
            answer.__signature__ = signature.replace(parameters=[_REQUEST, *fields])  # type: ignore[attr-defined]
            self.add_api_route(
                path,
                answer,
                methods=[method],
                name=work.__name__,
                description=inspect.getdoc(work),
                response_model=signature.return_annotation,
                responses=errors(*statuses),
            )
            return work

        return add


class _Route(APIRoute):
    """An endpoint that refuses an invalid request with a `UsageError`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(original: Request) -> Response:
            request = _StrictRequest(original.scope, original.receive)
            _check_parameters(request, accepted=bool(self.dependant.query_params))
            if self.body_field is not None and await request.body() and not is_json(request.headers):
                raise UsageError(NOT_JSON)
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise self._usage_error(error) from None

        return handle_strictly

    def _usage_error(self, error: RequestValidationError) -> UsageError:
        if self.body_field is None:
            parameters = cast(type[Arguments], self.dependant.query_params[0].field_info.annotation)
            return parameters.usage_error([{**item, "loc": item["loc"][1:]} for item in error.errors()])
        body = cast(type[Arguments], self.body_field.field_info.annotation)
        errors = [{**item, "loc": item["loc"][1:]} for item in error.errors()]
        match errors[0]:
            case {"loc": (), "type": "missing"}:
                return UsageError("the body is missing")
            case {"loc": (), "type": kind} if kind != "value_error":
                return UsageError("the body must be a JSON object")
        return body.usage_error(errors)


def _check_parameters(request: Request, *, accepted: bool) -> None:
    """Refuse parameters in the address of a request that takes none, and repeated ones."""
    names = [name for name, _ in request.query_params.multi_items()]
    if names and not accepted:
        listed = ", ".join(sorted(set(names)))
        raise UsageError(f"{listed}: unknown parameter", "put fields into the body, as JSON")
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name}: given more than once")


class _StrictRequest(Request):
    """Parses the body by RFC 8259: UTF-8, without NaN and lone surrogates."""

    async def json(self) -> Any:
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError as error:
            raise HTTPException(400, f"the body is not JSON: {error}") from None
