"""A second MCP server: four tools over an archive of authors' posts, and nothing else.

The texts are Chinese, the language of the archive and its readers.
"""

from __future__ import annotations

import threading
from typing import Annotated, Any

from anyio import to_thread
from mcp.server.lowlevel import Server
from msgspec import Meta

from qmd._version import __version__
from qmd.api.arguments import Name, Nothing, Query
from qmd.api.operation import Tool as Description
from qmd.api.reading import Request
from qmd.features.archive import rendering
from qmd.features.archive.archive import Archive, PostText
from qmd.mcp.sdk_compat import UNCHANGING, Context, ToolMethods, hide_internal_errors, send_as_is
from qmd.mcp.tool import Result, Tool, by_name, failure, text
from qmd.models.base import Cancelled


class _ListPosts(Request):
    author: Annotated[Name, Meta(description="作者的 URL slug（即目录名）")]


class _ReadPost(Request):
    path: Annotated[Name, Meta(description="文章的相对路径（相对于数据目录）")] | None = None
    author: Annotated[Name, Meta(description="作者名（与 title 配合使用）")] | None = None
    title: Annotated[Name, Meta(description="文章标题关键词（模糊匹配）")] | None = None


class _Search(Request):
    query: Annotated[Query, Meta(description="搜索关键词")]
    author: Annotated[Name, Meta(description="限定搜索范围的作者名（可选）")] | None = None


def _list_authors(archive: Archive, arguments: Nothing, cancelled: Cancelled) -> Result:
    return _success(archive, rendering.authors(archive.authors()))


def _list_posts(archive: Archive, arguments: _ListPosts, cancelled: Cancelled) -> Result:
    posts = archive.posts(arguments.author)
    message = rendering.posts(posts)
    return _success(archive, message) if posts.sections else failure(message)


def _read_post(archive: Archive, arguments: _ReadPost, cancelled: Cancelled) -> Result:
    post = archive.read_or_find(arguments.path, arguments.author, arguments.title)
    message = rendering.post(post) if isinstance(post, PostText) else rendering.posts(post)
    return _success(archive, message)


def _search(archive: Archive, arguments: _Search, cancelled: Cancelled) -> Result:
    matches = archive.search(arguments.query, arguments.author, cancelled=cancelled)
    message = rendering.matches(matches)
    return _success(archive, message) if matches.total else failure(message)


def _success(archive: Archive, message: str) -> Result:
    # The texts are masked already, but not the names of authors and posts.
    return {"content": [text(archive.shown(message))]}


TOOLS: dict[str, Tool[Archive]] = by_name(
    Tool("list_authors", Description("作者列表", "列出数据目录下所有已下载的作者", Nothing), _list_authors),
    Tool(
        "list_posts",
        Description("文章列表", "列出指定作者下的所有文章，按动态和作品集分组", _ListPosts),
        _list_posts,
    ),
    Tool("read_post", Description("阅读文章", "读取指定文章的完整 Markdown 内容", _ReadPost), _read_post),
    # The error for a missing query is that for an empty one.
    Tool(
        "search",
        Description("全文搜索", "在已下载文档中全文搜索关键词", _Search),
        _search,
        missing="请提供搜索关键词",
    ),
)


def build(archive: Archive) -> Server[Any]:
    async def call(ctx: Context, tool: Tool[Archive], arguments: Any) -> Result:
        # If the call is cancelled, the tool is told to stop.
        cancelled = threading.Event()
        try:
            return await to_thread.run_sync(
                tool.run, archive, arguments, cancelled.is_set, abandon_on_cancel=True
            )
        finally:
            cancelled.set()

    tools = ToolMethods(TOOLS, call)
    server: Server[Any] = Server(
        "AfdianToMarkdown",
        version=__version__,
        description="已下载的作者文章：列出、阅读、全文搜索。",
        instructions="先用 list_authors、list_posts 查看作者和文章，或用 search 搜索，再用 read_post 阅读。",
        cache_hints={"tools/list": UNCHANGING},
        on_list_tools=tools.list,
        on_call_tool=tools.call,
    )
    # This replaces the SDK's own middleware, which reports every message to OpenTelemetry.
    server.middleware = [hide_internal_errors, send_as_is]
    return server
