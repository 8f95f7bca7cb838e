"""The server: requests of the protocol to the index, on the SDK's low-level server."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

import anyio
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from qmd._version import __version__
from qmd.engine.index import Index
from qmd.errors import AmbiguousReferenceError, DocumentNotFoundError, QmdError, UsageError
from qmd.mcp import prompt, results
from qmd.mcp.instructions import instructions, without
from qmd.mcp.tools import TOOLS
from qmd.server.access import index_of
from qmd.server.refreshing import Refresher
from qmd.server.resident import Resident
from qmd.text.uris import is_uri

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams

#: Of the revisions before 2026-07-28, which retired it.
RESOURCE_NOT_FOUND = -32002
#: What does not change while the server runs may be kept by clients, in milliseconds.
_UNCHANGING = CacheHint(ttl_ms=3_600_000, scope="public")
#: What revision 2026-07-28 wants of a result that is not one of the SDK's models; others are sent without it.
_COMPLETE = {"resultType": "complete"}
#: What a request's handler has to send as it is, by field of the result.
_written: ContextVar[dict[str, list[Any]]] = ContextVar("written")

logger = logging.getLogger(__name__)


def build(resident: Resident, environ: Mapping[str, str] | None = None) -> Server[None]:
    """A server over an index.

    `QMD_MCP_TEXT_RESOURCES=1` has documents returned as text (M23a), `QMD_MCP_UPDATE=1` the collections
    scanned at the start and whenever their files change.
    """
    variables = os.environ if environ is None else environ
    requests = Requests(resident, as_text=variables.get("QMD_MCP_TEXT_RESOURCES") == "1")

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        async with resident.tended(), anyio.create_task_group() as tasks:
            if variables.get("QMD_MCP_UPDATE") == "1":
                tasks.start_soon(Refresher(resident).run)
            yield
            tasks.cancel_scope.cancel()

    server: Server[None] = Server(
        "qmd",
        version=__version__,
        title="QMD",
        description="Local search for folders of Markdown.",
        lifespan=lifespan,
        cache_hints={
            "tools/list": _UNCHANGING,
            "prompts/list": _UNCHANGING,
            "resources/templates/list": _UNCHANGING,
        },
        on_list_tools=requests.list_tools,
        on_call_tool=requests.call_tool,
        on_list_resources=requests.list_resources,
        on_list_resource_templates=requests.list_templates,
        on_read_resource=requests.read_resource,
        on_list_prompts=requests.list_prompts,
        on_get_prompt=requests.get_prompt,
    )
    # In place of the SDK's own, which reports every message to OpenTelemetry.
    server.middleware = [hide_faults, send_as_is, requests.instruct]
    return server


class Requests:
    """What is answered to each method."""

    def __init__(self, resident: Resident, *, as_text: bool = False) -> None:
        self._resident = resident
        self._as_text = as_text

    async def list_tools(self, ctx: Context, params: Page | None) -> Any:
        _first_page(params)
        return _COMPLETE | {"tools": [tool.listed() for tool in TOOLS.values()]}

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        """Run a tool. What the agent can mend is a result with `isError`; no such tool, a protocol error."""
        tool = TOOLS.get(params.name)
        if tool is None:
            _refuse(f"Unknown tool: {params.name}")
        try:
            given = tool.arguments.read(params.arguments)
            result = await self._resident.call(
                lambda index, cancelled: tool.run(index_for(ctx, index), given, cancelled),
                models=tool.models,
            )
        except QmdError as error:
            result = results.failure(results.error_text(error))
        if self._as_text:
            result = results.as_text(result)
        _written.get()["content"] = result["content"]
        return _COMPLETE | result | {"content": []}

    async def list_resources(self, ctx: Context, params: Page | None) -> types.ListResourcesResult:
        """None: documents are found by searching."""
        _first_page(params)
        return types.ListResourcesResult(resources=[])

    async def list_templates(self, ctx: Context, params: Page | None) -> types.ListResourceTemplatesResult:
        _first_page(params)
        template = types.ResourceTemplate(
            uri_template="qmd://{+path}",
            name="document",
            title="QMD Document",
            description="A Markdown document of the knowledge base, by its path. Find paths by searching.",
            mime_type=results.MARKDOWN,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """A document by its address, with line numbers."""
        uri = params.uri
        try:
            if not is_uri(uri):
                raise DocumentNotFoundError(f"Document not found: {uri}")
            page = await self._resident.call(lambda index, cancelled: index_for(ctx, index).get(uri))
        except DocumentNotFoundError as error:
            modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = types.INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
            _refuse(results.error_text(error), code, {"uri": _sendable(uri)})
        except (AmbiguousReferenceError, UsageError) as error:
            _refuse(error.in_one_line(), data={"uri": _sendable(uri)})
        except QmdError as error:
            _refuse(error.in_one_line(), types.INTERNAL_ERROR)
        shown = results.resource(page, results.page_text(page, line_numbers=True))
        _written.get()["contents"] = [shown]
        return types.ReadResourceResult(contents=[])

    async def list_prompts(self, ctx: Context, params: Page | None) -> types.ListPromptsResult:
        _first_page(params)
        shown = types.Prompt(name=prompt.NAME, title=prompt.TITLE, description=prompt.DESCRIPTION)
        return types.ListPromptsResult(prompts=[shown])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != prompt.NAME:
            _refuse(f"Unknown prompt: {params.name}")
        if params.arguments:
            _refuse(f"The prompt {prompt.NAME} takes no arguments")
        guide = types.PromptMessage(role="user", content=types.TextContent(text=prompt.GUIDE))
        return types.GetPromptResult(description=prompt.DESCRIPTION, messages=[guide])

    async def instruct(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Tell a client that connects what there is at this moment."""
        answer = await call_next(ctx)
        if ctx.method in ("initialize", "server/discover") and isinstance(answer, dict):
            try:
                told = await self._resident.call(lambda index, cancelled: instructions(index_for(ctx, index)))
            except QmdError as error:
                told = without(error)
            return answer | {"instructions": told}
        return answer


def index_for(ctx: Context, index: Index) -> Index:
    """As much of the index as whoever sent the message may see: over stdio, all of it."""
    return index_of(None if ctx.request is None else ctx.request.scope, index)


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


def _first_page(params: Page | None) -> None:
    """Every list is one page, so there is no cursor that could be known."""
    if params is not None and params.cursor is not None:
        _refuse("Unknown cursor")


def _refuse(message: str, code: int = types.INVALID_PARAMS, data: Any = None) -> NoReturn:
    raise MCPError(code, _sendable(message), data)


def _sendable(text: str) -> str:
    """A text without lone surrogates, which no message can hold."""
    return text.encode("utf-8", "backslashreplace").decode()
