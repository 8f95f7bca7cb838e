"""The four tools of the archive: exact answers and errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from qmd import __version__
from tests.agents import Agent, agents, site_of
from tests.features.archive.posts import (
    CAFE,
    DOTS,
    FILES,
    GROWTH,
    GROWTH_LATER,
    LOVE,
    PLAN,
    RAIN,
    SHOP,
    TEA,
    UNDATED,
    Reader,
    lay_out,
)

pytestmark = pytest.mark.slow

POSTS = f"""作者：q9adg

## 动态（共 4 篇）
- [2020-12-15] 一个小打算 → {PLAN}
- [2021-03-02] 清晨的茶 → {TEA}
- [2021-05-01] 等等...再说吧 → {DOTS}
- 前言 → {UNDATED}

## 作品集：shop/读书笔记（共 1 篇）
- [2022-01-05] 第一本 → {SHOP}

## 作品集：个人成长（共 2 篇）
- [2024-03-07] 慢慢来 → {GROWTH}
- [2024-04-01] 打算落空以后 → {GROWTH_LATER}

## 作品集：亲密关系（共 1 篇）
- [2023-02-14] 写信 → {LOVE}"""
#: Unknown authors, some of which exist on disk as files or folders.
NOBODY = ["谁", "..", ".", "q9adg/motions", "", "a/b", "\0", "q9adg\0", ".git", "外人", "/", "Q9ADG"]
#: Paths that cannot be read, although some of them exist.
NOWHERE = [
    "q9adg/motions/没有.md",
    "q9adg/motions",
    "q9adg",
    "..",
    "../outside/外面.md",
    "q9adg/../../outside/外面.md",
    "q9adg/motions/../motions/前言.md",
    "/etc/passwd",
    "//etc/passwd",
    "%2e%2e/outside/外面.md",
    "..%2foutside%2f外面.md",
    "q9adg\\..\\..\\outside\\外面.md",
    "file:///etc/passwd",
    "~/.bashrc",
    "q9adg/motions/链接.md",
    "q9adg/通向外面/外面.md",
    "q9adg/通向隐藏/2020-01-01_00_00_00_草稿.md",
    "外人/外面.md",
    "q9adg/motions/.隐藏.md",
    "q9adg/motions/.assets/说明.md",
    "q9adg/.草稿/2020-01-01_00_00_00_草稿.md",
    ".git/motions/秘密.md",
    "q9adg/motions/图.txt",
    "q9adg/motions/前言.md/",
    "q9adg/motions/前言.md/x",
    "q9adg/motions/前言.md\0",
    "\0",
    "x" * 9000,
]


@contextmanager
def agent_of(archivist: Reader, data: Path) -> Iterator[Agent]:
    with agents() as start:
        agent = start(archivist.user, "--data", str(data), command=("archive", "mcp"))
        agent.greet()
        yield agent


def test_archive_server_names_itself_and_offers_only_tools(archivist: Reader) -> None:
    with agents() as start:
        agent = start(archivist.user, "--data", str(archivist.data), command=("archive", "mcp"))
        told = agent.greet()
        assert told["serverInfo"]["name"] == "AfdianToMarkdown"
        assert told["serverInfo"]["version"] == __version__
        assert told["capabilities"] == {"tools": {"listChanged": False}}


def test_archive_server_has_four_read_only_tools(agent: Agent) -> None:
    tools = agent.result("tools/list")["tools"]
    required = {tool["name"]: tool["inputSchema"].get("required", []) for tool in tools}
    assert required == {"list_authors": [], "list_posts": ["author"], "read_post": [], "search": ["query"]}
    assert all(tool["annotations"] == {"readOnlyHint": True} for tool in tools)


def test_archive_tools_are_described_as_in_AfdianToMarkdown(agent: Agent) -> None:  # noqa: N802 - its name
    tools = {tool["name"]: tool for tool in agent.result("tools/list")["tools"]}
    described = {
        name: (
            tool["description"],
            {key: each["description"] for key, each in tool["inputSchema"]["properties"].items()},
            tool["inputSchema"]["required"],
        )
        for name, tool in tools.items()
    }
    assert described == {
        "list_authors": ("列出数据目录下所有已下载的作者", {}, []),
        "list_posts": (
            "列出指定作者下的所有文章，按动态和作品集分组",
            {"author": "作者的 URL slug（即目录名）"},
            ["author"],
        ),
        "read_post": (
            "读取指定文章的完整 Markdown 内容",
            {
                "path": "文章的相对路径（相对于数据目录）",
                "author": "作者名（与 title 配合使用）",
                "title": "文章标题关键词（模糊匹配）",
            },
            [],
        ),
        "search": (
            "在已下载文档中全文搜索关键词",
            {"query": "搜索关键词", "author": "限定搜索范围的作者名（可选）"},
            ["query"],
        ),
    }


def test_archive_tools_treat_null_as_not_given(agent: Agent) -> None:
    assert agent.text("search", query="茶", author=None) == agent.text("search", query="茶")
    assert agent.text("read_post", path=TEA, author=None, title=None) == agent.text("read_post", path=TEA)


def test_list_authors_sorts_by_name(agent: Agent) -> None:
    assert agent.text("list_authors") == "已下载的作者（共 3 位）：\n- q9adg\n- 林中\n- 没有文章的人"


def test_list_authors_of_an_empty_archive_is_no_error(archivist: Reader, tmp_path: Path) -> None:
    with agent_of(archivist, tmp_path) as agent:
        assert agent.text("list_authors") == "当前没有已下载的作者。"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_authors", {}),
        ("list_posts", {"author": "q9adg"}),
        ("read_post", {"author": "q9adg", "title": "茶"}),
        ("search", {"query": "茶"}),
    ],
)
def test_archive_tools_name_a_missing_data_folder(
    archivist: Reader, tmp_path: Path, tool: str, arguments: dict[str, str]
) -> None:
    with agent_of(archivist, tmp_path / "没有") as agent:
        assert agent.failure(tool, **arguments) == f"数据目录不存在：{tmp_path}/没有"


def test_list_posts_sorts_by_album_and_date(agent: Agent) -> None:
    assert agent.text("list_posts", author="q9adg") == POSTS


def test_list_posts_of_an_author_without_posts_is_an_error(agent: Agent) -> None:
    assert agent.failure("list_posts", author="没有文章的人") == "作者 没有文章的人 下没有任何文章。"


@pytest.mark.parametrize("author", NOBODY)
def test_archive_tools_refuse_an_unknown_author(agent: Agent, author: str) -> None:
    told = f"作者不存在：{author}"
    assert agent.failure("list_posts", author=author) == told
    assert agent.failure("read_post", author=author, title="茶") == told
    assert agent.failure("search", query="茶", author=author) == told


@pytest.mark.parametrize("path", [PLAN, DOTS, UNDATED, GROWTH, SHOP, CAFE])
def test_read_post_returns_the_post_of_a_path(agent: Agent, path: str) -> None:
    assert agent.text("read_post", path=path) == f"📄 文件：{path}\n\n{FILES[path]}"


def test_read_post_prefers_a_path_to_author_and_title(agent: Agent) -> None:
    told = agent.text("read_post", path=LOVE, author="谁", title="茶")
    assert told == f"📄 文件：{LOVE}\n\n{FILES[LOVE]}"


@pytest.mark.parametrize("path", NOWHERE)
def test_read_post_refuses_a_path_outside_the_archive(agent: Agent, path: str) -> None:
    assert agent.failure("read_post", path=path) == f"文件不存在：{path}"


@pytest.mark.parametrize("title", ["CAFÉ", "café", "Cafe\u0301 手"])
def test_read_post_matches_titles_in_any_case_and_unicode_form(agent: Agent, title: str) -> None:
    told = agent.text("read_post", author="林中", title=title)
    assert told == f"📄 文件：{CAFE}\n\n{FILES[CAFE]}"


def test_read_post_lists_posts_if_several_titles_match(agent: Agent) -> None:
    assert agent.text("read_post", author="q9adg", title="打算") == (
        "作者：q9adg\n\n"
        f"## 动态（共 1 篇）\n- [2020-12-15] 一个小打算 → {PLAN}\n\n"
        f"## 作品集：个人成长（共 1 篇）\n- [2024-04-01] 打算落空以后 → {GROWTH_LATER}"
    )


def test_read_post_without_a_matching_title_is_an_error(agent: Agent) -> None:
    assert agent.failure("read_post", author="q9adg", title="没有") == "未找到标题包含 '没有' 的文章"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"author": "q9adg"}, {"title": "茶"}, {"path": ""}, {"author": "q9adg", "title": ""}],
    ids=str,
)
def test_read_post_requires_a_path_or_an_author_and_a_title(agent: Agent, arguments: dict[str, str]) -> None:
    assert agent.failure("read_post", **arguments) == "请提供 path 或 author+title 参数"


def test_archive_search_shows_the_lines_around_a_match(agent: Agent) -> None:
    assert agent.text("search", query="python") == (
        f"""搜索 "python" 的结果（显示 2/2 条）：

---
📄 {PLAN}（第 4 行）

  1 | # 一个小打算
  2 | 
  3 | 今年想写一百篇短文。
> 4 | 先从 **Python** 开始，
  5 | 再谈别的。
  6 | 
  7 | 不急。

---
📄 {GROWTH}（第 2 行）

  1 | 慢慢来，比较快。
> 2 | **PYTHON** 也是这样学会的。"""
    )


def test_archive_search_shows_the_first_twenty_matches(agent: Agent) -> None:
    told = agent.text("search", query="雨声", author="林中")
    heading, *blocks = told.split("\n\n---\n")
    assert heading == '搜索 "雨声" 的结果（显示 20/45 条）：'
    assert blocks[8] == (
        f"📄 {RAIN}（第 9 行）\n\n   6 | 雨声\n   7 | 雨声\n   8 | 雨声\n>  9 | **雨声**\n"
        "  10 | 雨声\n  11 | 雨声\n  12 | 雨声"
    )
    assert blocks[19].endswith("\n\n还有 25 条结果未显示。")
    assert len(blocks) == 20


def test_archive_search_ignores_hidden_and_outside_files(agent: Agent) -> None:
    assert agent.text("search", query="雨声").startswith('搜索 "雨声" 的结果（显示 20/45 条）：')


@pytest.mark.parametrize("query", ["", " ", "\t\n"])
def test_archive_search_refuses_an_empty_query(agent: Agent, query: str) -> None:
    assert agent.failure("search", query=query) == "请提供搜索关键词"


def test_archive_search_refuses_a_missing_query(agent: Agent) -> None:
    assert agent.failure("search") == "请提供搜索关键词"


@pytest.mark.parametrize("query", ["没有这样的话", "a.*b", "打算\n", "\0"])
def test_archive_search_without_matches_is_an_error_with_the_query(agent: Agent, query: str) -> None:
    assert agent.failure("search", query=query) == f"未找到包含 '{query}' 的内容。"


@pytest.mark.parametrize("query", ["ÉCOLE", "école", "E\u0301cole"])
def test_archive_search_matches_letters_beyond_ascii_in_any_case(agent: Agent, query: str) -> None:
    assert "> 1 | 一杯咖啡，**École** 旁边。" in agent.text("search", query=query)


def test_archive_server_answers_over_http_as_over_stdio(archivist: Reader) -> None:
    with site_of(archivist.user, "--data", str(archivist.data), command=("archive", "mcp")) as site:
        found = site.ask("tools/call", name="list_posts", arguments={"author": "q9adg"})["result"]
        assert found["content"] == [{"type": "text", "text": POSTS}]
        found = site.ask("tools/call", name="list_posts", arguments={"author": ".."})["result"]
        assert (found["content"], found["isError"]) == ([{"type": "text", "text": "作者不存在：.."}], True)


def test_archive_server_refuses_a_foreign_origin(archivist: Reader) -> None:
    with site_of(archivist.user, "--data", str(archivist.data), command=("archive", "mcp")) as site:
        assert site.request(body=b"{}", origin="https://example.com")[0] == 403


def test_archive_server_sees_changed_files(archivist: Reader, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with agent_of(archivist, data) as agent:
        assert agent.failure("list_authors") == f"数据目录不存在：{data}"
        lay_out(data)
        assert "（显示 1/1 条）" in agent.text("search", query="见字如面")
        (data / LOVE).write_text("见字如面。\n见字如面。\n", encoding="utf-8")
        assert "（显示 2/2 条）" in agent.text("search", query="见字如面")
        (data / "新人" / "motions").mkdir(parents=True)
        (data / "新人" / "motions" / "新.md").write_text("见字如面", encoding="utf-8")
        assert "（显示 3/3 条）" in agent.text("search", query="见字如面")
        shutil.rmtree(data / "q9adg")
        assert "（显示 1/1 条）" in agent.text("search", query="见字如面")


def test_archive_server_refuses_an_unknown_tool(agent: Agent) -> None:
    assert agent.error("tools/call", name="query", arguments={}) == {
        "code": -32602,
        "message": "Unknown tool: query",
    }
