"""The server: requests of the protocol to the index, on the SDK's low-level server."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from qmd._version import __version__
from qmd.api import results
from qmd.engine.index import Index
from qmd.errors import AmbiguousReferenceError, DocumentNotFoundError, QmdError, UsageError
from qmd.mcp import prompt
from qmd.mcp.instructions import instructions, without
from qmd.mcp.sdk_compat import (
    COMPLETE,
    UNCHANGING,
    Context,
    Page,
    first_page,
    hide_faults,
    refuse,
    send,
    send_as_is,
    sendable,
    tool_result,
)
from qmd.mcp.tools import TOOLS
from qmd.server.access import index_of
from qmd.server.index_host import IndexHost
from qmd.server.jobs import Jobs
from qmd.server.watcher import Watcher
from qmd.text.uris import is_uri

_TEMPLATE = "A markdown document from your QMD knowledge base. Use search tools to discover documents."
#: Of the revisions before 2026-07-28, which retired it.
RESOURCE_NOT_FOUND = -32002


def build(
    resident: IndexHost, environ: Mapping[str, str] | None = None, jobs: Jobs | None = None
) -> Server[None]:
    """A server over an index; `jobs` is its queue of writes, if others write too.

    `QMD_MCP_TEXT_RESOURCES=1` has documents returned as text (M23a), `QMD_MCP_UPDATE=1` the collections
    scanned at the start and whenever their files change.
    """
    variables = os.environ if environ is None else environ
    requests = Requests(resident, as_text=variables.get("QMD_MCP_TEXT_RESOURCES") == "1")

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        async with resident.tended(), anyio.create_task_group() as tasks:
            if variables.get("QMD_MCP_UPDATE") == "1":
                tasks.start_soon(Watcher(jobs or Jobs(resident)).run)
            yield
            tasks.cancel_scope.cancel()

    server: Server[None] = Server(
        "qmd",
        version=__version__,
        title="QMD",
        description="Local search for folders of Markdown.",
        lifespan=lifespan,
        cache_hints={
            "tools/list": UNCHANGING,
            "prompts/list": UNCHANGING,
            "resources/templates/list": UNCHANGING,
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

    def __init__(self, resident: IndexHost, *, as_text: bool = False) -> None:
        self._resident = resident
        self._as_text = as_text

    async def list_tools(self, ctx: Context, params: Page | None) -> Any:
        first_page(params)
        return COMPLETE | {"tools": [tool.listed() for tool in TOOLS.values()]}

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        """Run a tool. What the agent can mend is a result with `isError`; no such tool, a protocol error."""
        tool = TOOLS.get(params.name)
        if tool is None:
            refuse(f"Unknown tool: {params.name}")
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
        return tool_result(result)

    async def list_resources(self, ctx: Context, params: Page | None) -> types.ListResourcesResult:
        """None: documents are found by searching."""
        first_page(params)
        return types.ListResourcesResult(resources=[])

    async def list_templates(self, ctx: Context, params: Page | None) -> types.ListResourceTemplatesResult:
        first_page(params)
        template = types.ResourceTemplate(
            uri_template="qmd://{+path}",
            name="document",
            title="QMD Document",
            description=_TEMPLATE,
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
            refuse(results.error_text(error), code, {"uri": sendable(uri)})
        except (AmbiguousReferenceError, UsageError) as error:
            refuse(error.in_one_line(), data={"uri": sendable(uri)})
        except QmdError as error:
            refuse(error.in_one_line(), types.INTERNAL_ERROR)
        shown = results.resource(page, results.page_text(page, line_numbers=True))
        send("contents", [shown])
        return types.ReadResourceResult(contents=[])

    async def list_prompts(self, ctx: Context, params: Page | None) -> types.ListPromptsResult:
        first_page(params)
        shown = types.Prompt(name=prompt.NAME, title=prompt.TITLE, description=prompt.DESCRIPTION)
        return types.ListPromptsResult(prompts=[shown])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != prompt.NAME:
            refuse(f"Unknown prompt: {params.name}")
        if params.arguments:
            refuse(f"The prompt {prompt.NAME} takes no arguments")
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
