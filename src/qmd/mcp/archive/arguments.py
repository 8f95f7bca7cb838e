"""The arguments of the archive's tools."""

from __future__ import annotations

from typing import Any

from qmd.mcp.arguments import Arguments, Name, Query


class ListAuthorsArguments(Arguments):
    """`list_authors`."""


class ListPostsArguments(Arguments):
    """`list_posts`."""

    author: Name


class ReadPostArguments(Arguments):
    """`read_post`: a path, or an author and a title."""

    path: Name | None = None
    author: Name | None = None
    title: Name | None = None


class SearchArguments(Arguments):
    """`search`."""

    query: Query
    author: Name | None = None

    @classmethod
    def _fault(cls, fault: Any) -> str:
        # Left out or empty is one and the same to who asks.
        return "请提供搜索关键词" if fault["type"] == "missing" else super()._fault(fault)
