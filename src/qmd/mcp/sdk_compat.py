"""Handling of requests and answers that all servers share, and workarounds for limits of the SDK."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any, NoReturn

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from qmd.mcp.tool import Result

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


def tool_result(result: Result) -> dict[str, Any]:
    """Return the result of a tool call, with its content sent by `send_as_is`."""
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
    except (MCPError, ValidationError):
        raise
    except Exception as error:
        logger.exception("%s failed", ctx.method)
        raise MCPError(types.INTERNAL_ERROR, "Internal error") from error


def refuse_cursor(params: Page | None) -> None:
    """Refuse a cursor. Every list is one page, so this server gives out no cursors."""
    if params is not None and params.cursor is not None:
        refuse("Unknown cursor")


def refuse(message: str, code: int = types.INVALID_PARAMS, data: Any = None) -> NoReturn:
    """Raise a protocol error."""
    raise MCPError(code, printable(message), data)


def printable(text: str) -> str:
    """Escape lone surrogates, because UTF-8 cannot encode them."""
    return text.encode("utf-8", "backslashreplace").decode()
