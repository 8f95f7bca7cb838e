"""The arguments of the archive's tools."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from qmd.api.arguments import Arguments, Name, Query


class ListAuthorsArguments(Arguments):
    """`list_authors`."""


class ListPostsArguments(Arguments):
    """`list_posts`."""

    author: Annotated[Name, Field(description="作者的 URL slug（即目录名）")]


class ReadPostArguments(Arguments):
    """`read_post`: a path, or an author and a title."""

    path: Annotated[Name | None, Field(description="文章的相对路径（相对于数据目录）")] = None
    author: Annotated[Name | None, Field(description="作者名（与 title 配合使用）")] = None
    title: Annotated[Name | None, Field(description="文章标题关键词（模糊匹配）")] = None


class SearchArguments(Arguments):
    """`search`."""

    query: Annotated[Query, Field(description="搜索关键词")]
    author: Annotated[Name | None, Field(description="限定搜索范围的作者名（可选）")] = None

    @classmethod
    def _fault(cls, fault: Any) -> str:
        # Left out or empty is one and the same to who asks.
        return "请提供搜索关键词" if fault["type"] == "missing" else super()._fault(fault)
