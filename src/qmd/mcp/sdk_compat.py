"""Handling of requests and answers that all servers share, and workarounds for limits of the SDK."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, Generic, NoReturn

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data

from qmd.api.reading import read
from qmd.api.texts import error_text
from qmd.errors import QmdError
from qmd.mcp.tool import Result, Subject, Tool, failure, require_features
from qmd.text.wording import encodable

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams

#: The hint for lists that do not change while the server runs.
UNCHANGING = CacheHint(ttl_ms=3_600_000, scope="public")
#: Revision 2026-07-28 requires this in results. The SDK adds it to its models only, and drops it for clients
#: of older revisions.
COMPLETE = {"resultType": "complete"}
#: The fields of the result of the current request that are sent without a copy by the SDK.
_raw_fields: ContextVar[dict[str, list[Any]]] = ContextVar("raw_fields")

logger = logging.getLogger(__name__)


def set_raw_field(field: str, content: list[Any]) -> None:
    """Set a field of the current request's result, to be sent by `send_as_is`."""
    _raw_fields.get()[field] = content


class ToolMethods(Generic[Subject]):
    """The methods `tools/list` and `tools/call`. `call` runs a tool with validated arguments."""

    def __init__(
        self,
        tools: Mapping[str, Tool[Subject]],
        call: Callable[[Context, Tool[Subject], Any], Awaitable[Result]],
    ) -> None:
        self._tools = tools
        self._call = call

    async def list(self, ctx: Context, params: Page | None) -> Any:
        refuse_cursor(params)
        return COMPLETE | {"tools": [tool.listed() for tool in self._tools.values()]}

    async def call(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        """Run a tool. An error that the agent can act on is a result; an unknown tool is a protocol error."""
        tool = self._tools.get(params.name)
        if tool is None:
            refuse(f"Unknown tool: {params.name}")
        try:
            require_features(tool.name, params.arguments or ())
            arguments = read(
                tool.about.arguments,
                params.arguments or {},
                "argument",
                nulls=True,
                packed=True,
                missing=tool.missing,
            )
            result = await self._call(ctx, tool, arguments)
        except QmdError as error:
            result = failure(error_text(error))
        set_raw_field("content", result["content"])
        return COMPLETE | result | {"content": []}


async def send_as_is(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Add the raw fields to a result after the SDK has copied the rest.

    The SDK copies results field by field. It would drop the names and titles of documents, because its models
    lack these fields, and it would block the event loop while it copies thousands of documents.
    """
    raw_fields: dict[str, list[Any]] = {}
    _raw_fields.set(raw_fields)
    answer = await call_next(ctx)
    return answer | raw_fields if isinstance(answer, dict) and raw_fields else answer


async def hide_internal_errors(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Log the traceback of an unexpected exception, and send the client only "Internal error"."""
    try:
        return await call_next(ctx)
    except Exception as error:
        if handler_exception_to_error_data(error) is not None:  # the SDK has an answer for it
            raise
        logger.exception("%s failed", ctx.method)
        raise MCPError(types.INTERNAL_ERROR, "Internal error") from error


def refuse_cursor(params: Page | None) -> None:
    """Refuse a cursor. Every list is one page, so this server gives out no cursors."""
    if params is not None and params.cursor is not None:
        refuse("Unknown cursor")


def refuse(message: str, code: int = types.INVALID_PARAMS, data: Any = None) -> NoReturn:
    raise MCPError(code, encodable(message), data)
