"""What is told of an archive, to the letter: the answers of the tools and of the commands."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.engine.archive.archive import AuthorPosts, Match, Matches, PostText
from qmd.engine.archive.matching import Window
from qmd.engine.archive.posts import Post, Section


def authors(names: Sequence[str]) -> str:
    """A line an author."""
    if not names:
        return "当前没有已下载的作者。"
    return "\n".join([f"已下载的作者（共 {len(names)} 位）：", *(f"- {name}" for name in names)])


def posts(found: AuthorPosts) -> str:
    """A line a post, in sections."""
    if not found.sections:
        return f"作者 {found.author} 下没有任何文章。"
    return "\n\n".join([f"作者：{found.author}", *map(_section, found.sections)])


def post(found: PostText) -> str:
    """A post, below where it is."""
    return f"📄 文件：{found.path}\n\n{found.text}"


def matches(found: Matches) -> str:
    """A block a match; at the end, how many more there are."""
    if not found.total:
        return f"未找到包含 '{found.query}' 的内容。"
    heading = f'搜索 "{found.query}" 的结果（显示 {len(found.shown)}/{found.total} 条）：'
    more = found.total - len(found.shown)
    return "\n\n".join(
        [heading, *map(_match, found.shown), *([f"还有 {more} 条结果未显示。"] if more else [])]
    )


def _section(section: Section) -> str:
    name = "动态" if section.album is None else f"作品集：{section.album}"
    return "\n".join([f"## {name}（共 {len(section.posts)} 篇）", *map(_line, section.posts)])


def _line(each: Post) -> str:
    date = f"[{each.date}] " if each.date else ""
    return f"- {date}{each.title} → {each.path}"


def _match(found: Match) -> str:
    return f"---\n📄 {found.path}（第 {found.window.line} 行）\n\n{_window(found.window)}"


def _window(window: Window) -> str:
    width = len(str(window.first_line + len(window.lines) - 1))
    return "\n".join(
        f"> {number:>{width}} | {_marked(line, window.spans)}"
        if number == window.line
        else f"  {number:>{width}} | {line}"
        for number, line in enumerate(window.lines, window.first_line)
    )


def _marked(line: str, spans: Sequence[tuple[int, int]]) -> str:
    """A line with its matches in `**`."""
    parts, end = [], 0
    for start, stop in spans:
        parts += [line[end:start], "**", line[start:stop], "**"]
        end = stop
    return "".join([*parts, line[end:]])
