"""The MCP server of an archive: its tools, and nothing else."""

from __future__ import annotations

import threading
from typing import Any

import mcp_types as types
from anyio import to_thread
from mcp.server.lowlevel import Server

from qmd._version import __version__
from qmd.api.results import error_text
from qmd.engine.archive.archive import Archive
from qmd.errors import QmdError
from qmd.mcp.archive.tools import TOOLS
from qmd.mcp.sdk_compat import (
    COMPLETE,
    UNCHANGING,
    Context,
    Page,
    hide_internal_errors,
    refuse,
    refuse_cursor,
    send_as_is,
    tool_result,
)
from qmd.mcp.tool import Result, Tool, failure

NAME = "AfdianToMarkdown"


def build(archive: Archive) -> Server[Any]:
    """Return a server for an archive."""
    methods = Methods(archive)
    server: Server[Any] = Server(
        NAME,
        version=__version__,
        description="已下载的作者文章：列出、阅读、全文搜索。",
        instructions="先用 list_authors、list_posts 查看作者和文章，或用 search 搜索，再用 read_post 阅读。",
        cache_hints={"tools/list": UNCHANGING},
        on_list_tools=methods.list_tools,
        on_call_tool=methods.call_tool,
    )
    # This replaces the SDK's own middleware, which reports every message to OpenTelemetry.
    server.middleware = [hide_internal_errors, send_as_is]
    return server


class Methods:
    """The methods of the protocol."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    async def list_tools(self, ctx: Context, params: Page | None) -> Any:
        refuse_cursor(params)
        return COMPLETE | {"tools": [tool.listed() for tool in TOOLS.values()]}

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        """Run a tool.

        An error that the agent can act on is a result with `isError`. An unknown tool is a protocol error.
        """
        tool = TOOLS.get(params.name)
        if tool is None:
            refuse(f"Unknown tool: {params.name}")
        try:
            result = await self._run(tool, params.arguments)
        except QmdError as error:
            result = failure(error_text(error))
        return tool_result(result)

    async def _run(self, tool: Tool[Archive], values: dict[str, Any] | None) -> Result:
        """Run a tool in a thread. If the call is cancelled, the tool is told to stop."""
        arguments = tool.arguments.read(values)
        cancelled = threading.Event()
        try:
            return await to_thread.run_sync(
                tool.run, self._archive, arguments, cancelled.is_set, abandon_on_cancel=True
            )
        finally:
            cancelled.set()
