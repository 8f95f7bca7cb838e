"""MCP over Streamable HTTP, at `/mcp`: each request stands alone, and is answered with JSON (M2)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from qmd.api.results import error_text
from qmd.errors import QmdError
from qmd.mcp.messages import MAX_MESSAGE, MessageError, read_message
from qmd.server.access import Gate
from qmd.server.body_limit import NOT_JSON, says_json
from qmd.server.host_check import Allowed

PATH = "/mcp"


class Endpoint:
    """Answers what is posted. `run` must be entered, once, while it does.

    There is no GET: nothing is ever sent to a client unasked.
    """

    def __init__(self, server: Server[Any]) -> None:
        # Host, Origin and size are the guard's business.
        trusting = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            security_settings=trusting,
            max_request_body_size=MAX_MESSAGE,
        )
        self.run = self._manager.run
        self.route = Route(PATH, self, methods=["POST"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if not says_json(request.headers):
            await _error(400, NOT_JSON)(scope, receive, send)
            return
        body = await request.body()
        try:
            read_message(body)
        except MessageError as error:
            answer = error.answer.model_dump_json(by_alias=True, exclude_unset=True)
            await Response(answer, 400, media_type="application/json")(scope, receive, send)
            return
        await self._manager.handle_request(_as_json(scope), _again(body, receive), send)


def app(
    server: Server[Any], environ: Mapping[str, str], bound: str, gate: Gate, more: Sequence[Route] = ()
) -> ASGIApp:
    """An application with `/mcp` and `more` routes, behind guard and gate, for a server bound to a host."""
    endpoint = Endpoint(server)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with endpoint.run():
            yield

    inner = Starlette(
        routes=[endpoint.route, *more],
        lifespan=lifespan,
        exception_handlers={QmdError: _expected, HTTPException: _refused, Exception: _failed},
    )
    inner.router.redirect_slashes = False
    return gate.before(inner, Allowed.from_environ(environ, bound))


async def _expected(request: Request, error: Exception) -> Response:
    assert isinstance(error, QmdError)
    return _error(error.http_status, error_text(error))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = (
        f"There is nothing at {request.url.path}; MCP is at {PATH}"
        if error.status_code == 404
        else error.detail
    )
    return _error(error.status_code, detail, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    return _error(500, "Internal error")


def _error(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"detail": detail, "status_code": status}, status, headers)


def _as_json(scope: Scope) -> Scope:
    """A request whose content type is spelt as the SDK compares it, in lower case."""
    others = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*others, (b"content-type", b"application/json")]}


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read already."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def replay() -> Any:
        return next(messages, None) or await receive()

    return replay
