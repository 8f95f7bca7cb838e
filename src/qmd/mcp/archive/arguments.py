"""The arguments of the archive's tools."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from qmd.api.arguments import Name, Query
from qmd.mcp.tool import ToolArguments


class ListAuthorsArguments(ToolArguments):
    """Arguments of `list_authors`."""


class ListPostsArguments(ToolArguments):
    """Arguments of `list_posts`."""

    author: Annotated[Name, Field(description="作者的 URL slug（即目录名）")]


class ReadPostArguments(ToolArguments):
    """Arguments of `read_post`: a path, or an author and a title."""

    path: Annotated[Name | None, Field(description="文章的相对路径（相对于数据目录）")] = None
    author: Annotated[Name | None, Field(description="作者名（与 title 配合使用）")] = None
    title: Annotated[Name | None, Field(description="文章标题关键词（模糊匹配）")] = None


class SearchArguments(ToolArguments):
    """Arguments of `search`."""

    query: Annotated[Query, Field(description="搜索关键词")]
    author: Annotated[Name | None, Field(description="限定搜索范围的作者名（可选）")] = None

    @classmethod
    def _describe(cls, error: Any) -> str:
        # The same message as for an empty query.
        return "请提供搜索关键词" if error["type"] == "missing" else super()._describe(error)
