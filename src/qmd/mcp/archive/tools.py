"""The four tools, in the language of the archive and of those who ask it."""

from __future__ import annotations

from qmd.api.results import Result, failure, text
from qmd.engine.archive import rendering
from qmd.engine.archive.archive import Archive, PostText
from qmd.mcp.archive.arguments import (
    ListAuthorsArguments,
    ListPostsArguments,
    ReadPostArguments,
    SearchArguments,
)
from qmd.mcp.tool import Tool
from qmd.models.base import Cancelled


def list_authors(archive: Archive, given: ListAuthorsArguments, cancelled: Cancelled) -> Result:
    return _answer(rendering.authors(archive.authors()))


def list_posts(archive: Archive, given: ListPostsArguments, cancelled: Cancelled) -> Result:
    found = archive.posts(given.author)
    told = rendering.posts(found)
    return _answer(told) if found.sections else failure(told)


def read_post(archive: Archive, given: ReadPostArguments, cancelled: Cancelled) -> Result:
    found = archive.read_or_find(given.path, given.author, given.title)
    return _answer(rendering.post(found) if isinstance(found, PostText) else rendering.posts(found))


def search(archive: Archive, given: SearchArguments, cancelled: Cancelled) -> Result:
    found = archive.search(given.query, given.author, cancelled=cancelled)
    told = rendering.matches(found)
    return _answer(told) if found.total else failure(told)


def _answer(told: str) -> Result:
    return {"content": [text(told)]}


TOOLS: dict[str, Tool[Archive]] = {
    tool.name: tool
    for tool in (
        Tool(
            "list_authors",
            "作者列表",
            "列出数据目录下所有已下载的作者",
            ListAuthorsArguments,
            list_authors,
        ),
        Tool(
            "list_posts",
            "文章列表",
            "列出指定作者下的所有文章，按动态和作品集分组",
            ListPostsArguments,
            list_posts,
        ),
        Tool(
            "read_post",
            "阅读文章",
            "读取指定文章的完整 Markdown 内容",
            ReadPostArguments,
            read_post,
        ),
        Tool(
            "search",
            "全文搜索",
            "在已下载文档中全文搜索关键词",
            SearchArguments,
            search,
        ),
    )
}
