"""MCP over Streamable HTTP, at `/mcp`. Requests are stateless and answered with JSON."""

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
from qmd.server.body_limit import NOT_JSON, is_json
from qmd.server.host_check import Allowed

PATH = "/mcp"


class Endpoint:
    """Answers POST requests. `run` is a context manager that must be entered once around all requests.

    GET is not allowed, because this server sends no messages of its own.
    """

    def __init__(self, server: Server[Any]) -> None:
        # `HostCheck` has already checked Host and Origin.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=MAX_MESSAGE,
        )
        self.run = self._manager.run
        self.route = Route(PATH, self, methods=["POST"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if not is_json(request.headers):
            await _error(400, NOT_JSON)(scope, receive, send)
            return
        body = await request.body()
        try:
            read_message(body)
        except MessageError as error:
            answer = error.answer.model_dump_json(by_alias=True, exclude_unset=True)
            await Response(answer, 400, media_type="application/json")(scope, receive, send)
            return
        await self._manager.handle_request(_with_json_type(scope), _replay(body, receive), send)


def app(
    server: Server[Any], environ: Mapping[str, str], host: str, gate: Gate, routes: Sequence[Route] = ()
) -> ASGIApp:
    """Return the application with `/mcp`, behind the gate.

    Args:
        server: The MCP server.
        environ: The environment, which may allow more hosts and origins.
        host: The host name or address that the server is bound to.
        gate: The checks before each request.
        routes: Other routes of the application.
    """
    endpoint = Endpoint(server)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with endpoint.run():
            yield

    application = Starlette(
        routes=[endpoint.route, *routes],
        lifespan=lifespan,
        exception_handlers={QmdError: _qmd_error, HTTPException: _http_error, Exception: _internal_error},
    )
    application.router.redirect_slashes = False
    return gate.wrap(application, Allowed.from_environ(environ, host))


async def _qmd_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, QmdError)
    return _error(error.http_status, error_text(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = (
        f"There is nothing at {request.url.path}; MCP is at {PATH}"
        if error.status_code == 404
        else error.detail
    )
    return _error(error.status_code, detail, error.headers)


async def _internal_error(request: Request, error: Exception) -> Response:
    return _error(500, "Internal error")


def _error(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"detail": detail, "status_code": status}, status, headers)


def _with_json_type(scope: Scope) -> Scope:
    """Return the scope with the content type in lower case and without parameters, as the SDK compares it."""
    others = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*others, (b"content-type", b"application/json")]}


def _replay(body: bytes, receive: Receive) -> Receive:
    """Receive a body again that was already read."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive_again() -> Any:
        return next(messages, None) or await receive()

    return receive_again
