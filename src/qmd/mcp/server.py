"""The MCP server of an index, on the low-level server of the SDK."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import to_builtins

from qmd._version import __version__
from qmd.api.results import Document
from qmd.api.texts import error_text
from qmd.engine.index import Index
from qmd.errors import AmbiguousReferenceError, DocumentNotFoundError, QmdError, UsageError
from qmd.mcp import prompt
from qmd.mcp.clients import client_of
from qmd.mcp.instructions import instructions, unavailable
from qmd.mcp.sdk_compat import (
    UNCHANGING,
    Context,
    Page,
    ToolMethods,
    hide_internal_errors,
    refuse,
    refuse_cursor,
    send_as_is,
    set_raw_field,
)
from qmd.mcp.tool import Result, Tool, as_text
from qmd.mcp.tools import TOOLS, Reader
from qmd.models.base import Cancelled
from qmd.server.access import index_of
from qmd.server.index_host import IndexHost
from qmd.sources.formats import markdown
from qmd.text.uris import is_uri
from qmd.text.wording import encodable

_TEMPLATE = "A markdown document from your QMD knowledge base. Use search tools to discover documents."
#: Over stdio a process has one client, which is the session.
_STDIO = "stdio"
#: The error code of protocol revisions before 2026-07-28, which retired it.
RESOURCE_NOT_FOUND = -32002


def build(host: IndexHost, environ: Mapping[str, str] | None = None) -> Server[None]:
    """Return a server for an index.

    With `QMD_MCP_TEXT_RESOURCES=1` in the environment documents are returned as text.
    """
    variables = os.environ if environ is None else environ
    methods = Methods(host, text_resources=variables.get("QMD_MCP_TEXT_RESOURCES") == "1")
    tools = ToolMethods(TOOLS, methods.call_tool)

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        async with host.releasing_models():
            yield

    server: Server[None] = Server(
        "qmd",
        version=__version__,
        title="QMD",
        description="Local search for folders of Markdown.",
        lifespan=lifespan,
        cache_hints=dict.fromkeys(("tools/list", "prompts/list", "resources/templates/list"), UNCHANGING),
        on_list_tools=tools.list,
        on_call_tool=tools.call,
        on_list_resources=methods.list_resources,
        on_list_resource_templates=methods.list_templates,
        on_read_resource=methods.read_resource,
        on_list_prompts=methods.list_prompts,
        on_get_prompt=methods.get_prompt,
    )
    # This replaces the SDK's own middleware, which reports every message to OpenTelemetry.
    server.middleware = [hide_internal_errors, send_as_is, methods.add_instructions]
    return server


class Methods:
    def __init__(self, host: IndexHost, *, text_resources: bool) -> None:
        self._host = host
        self._text_resources = text_resources

    async def call_tool(self, ctx: Context, tool: Tool[Reader], arguments: Any) -> Result:
        client, session = client_of(ctx), _STDIO if ctx.request is None else None

        def run(index: Index, cancelled: Cancelled) -> Result:
            return tool.run(Reader(index_for(ctx, index), client, session), arguments, cancelled)

        async with _reporting(ctx, tool.name):
            result = await self._host.call(run, models=tool.models, slow=tool.slow)
        return as_text(result) if self._text_resources or not client.resources else result

    async def list_resources(self, ctx: Context, params: Page | None) -> types.ListResourcesResult:
        """Return an empty list, because documents are found by searching."""
        refuse_cursor(params)
        return types.ListResourcesResult(resources=[])

    async def list_templates(self, ctx: Context, params: Page | None) -> types.ListResourceTemplatesResult:
        refuse_cursor(params)
        template = types.ResourceTemplate(
            uri_template="qmd://{+path}",
            name="document",
            title="QMD Document",
            description=_TEMPLATE,
            mime_type=markdown.media_type,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the document with a URI, with line numbers."""
        uri = params.uri
        try:
            if not is_uri(uri):
                raise DocumentNotFoundError(f"Document not found: {uri}")
            page = await self._host.call(lambda index, cancelled: index_for(ctx, index).get(uri), slow=True)
        except DocumentNotFoundError as error:
            modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = types.INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
            refuse(error_text(error), code, {"uri": encodable(uri)})
        except (AmbiguousReferenceError, UsageError) as error:
            refuse(error.in_one_line(), data={"uri": encodable(uri)})
        except QmdError as error:
            refuse(error.in_one_line(), types.INTERNAL_ERROR)
        set_raw_field("contents", [to_builtins(Document.of(page, line_numbers=True))])
        return types.ReadResourceResult(contents=[])

    async def list_prompts(self, ctx: Context, params: Page | None) -> types.ListPromptsResult:
        refuse_cursor(params)
        guide = types.Prompt(name=prompt.NAME, title=prompt.TITLE, description=prompt.DESCRIPTION)
        return types.ListPromptsResult(prompts=[guide])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != prompt.NAME:
            refuse(f"Unknown prompt: {params.name}")
        if params.arguments:
            refuse(f"The prompt {prompt.NAME} takes no arguments")
        guide = types.PromptMessage(role="user", content=types.TextContent(text=prompt.GUIDE))
        return types.GetPromptResult(description=prompt.DESCRIPTION, messages=[guide])

    async def add_instructions(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Add a description of the index to the answer when a client connects."""
        answer = await call_next(ctx)
        if ctx.method in ("initialize", "server/discover") and isinstance(answer, dict):
            try:
                text = await self._host.call(lambda index, cancelled: instructions(index_for(ctx, index)))
            except QmdError as error:
                text = unavailable(error)
            return answer | {"instructions": text}
        return answer


@asynccontextmanager
async def _reporting(ctx: Context, tool: str) -> AsyncIterator[None]:
    """Report how long a call takes, at once and every second, if its client asks for progress.

    Clients wait longer for calls that report progress.
    """

    async def report(seconds: int) -> None:
        await ctx.session.report_progress(seconds, message=f"{tool}: {seconds} s")

    async def report_on() -> None:
        for seconds in count(1):
            await anyio.sleep(1)
            await report(seconds)

    await report(0)
    # An anyio task group would wrap the errors of the call.
    reports = asyncio.create_task(report_on())
    try:
        yield
    finally:
        reports.cancel()


def index_for(ctx: Context, index: Index) -> Index:
    """Return the index as the sender of a message, an agent, may see it.

    A portable file may come from anybody, so agents are not shown its contexts.
    """
    seen = index_of(None if ctx.request is None else ctx.request.scope, index)
    return seen.limited(agent=True, contexts=not seen.locations.portable)
