"""Archive results as text, for the MCP tools and for the commands."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.features.archive.archive import AuthorPosts, Match, Matches, PostText
from qmd.features.archive.matching import MatchWindow
from qmd.features.archive.posts import Post, Section


def authors(names: Sequence[str]) -> str:
    """Render one line per author."""
    if not names:
        return "当前没有已下载的作者。"
    return "\n".join([f"已下载的作者（共 {len(names)} 位）：", *(f"- {name}" for name in names)])


def posts(author: AuthorPosts) -> str:
    """Render one line per post, in sections."""
    if not author.sections:
        return f"作者 {author.author} 下没有任何文章。"
    return "\n\n".join([f"作者：{author.author}", *map(_section, author.sections)])


def post(text: PostText) -> str:
    """Render a post's path and its text."""
    return f"📄 文件：{text.path}\n\n{text.text}"


def matches(result: Matches) -> str:
    """Render one block per match, and the number of matches that are not shown."""
    if not result.total:
        return f"未找到包含 '{result.query}' 的内容。"
    heading = f'搜索 "{result.query}" 的结果（显示 {len(result.shown)}/{result.total} 条）：'
    more = result.total - len(result.shown)
    return "\n\n".join(
        [heading, *map(_match, result.shown), *([f"还有 {more} 条结果未显示。"] if more else [])]
    )


def _section(section: Section) -> str:
    name = "动态" if section.album is None else f"作品集：{section.album}"
    return "\n".join([f"## {name}（共 {len(section.posts)} 篇）", *map(_line, section.posts)])


def _line(entry: Post) -> str:
    date = f"[{entry.date}] " if entry.date else ""
    return f"- {date}{entry.title} → {entry.path}"


def _match(match: Match) -> str:
    return f"---\n📄 {match.path}（第 {match.window.line} 行）\n\n{_window(match.window)}"


def _window(window: MatchWindow) -> str:
    width = len(str(window.first_line + len(window.lines) - 1))
    return "\n".join(
        f"> {number:>{width}} | {_highlighted(line, window.spans)}"
        if number == window.line
        else f"  {number:>{width}} | {line}"
        for number, line in enumerate(window.lines, window.first_line)
    )


def _highlighted(line: str, spans: Sequence[tuple[int, int]]) -> str:
    """Put the matches in a line between `**`."""
    parts, end = [], 0
    for start, stop in spans:
        parts += [line[end:start], "**", line[start:stop], "**"]
        end = stop
    return "".join([*parts, line[end:]])
