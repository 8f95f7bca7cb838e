"""What all servers do alike with requests and answers, whatever their tools are."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any, NoReturn

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from qmd.api.results import Result

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams

#: What does not change while the server runs may be kept by clients, in milliseconds.
UNCHANGING = CacheHint(ttl_ms=3_600_000, scope="public")
#: What revision 2026-07-28 wants of a result that is not one of the SDK's models; others are sent without it.
COMPLETE = {"resultType": "complete"}
#: What a request's handler has to send as it is, by field of the result.
_written: ContextVar[dict[str, list[Any]]] = ContextVar("written")

logger = logging.getLogger(__name__)


def send(field: str, content: list[Any]) -> None:
    """Have a field of the answer to the request at hand sent as it is; see `send_as_is`."""
    _written.get()[field] = content


def tool_result(result: Result) -> dict[str, Any]:
    """The answer to a call of a tool, whose content is sent as it is."""
    send("content", result["content"])
    return COMPLETE | result | {"content": []}


async def send_as_is(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Send documents as they were written down.

    The SDK copies what it sends field by field: it would drop their names, which its models lack (M23a), and
    hold everything up for as long as it reads thousands of them.
    """
    written: dict[str, list[Any]] = {}
    _written.set(written)
    answer = await call_next(ctx)
    return answer | written if isinstance(answer, dict) and written else answer


async def hide_faults(ctx: Context, call_next: CallNext) -> HandlerResult:
    """A bug is an internal error for the client, and a trace on stderr."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as error:
        logger.exception("%s failed", ctx.method)
        raise MCPError(types.INTERNAL_ERROR, "Internal error") from error


def first_page(params: Page | None) -> None:
    """Every list is one page, so there is no cursor that could be known."""
    if params is not None and params.cursor is not None:
        refuse("Unknown cursor")


def refuse(message: str, code: int = types.INVALID_PARAMS, data: Any = None) -> NoReturn:
    raise MCPError(code, sendable(message), data)


def sendable(text: str) -> str:
    """A text without lone surrogates, which no message can hold."""
    return text.encode("utf-8", "backslashreplace").decode()
