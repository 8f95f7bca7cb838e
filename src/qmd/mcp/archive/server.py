"""The server of an archive: its tools, and nothing else."""

from __future__ import annotations

import threading
from typing import Any

import mcp_types as types
from anyio import to_thread
from mcp.server.lowlevel import Server

from qmd._version import __version__
from qmd.api import results
from qmd.api.results import Result
from qmd.engine.archive.archive import Archive
from qmd.errors import QmdError
from qmd.mcp.archive.tools import TOOLS
from qmd.mcp.sdk_compat import (
    COMPLETE,
    UNCHANGING,
    Context,
    Page,
    first_page,
    hide_faults,
    refuse,
    send_as_is,
    tool_result,
)
from qmd.mcp.tool import Tool

NAME = "AfdianToMarkdown"


def build(archive: Archive) -> Server[Any]:
    """A server over an archive."""
    requests = Requests(archive)
    server: Server[Any] = Server(
        NAME,
        version=__version__,
        description="已下载的作者文章：列出、阅读、全文搜索。",
        instructions="先用 list_authors、list_posts 查看作者和文章，或用 search 搜索，再用 read_post 阅读。",
        cache_hints={"tools/list": UNCHANGING},
        on_list_tools=requests.list_tools,
        on_call_tool=requests.call_tool,
    )
    # In place of the SDK's own, which reports every message to OpenTelemetry.
    server.middleware = [hide_faults, send_as_is]
    return server


class Requests:
    """What is answered to each method."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    async def list_tools(self, ctx: Context, params: Page | None) -> Any:
        first_page(params)
        return COMPLETE | {"tools": [tool.listed() for tool in TOOLS.values()]}

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        """Run a tool. What the agent can mend is a result with `isError`; no such tool, a protocol error."""
        tool = TOOLS.get(params.name)
        if tool is None:
            refuse(f"Unknown tool: {params.name}")
        try:
            result = await self._run(tool, params.arguments)
        except QmdError as error:
            result = results.failure(results.error_text(error))
        return tool_result(result)

    async def _run(self, tool: Tool[Archive], arguments: dict[str, Any] | None) -> Result:
        """Run a tool in a thread, which is told when its answer is no longer wanted."""
        given = tool.arguments.read(arguments)
        unwanted = threading.Event()
        try:
            return await to_thread.run_sync(
                tool.run, self._archive, given, unwanted.is_set, abandon_on_cancel=True
            )
        finally:
            unwanted.set()
