"""The four tools of an archive. Their texts are Chinese, the language of the archive and its readers."""

from __future__ import annotations

from qmd.engine.archive import rendering
from qmd.engine.archive.archive import Archive, PostText
from qmd.mcp.archive.arguments import (
    ListAuthorsArguments,
    ListPostsArguments,
    ReadPostArguments,
    SearchArguments,
)
from qmd.mcp.tool import Result, Tool, failure, text
from qmd.models.base import Cancelled


def list_authors(archive: Archive, arguments: ListAuthorsArguments, cancelled: Cancelled) -> Result:
    return _success(rendering.authors(archive.authors()))


def list_posts(archive: Archive, arguments: ListPostsArguments, cancelled: Cancelled) -> Result:
    posts = archive.posts(arguments.author)
    message = rendering.posts(posts)
    return _success(message) if posts.sections else failure(message)


def read_post(archive: Archive, arguments: ReadPostArguments, cancelled: Cancelled) -> Result:
    post = archive.read_or_find(arguments.path, arguments.author, arguments.title)
    return _success(rendering.post(post) if isinstance(post, PostText) else rendering.posts(post))


def search(archive: Archive, arguments: SearchArguments, cancelled: Cancelled) -> Result:
    matches = archive.search(arguments.query, arguments.author, cancelled=cancelled)
    message = rendering.matches(matches)
    return _success(message) if matches.total else failure(message)


def _success(message: str) -> Result:
    return {"content": [text(message)]}


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
